package sim

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// node is an emulated server, which can be killed and started again.
type node struct {
	place
	mu     sync.Mutex
	server *miniredis.Miniredis // nil: it is dead
}

func startServer() *miniredis.Miniredis {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	c, err := m.Dial() // which starts it, without a port
	if err != nil {
		panic(err) // impossible: nothing outside this process is touched
	}
	c.Close()
	return m
}

// running is the emulator, nil where it is dead.
func (n *node) running() *miniredis.Miniredis {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.server
}

// kill ends it, and with it its connections and all that it knew.
func (n *node) kill() {
	n.start()
	n.mu.Lock()
	server := n.server
	n.server = nil
	n.mu.Unlock()
	if server != nil {
		server.Close()
	}
}

// restart starts it with nothing, or with what a copy has.
func (n *node) restart(with contents) {
	server := startServer()
	with.load(server)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server == nil {
		n.server = server
	}
}

// jump moves the clock: the leases that there are end so much earlier, or later where it is less than nothing.
func (n *node) jump(by time.Duration) error {
	server := n.running()
	if server == nil {
		return errors.New("the server is dead")
	}
	for _, key := range server.Keys() {
		switch left := server.TTL(key); {
		case left == 0: // for ever
		case left <= by:
			server.Del(key)
		default:
			server.SetTTL(key, left-by)
		}
	}
	return nil
}

// evict drops a key.
func (n *node) evict(key string) error {
	if server := n.running(); server == nil || !server.Del(key) {
		return errors.New("there was no such key to drop")
	}
	return nil
}

// contents is what a server knew at a time: what a replica has of its primary.
type contents []entry

// entry is a key. Which field counts depends on its type.
type entry struct {
	key    string
	until  time.Time // zero: for ever
	text   string
	list   []string
	fields map[string]string
}

// contents copies all that the server has.
func (n *node) contents() (contents, error) {
	server := n.running()
	if server == nil {
		return nil, errors.New("the server is dead")
	}
	var all contents
	for _, key := range server.Keys() {
		e := entry{key: key}
		if left := server.TTL(key); left > 0 {
			e.until = time.Now().Add(left)
		}
		var err error
		switch kind := server.Type(key); kind {
		case "string":
			e.text, err = server.Get(key)
		case "list":
			e.list, err = server.List(key)
		case "hash":
			var names []string
			names, err = server.HKeys(key)
			e.fields = map[string]string{}
			for _, name := range names {
				e.fields[name] = server.HGet(key, name)
			}
		default:
			err = fmt.Errorf("nobody knows how to copy a %s to a replica", kind)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// load puts into a server what is not over by now.
func (c contents) load(server *miniredis.Miniredis) {
	for _, e := range c {
		left := time.Until(e.until)
		if !e.until.IsZero() && left <= 0 {
			continue
		}
		var err error
		switch {
		case e.list != nil:
			_, err = server.Push(e.key, e.list...)
		case e.fields != nil:
			for name, value := range e.fields {
				server.HSet(e.key, name, value)
			}
		default:
			err = server.Set(e.key, e.text)
		}
		if err != nil {
			panic(err) // impossible: the server is empty
		}
		if !e.until.IsZero() {
			server.SetTTL(e.key, left)
		}
	}
}
