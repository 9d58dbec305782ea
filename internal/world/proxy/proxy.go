// Package proxy implements a TCP proxy between a client process and a server. It injects network faults and counts
// traffic. Listen takes the address of a server and returns a Link. A Link can delay or drop data and close connections.
// It parses the Redis protocol. A Rule can therefore act on the nth command, its reply, or a published message. All
// other data is forwarded unchanged.
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
	dialTimeout  = 5 * time.Second       // time limit for connecting to the server
	closeTimeout = 5 * time.Second       // maximum time that Close waits for running Rule.Do functions
	lingerFor    = 2 * time.Second       // maximum time that a connection stays open after one direction has ended
	acceptAgain  = 10 * time.Millisecond // delay after a failed accept, before the next attempt
	readSize     = 32 << 10              // maximum number of bytes in one read
)

// Direction is a bit set of the two directions of a connection: to the server and to the client.
type Direction uint8

// Sets of directions. The empty set is Open: Cut(Open) lets data pass in both directions.
const (
	Open     Direction = 0
	ToServer Direction = 1
	ToClient Direction = 2
	Both               = ToServer | ToClient
)

// Protocol identifies the network protocol of the connections that a link forwards.
type Protocol uint8

// RESP is the Redis protocol. Opaque is any other protocol, which the link does not parse. With Opaque, each chunk of
// data from a client counts as one request. It matches every Rule whose Point is Request, regardless of Rule.Commands.
// The first chunk from the server after a request counts as the reply. If a client sends several requests before a
// reply, they share one reply and count as one round trip. Counters.Commands stays 0.
const (
	RESP Protocol = iota
	Opaque
)

// Counters holds the totals of a link's traffic since the call of Listen.
type Counters struct {
	Commands   int64 // commands from clients, including those that a Rule delayed or did not forward
	RoundTrips int64 // commands that were sent while no earlier command of the connection was pending; a pipeline counts once
	Sent       int64 // bytes sent to the server
	Received   int64 // bytes received from the server
	Swallowed  int64 // chunks of data and ends of streams that Link.Cut dropped
}

// Link is a proxy on a port of 127.0.0.1 that forwards connections to a server. It is safe for concurrent use.
type Link struct {
	Rules
	listener net.Listener
	protocol Protocol
	running  sync.WaitGroup
	delay    atomic.Int64
	requests atomic.Int64 // number of requests, if the protocol is Opaque

	commands, roundTrips, sent, received, swallowed atomic.Int64

	mu       sync.Mutex // guards the fields below and some fields of connections; never held while waiting
	upstream string
	cut      Direction
	conns    map[*conn]bool
	accepted int
	closed   bool
}

// Listen opens a link that forwards to upstream, a host:port. If the server cannot be reached, client connections are
// closed.
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

// Addr returns the host:port that clients connect to.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// Upstream sets the address of the server for new connections. If this changes the address, the existing connections are
// closed.
func (l *Link) Upstream(addr string) {
	l.mu.Lock()
	same := l.upstream == addr
	l.upstream = addr
	l.mu.Unlock()
	if !same {
		l.closeAll(func(*conn) bool { return true })
	}
}

// Delay sets the delay of all data that arrives from now on, in both directions. Data stays in order. Each chunk is
// delayed by d, even if many chunks are waiting.
func (l *Link) Delay(d time.Duration) { l.delay.Store(int64(d)) }

// Cut drops all bytes and ends of streams in the directions d. It replaces an earlier cut, so other directions carry
// data again. Connections stay open, and new connections are accepted. Bytes that the link delays are dropped. Bytes in
// the operating system's buffers still arrive. After a cut, the link closes the connections that lost data, because the
// receiver would misread the rest.
func (l *Link) Cut(d Direction) {
	l.mu.Lock()
	healed := l.cut &^ d
	l.cut = d
	l.mu.Unlock()
	l.closeAll(func(c *conn) bool { return c.torn&healed != 0 })
}

// Heal removes all rules, delays and cuts. It closes the connections that lost data.
func (l *Link) Heal() {
	l.Rules.clear()
	l.Delay(0)
	l.Cut(Open)
	l.closeAll(func(c *conn) bool { return c.mute.Load() || c.deaf.Load() })
}

// Reset closes all connections abruptly and returns their number. Both ends receive a reset instead of an end of the
// stream.
func (l *Link) Reset() (closed int) {
	l.closeAll(func(c *conn) bool {
		if c.ctx.Err() != nil {
			return false // the connection is already closed
		}
		closed++
		for _, end := range []*net.TCPConn{c.client, c.server} {
			if end != nil {
				_ = end.SetLinger(0) // if this fails, Close ends the stream in the usual way
			}
		}
		return true
	})
	return closed
}

// Idle reports whether every command on every connection has been answered. It reports false for the protocol Opaque, which the
// link does not parse.
func (l *Link) Idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		if l.protocol == Opaque || c.ctx.Err() == nil && c.talk.Pending() {
			return false
		}
	}
	return true
}

// DropReplies drops all bytes that the server sends from now on over the connection with this number. Data from the
// client and the ends of both streams still arrive. The result is false if the connection does not exist.
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

// Counters returns the current counters of the link.
func (l *Link) Counters() Counters {
	return Counters{
		RoundTrips: l.roundTrips.Load(), // read before Commands, so RoundTrips never exceeds Commands
		Commands:   l.commands.Load(),
		Sent:       l.sent.Load(),
		Received:   l.received.Load(),
		Swallowed:  l.swallowed.Load(),
	}
}

// Close closes the port and all connections. It returns an error if a running Rule.Do does not return within five
// seconds. Further calls have no effect.
func (l *Link) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.listener.Close() // Close fails only if the listener is already closed
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

// admit starts forwarding a new connection. It registers the connection first, so that Close can close it.
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
