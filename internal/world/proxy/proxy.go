// Package proxy implements a TCP proxy between a client process and a server that injects network faults and counts
// traffic. Listen takes the address of a server and returns a Link, whose Rules delay or drop data, or close
// connections. It parses the Redis protocol, to act on exactly the nth command, its reply or a published message, and
// passes on everything else.
package proxy

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	dialTimeout  = 5 * time.Second       // bounds connecting to the server
	closeTimeout = 5 * time.Second       // bounds Close if a rule's function does not return
	lingerFor    = 2 * time.Second       // bounds a direction after the other one has ended
	acceptAgain  = 10 * time.Millisecond // pause after a failed accept
	readSize     = 32 << 10              // bytes per read
)

// Direction is a set of directions of a link.
type Direction uint8

// The directions. Open is the empty set.
const (
	Open     Direction = 0
	ToServer Direction = 1
	ToClient Direction = 2
	Both               = ToServer | ToClient
)

// Protocol is the protocol of a link.
type Protocol uint8

// The protocols. In an opaque protocol each chunk from a client counts as a request without a name, which matches every
// rule for commands, and the first chunk from the server after it as the reply. If a client sends several requests before
// an answer, replies are not told apart. Round trips are counted when a client sends after an answer; commands are not
// counted.
const (
	RESP Protocol = iota
	Opaque
)

// Counters holds the traffic of a link since Listen.
type Counters struct {
	Commands   int64 // sent by clients, including those held or swallowed
	RoundTrips int64 // commands sent while no reply was pending on their connection; a pipeline is one
	Sent       int64 // bytes to the server
	Received   int64 // bytes from the server
	Swallowed  int64 // writes and stream ends that a cut swallowed
}

// Link is a port of 127.0.0.1 that forwards to a server. It is safe for concurrent use.
type Link struct {
	Rules
	listener net.Listener
	protocol Protocol
	running  sync.WaitGroup
	delay    atomic.Int64
	requests atomic.Int64 // opaque protocol only

	commands, roundTrips, sent, received, swallowed atomic.Int64

	mu       sync.Mutex // guards the fields below and the marked fields of connections; never held across a wait
	upstream string
	cut      Direction
	conns    map[*conn]bool
	accepted int
	closed   bool
}

// Listen opens a link to host:port. If the server cannot be reached, a client's connection is closed.
func Listen(upstream string, p Protocol) (*Link, error) {
	if _, _, err := net.SplitHostPort(upstream); err != nil {
		return nil, fmt.Errorf("listen for a link: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for a link: %w", err)
	}
	l := &Link{listener: listener, protocol: p, upstream: upstream, conns: map[*conn]bool{}}
	l.running.Go(l.accept)
	return l, nil
}

// Addr returns the address for clients as host:port.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// Upstream changes the server. Existing connections are closed.
func (l *Link) Upstream(addr string) {
	l.mu.Lock()
	l.upstream = addr
	l.mu.Unlock()
	l.closeAll(func(*conn) bool { return true })
}

// Delay delays everything read from now on, in each direction. The order is kept, and delays overlap.
func (l *Link) Delay(d time.Duration) { l.delay.Store(int64(d)) }

// Cut drops all bytes and stream ends in the given directions, and heals the other directions. Connections stay open and
// new ones are accepted. Bytes in the operating system's buffers still arrive; delayed bytes do not. Healing closes a
// connection if something was dropped on it, since the rest of its stream would be misread.
func (l *Link) Cut(d Direction) {
	l.mu.Lock()
	healed := l.cut &^ d
	l.cut = d
	l.mu.Unlock()
	l.closeAll(func(c *conn) bool { return c.torn&healed != 0 })
}

// DropReplies drops everything that the server sends from now on over the connection with the given number. The other
// direction and stream ends still arrive. It reports whether the connection exists.
func (l *Link) DropReplies(number int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		if c.number == number {
			c.deaf.Store(true)
			return true
		}
	}
	return false
}

// Counters returns the current counters.
func (l *Link) Counters() Counters {
	return Counters{
		RoundTrips: l.roundTrips.Load(), // read before commands, of which they are a subset
		Commands:   l.commands.Load(),
		Sent:       l.sent.Load(),
		Received:   l.received.Load(),
		Swallowed:  l.swallowed.Load(),
	}
}

// Close closes the port and all connections. It fails if a rule's function does not return. Further calls have no effect.
func (l *Link) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.listener.Close() // it fails only if the listener is closed
	l.closeAll(func(*conn) bool { return true })
	ended := make(chan struct{})
	go func() { l.running.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-time.After(closeTimeout):
		return fmt.Errorf("close link %s: a rule's function did not return within %v", l.Addr(), closeTimeout)
	}
}

func (l *Link) closeAll(chosen func(*conn) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		if chosen(c) {
			c.closeLocked()
		}
	}
}

func (l *Link) accept() {
	for {
		client, err := l.listener.Accept()
		if err == nil {
			l.admit(client.(*net.TCPConn))
			continue
		}
		l.mu.Lock()
		closed := l.closed
		l.mu.Unlock()
		if closed {
			return
		}
		time.Sleep(acceptAgain)
	}
}

// admit starts a connection. It is registered at once, so that closing the link closes it.
func (l *Link) admit(client *net.TCPConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		client.Close()
		return
	}
	l.accepted++
	c := &conn{link: l, number: l.accepted, upstream: l.upstream, client: client, talk: NewConversation()}
	c.talk.number = func() int { return int(l.commands.Add(1)) }
	c.ctx, c.cancel = context.WithCancel(context.Background())
	l.conns[c] = true
	l.running.Go(c.run)
}
