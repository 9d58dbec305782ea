package redis

import (
	"context"
	"net"
	"strings"
	"sync"

	"lockbench/internal/world/proxy"
)

// forwarder is a proxy through which replicas and Sentinels reach a node. It can withhold the node's output from one
// replica while the link stays up. Pausing the replica is not enough: data sent to it waits in the system's buffers and
// arrives later.
type forwarder struct {
	link *proxy.Link

	mu        sync.Mutex
	stalled   map[string]bool // by the port that a replica announces
	followers map[int]*greeting
}

// greeting holds the beginning of a connection. A replica announces its port and waits for the answer before it requests
// data.
type greeting struct {
	talk     *proxy.Conversation
	commands int    // number of commands received
	port     string // port of the replica; "": not a replica
}

// maxGreeting is the number of commands in which a replica must announce itself.
const maxGreeting = 16

func newForwarder(node string) (*forwarder, error) {
	link, err := proxy.Listen(node, proxy.Opaque)
	if err != nil {
		return nil, err
	}
	f := &forwarder{link: link, stalled: map[string]bool{}, followers: map[int]*greeting{}}
	link.On(proxy.Rule{Point: proxy.Request, Do: func(_ context.Context, c proxy.Command) proxy.Fate {
		f.received(c.Conn, c.Bytes)
		return proxy.Pass
	}})
	return f, nil
}

func (f *forwarder) port() string {
	_, port, _ := net.SplitHostPort(f.link.Addr()) // a listener's address always has a port
	return port
}

// received looks for the announcement of a replica before the node receives it, so before any answer.
func (f *forwarder) received(conn int, text []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.followers[conn]
	if g == nil {
		g = &greeting{talk: proxy.NewConversation()}
		f.followers[conn] = g
	}
	if g.commands >= maxGreeting {
		return
	}
	for part := range g.talk.FromClient(text) {
		c := part.Command
		if g.commands++; c.Name == "REPLCONF" && len(c.Args) > 2 && strings.EqualFold(c.Args[1], "listening-port") {
			g.port, g.commands = c.Args[2], maxGreeting
			if f.stalled[g.port] {
				f.link.DropReplies(conn)
			}
			return
		}
	}
}

// stall withholds the node's output from a replica, on this and later connections.
func (f *forwarder) stall(port string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := false
	for conn, g := range f.followers {
		found = g.port == port && f.link.DropReplies(conn) || found
	}
	if !found {
		return errNotFollowing
	}
	f.stalled[port] = true
	return nil
}
