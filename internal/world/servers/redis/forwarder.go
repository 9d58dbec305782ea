package redis

import (
	"context"
	"net"
	"strings"
	"sync"

	"lockbench/internal/world/proxy"
)

// forwarder is where a node is reached by its followers and Sentinels. It passes bytes on, and can keep from one follower
// what the node says, while the link stays up. (To pause the follower instead would not do: what was sent to it waits in
// the system's buffers.)
type forwarder struct {
	link *proxy.Link

	mu        sync.Mutex
	stalled   map[string]bool // by the port that a follower states
	followers map[int]*greeting
}

// greeting is how a connection begins: a follower states its own port, and waits for the answer before it asks for anything.
type greeting struct {
	talk     *proxy.Conversation
	commands int    // so far
	port     string // of the follower; "": it is no follower
}

// maxGreeting bounds how many commands of a connection are looked at.
const maxGreeting = 16

func newForwarder(node string) (*forwarder, error) {
	link, err := proxy.Listen(node, proxy.Opaque)
	if err != nil {
		return nil, err
	}
	f := &forwarder{link: link, stalled: map[string]bool{}, followers: map[int]*greeting{}}
	link.On(proxy.Rule{Point: proxy.Request, Do: func(_ context.Context, c proxy.Command) proxy.Fate {
		f.heard(c.Conn, c.Bytes)
		return proxy.Pass
	}})
	return f, nil
}

func (f *forwarder) port() string {
	_, port, _ := net.SplitHostPort(f.link.Addr()) // a listener's own address has one
	return port
}

// heard learns which node follows, before its primary hears it: no answer can come before.
func (f *forwarder) heard(conn int, text []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.followers[conn]
	if g == nil {
		g = &greeting{talk: proxy.Begin()}
		f.followers[conn] = g
	}
	if g.commands >= maxGreeting {
		return
	}
	for part := range g.talk.Said(text) {
		c := part.Command
		if g.commands++; c.Name == "REPLCONF" && len(c.Args) > 2 && strings.EqualFold(c.Args[1], "listening-port") {
			g.port, g.commands = c.Args[2], maxGreeting
			if f.stalled[g.port] {
				f.link.Deafen(conn)
			}
			return
		}
	}
}

// stall keeps from a follower all that the node does from now on, also on a connection that it makes later.
func (f *forwarder) stall(port string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := false
	for conn, g := range f.followers {
		found = g.port == port && f.link.Deafen(conn) || found
	}
	if !found {
		return errNotFollowing
	}
	f.stalled[port] = true
	return nil
}
