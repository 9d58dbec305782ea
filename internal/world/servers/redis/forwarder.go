package redis

import (
	"context"
	"net"
	"strings"
	"sync"

	"lockbench/internal/world/proxy"
)

// forwarder is a proxy through which replicas and Sentinels connect to a node. It can withhold the node's output from
// one replica while the connection stays open. A pause of the replica would not have this effect. The system would
// buffer the data and deliver it after the pause.
type forwarder struct {
	link *proxy.Link

	mu        sync.Mutex
	stalled   map[string]bool // stalled replicas, by the port that the replica announces
	followers map[int]*greeting
}

// greeting records the first commands on a connection. A replica requests data only after it has announced its port and
// received the reply.
type greeting struct {
	talk     *proxy.Conversation
	commands int    // number of commands received so far
	port     string // port that the replica announced; "" if none was announced
}

// maxGreeting is the maximum number of commands in which a replica's port is searched for.
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
	_, port, _ := net.SplitHostPort(f.link.Addr()) // cannot fail, because a listener's address always has a port
	return port
}

// received records the port that a replica announces. If the replica is stalled, the proxy then drops the node's
// replies. received must be called before the command is forwarded, because the node replies at once.
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

// stall withholds the node's output from the replica that announced the port. It affects current and later connections.
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
