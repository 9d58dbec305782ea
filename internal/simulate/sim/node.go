package sim

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"lockbench/internal/drive/faults"
)

// node is an emulated server, which can be killed and started again.
type node struct {
	place
	mu     sync.Mutex
	server *miniredis.Miniredis // nil: it is dead
	gains  time.Duration        // of its clock, in each second
	since  time.Time            // when that was last reckoned
	ahead  time.Duration        // of everybody's clock is this one, by what it jumped and gained
	serves []*served            // its connections so far
	slow   bool                 // the emulator runs scripts itself
}

func (n *node) begin() *miniredis.Miniredis {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	c, err := m.Dial() // which starts it, without a port
	if err != nil {
		panic(err) // impossible: nothing outside this process is touched
	}
	c.Close()
	known := new(sync.Map)
	m.Server().SetPreHook(func(peer *server.Peer, command string, args ...string) bool {
		n.catchUp()
		return n.tells(peer, command) || !n.slow && runScript(m.Server(), known, peer, command, args)
	})
	return m
}

// tells answers TIME where the clock is not the emulator's.
func (n *node) tells(peer *server.Peer, command string) bool {
	n.mu.Lock()
	ahead := n.ahead
	n.mu.Unlock()
	if command != "TIME" || ahead == 0 {
		return false
	}
	now := time.Now().Add(ahead).UnixMicro()
	peer.WriteLen(2)
	peer.WriteBulk(strconv.FormatInt(now/1e6, 10))
	peer.WriteBulk(strconv.FormatInt(now%1e6, 10))
	return true
}

func (n *node) running() *miniredis.Miniredis {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.server
}

// kill ends it, and with it its connections and all that it knew.
func (n *node) kill() {
	n.start()
	n.mu.Lock()
	server, serves := n.server, n.serves
	n.server, n.serves = nil, nil
	n.mu.Unlock()
	for _, s := range serves {
		s.Close()
	}
	if server != nil {
		server.Close()
	}
}

// restart starts it with nothing, or with what a copy has.
func (n *node) restart(with contents) {
	server := n.begin()
	for _, restore := range with {
		restore(server)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server == nil {
		n.server = server
	}
}

// bounce kills it and starts it again, at once or when it is healed, with nothing or with all that it knew.
func (n *node) bounce(a faults.Action) (heal func(), err error) {
	var knows contents
	if a.Keeps {
		if knows, err = n.contents(); err != nil {
			return nil, err // it is dead: another step killed it and decides with what it restarts
		}
	}
	n.kill()
	if a.By > 0 {
		return func() { n.restart(knows) }, err // also at the end, for the epilogue
	}
	n.restart(knows)
	return nil, err
}

// drift has the clock gain so much in each second from now on.
func (n *node) drift(by time.Duration) {
	n.catchUp()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gains, n.since = by, time.Now()
}

// setRight sets the clock of a server that is dead right, and has it go as it should.
func (n *node) setRight() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ahead, n.gains = 0, 0
}

// catchUp moves the clock by what it gained. To do so whenever a command comes is the same as to do so all the time.
func (n *node) catchUp() {
	n.mu.Lock()
	by := time.Duration(float64(n.gains) * time.Since(n.since).Seconds())
	n.since = time.Now()
	n.mu.Unlock()
	if by != 0 && n.running() != nil {
		_ = n.jump(by)
	}
}

// jump moves the clock: the leases that there are end so much earlier, or later where it is less than nothing, and
// the server says another time.
func (n *node) jump(by time.Duration) error {
	server := n.running()
	if server == nil {
		return errors.New("the server is dead")
	}
	n.mu.Lock()
	n.ahead += by
	n.mu.Unlock()
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

func (n *node) evict(key string) error {
	if server := n.running(); server == nil || !server.Del(key) {
		return errors.New("there was no such key to drop")
	}
	return nil
}

// contents is what a server knew at a time: each function restores a key in an empty server.
type contents []func(*miniredis.Miniredis)

func (n *node) contents() (contents, error) {
	server := n.running()
	if server == nil {
		return nil, errors.New("the server is dead")
	}
	var all contents
	for _, key := range server.Keys() {
		var set func(*miniredis.Miniredis)
		switch kind := server.Type(key); kind {
		case "string":
			text, _ := server.Get(key)
			set = func(to *miniredis.Miniredis) { _ = to.Set(key, text) }
		case "list":
			list, _ := server.List(key)
			list = slices.Clone(list) // LSET changes the server's own
			set = func(to *miniredis.Miniredis) { _, _ = to.Push(key, list...) }
		case "hash":
			var fields []string
			names, _ := server.HKeys(key)
			for _, name := range names {
				fields = append(fields, name, server.HGet(key, name))
			}
			set = func(to *miniredis.Miniredis) { to.HSet(key, fields...) }
		default:
			return nil, fmt.Errorf("copying a %s to a replica is not supported", kind)
		}
		ttl := server.TTL(key)
		until := time.Now().Add(ttl)
		all = append(all, func(to *miniredis.Miniredis) {
			left := time.Until(until)
			if ttl == 0 || left > 0 {
				set(to)
			}
			if ttl > 0 && left > 0 {
				to.SetTTL(key, left)
			}
		})
	}
	return all, nil
}

// served is the server's side of a connection. The emulator would have two goroutines wait on each; here what arrives
// is handled when it does, in the goroutine of the timer that tells so, which costs far less. Connections that
// subscribe are the emulator's own all the same: only it can tell when a subscriber has gone.
type served struct {
	*conn
	emulator *miniredis.Miniredis
	peer     *server.Peer
	at       bool   // somebody is at it; the pipe's mutex guards it
	unread   []byte // what has come of a command that is not whole
	source   bytes.Reader
	lines    *bufio.Reader
	room     [512]byte
}

// serve has an emulator answer on its end of a new connection.
func serve(m *miniredis.Miniredis, c *conn) *served {
	s := &served{conn: c, emulator: m, peer: server.NewPeer(bufio.NewWriterSize(c, 512)), lines: bufio.NewReaderSize(nil, 512)}
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	c.in.bell = time.AfterFunc(never, s.answer)
	c.in.bell.Stop()
	c.in.waits = true  // all the time
	c.out.alone = true // each answer has the instant of its question
	return s
}

// answer does what has come so far, unless somebody is at it: a command that waits.
func (s *served) answer() {
	p := s.in
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rings = time.Time{}
	if s.at {
		return
	}
	s.at = true
	defer func() { s.at = false }()
	for {
		n, next, err := p.take(s.room[:])
		if n == 0 && err == nil {
			p.ring(next)
			return
		}
		p.mu.Unlock()
		goesOn := err == nil && s.take(s.room[:n])
		if err != nil {
			s.Close()
		}
		p.mu.Lock()
		if !goesOn {
			return
		}
	}
}

// take does the commands that are whole by now; false: there is nothing more to do here.
func (s *served) take(b []byte) bool {
	s.unread = append(s.unread, b...)
	kept := s.unread[:0] // its room is used again
	for len(s.unread) > 0 {
		args, rest, whole := s.command(s.unread)
		if !whole {
			break
		}
		if args == nil || strings.Contains(strings.ToUpper(args[0]), "SUBSCRIBE") {
			s.handOver()
			return false
		}
		s.unread = rest
		s.emulator.Server().Dispatch(s.peer, args)
		s.peer.Flush()
		if s.peer.Closed() {
			s.Close()
			return false
		}
	}
	s.unread = append(kept, s.unread...)
	return true
}

// handOver leaves the connection to the emulator, with what was not read.
func (s *served) handOver() {
	p := s.in
	p.mu.Lock()
	p.queue = slices.Insert(p.queue, 0, message{time.Now(), s.unread})
	p.bell.Stop()
	p.bell, p.rings, p.waits = silent(), time.Time{}, false
	p.mu.Unlock()
	s.out.mu.Lock()
	s.out.alone = false // several subscribers are told at once
	s.out.mu.Unlock()
	s.emulator.Server().ServeConn(s.conn)
}

// command reads a command from the beginning of bytes, and returns what follows it. It returns no arguments for what is
// no command.
func (s *served) command(b []byte) (args []string, rest []byte, whole bool) {
	if bytes.IndexByte(b, '\n') > len("*999999\r") {
		return nil, b, true // more words than any command has
	}
	s.source.Reset(b)
	s.lines.Reset(&s.source)
	said, err := server.ParseReply(s.lines)
	if err == io.EOF {
		return nil, b, false
	}
	words, _ := said.([]any)
	for _, word := range words {
		text, ok := word.(string)
		if !ok {
			return nil, b, true
		}
		args = append(args, text)
	}
	return args, b[len(b)-s.source.Len()-s.lines.Buffered():], true
}
