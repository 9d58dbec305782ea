// Package proxy stands between one client process and one server, so that what goes wrong on the way
// between them can be chosen and counted. In go bytes; out come the same bytes later, or none, and how many
// commands and round trips they were. It understands enough of the protocol of Redis to act on exactly the nth command,
// its reply, or a published message, and passes on what it does not understand.
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
	dialWithin  = 5 * time.Second       // bounds the dialling of the server
	closeWithin = 5 * time.Second       // bounds Close, where a rule's function does not end
	lingerFor   = 2 * time.Second       // bounds what may follow after one side has closed
	acceptAgain = 10 * time.Millisecond // the pause after an accept that failed, say for want of descriptors
	readSize    = 32 << 10              // bytes read at once
)

// Direction is a set of the two directions of a link.
type Direction uint8

// The directions. Open is none.
const (
	Open     Direction = 0
	ToServer Direction = 1
	ToClient Direction = 2
	Both               = ToServer | ToClient
)

// Protocol is what is spoken over a link.
type Protocol uint8

// The protocols. Of one that is opaque to the proxy no command is known by name. What a client sends at once is taken
// for a request without a name, which matches every rule for commands, and what the server says next for its reply:
// that is so where one is sent after the other's answer, and where it is not, something is said in between, and a rule
// may meet that. A round trip is counted when the client speaks after the server has; commands are not counted.
const (
	RESP Protocol = iota
	Opaque
)

// Counters is what went over a link since Listen.
type Counters struct {
	Commands   int64 // that clients sent, also where they were held or swallowed
	RoundTrips int64 // commands that came while no reply was outstanding on their connection: a pipeline is one
	Sent       int64 // bytes to the server
	Received   int64 // bytes from the server
	Swallowed  int64 // what a cut swallowed: writes, and the ends of a direction
}

// Link is a private port of 127.0.0.1, and the way from there to a server. It is safe for concurrent use.
type Link struct {
	listener net.Listener
	protocol Protocol
	running  sync.WaitGroup
	delay    atomic.Int64
	rules    Rules
	requests atomic.Int64 // of an opaque protocol

	commands, roundTrips, sent, received, swallowed atomic.Int64

	mu       sync.Mutex // guards what follows, and of each connection what says so; never held across a wait
	upstream string
	cut      Direction
	conns    map[*conn]bool
	accepted int
	closed   bool
}

// Listen opens a link to host:port. A connection is closed if the server cannot be dialled.
func Listen(upstream string, p Protocol) (*Link, error) {
	if _, _, err := net.SplitHostPort(upstream); err != nil {
		return nil, fmt.Errorf("server of a link: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for a link: %w", err)
	}
	l := &Link{listener: listener, protocol: p, upstream: upstream, conns: map[*conn]bool{}}
	l.running.Go(l.accept)
	return l, nil
}

// Addr returns where a client connects to instead of to the server, as host:port.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// Upstream leads to another server from now on. Connections that exist are closed.
func (l *Link) Upstream(addr string) {
	l.mu.Lock()
	l.upstream = addr
	l.mu.Unlock()
	l.closeAll(func(*conn) bool { return true })
}

// Delay makes what is read from now on arrive so much later, each way; 0 for none. It keeps the order, and what
// comes in pieces is under way at the same time.
func (l *Link) Delay(d time.Duration) { l.delay.Store(int64(d)) }

// Cut makes a black hole of the directions: their bytes, and the closing of a side, are swallowed, and
// connections stay open. What was handed to the operating system before still arrives; what is delayed does not.
// New connections are accepted. A direction that is no longer cut is healed: a connection on which it swallowed
// something is closed, because the rest of the stream would be misread, and the others go on.
func (l *Link) Cut(d Direction) {
	l.mu.Lock()
	healed := l.cut &^ d
	l.cut = d
	l.mu.Unlock()
	l.closeAll(func(c *conn) bool { return c.torn&healed != 0 })
}

// Deafen keeps from the client of a connection, by its number, what the server says from now on; what the client says and
// the end of either side still arrive. It reports whether there is such a connection.
func (l *Link) Deafen(number int) bool {
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

// Counters returns the counts so far.
func (l *Link) Counters() Counters {
	return Counters{
		RoundTrips: l.roundTrips.Load(), // before the commands, of which it is a part
		Commands:   l.commands.Load(),
		Sent:       l.sent.Load(),
		Received:   l.received.Load(),
		Swallowed:  l.swallowed.Load(),
	}
}

// Close closes the port and all connections and waits; an error: a rule's function did not end. It may be called again.
func (l *Link) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.listener.Close() // it fails only where it is closed already
	l.closeAll(func(*conn) bool { return true })
	ended := make(chan struct{})
	go func() { l.running.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-time.After(closeWithin):
		return fmt.Errorf("link %s: a rule's function was not seen to end within %v", l.Addr(), closeWithin)
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

// admit starts a connection. From here on it is known, so that whatever closes all connections closes it too.
func (l *Link) admit(client *net.TCPConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		client.Close()
		return
	}
	l.accepted++
	c := &conn{link: l, number: l.accepted, upstream: l.upstream, client: client, talk: Begin()}
	c.talk.number = func() int { return int(l.commands.Add(1)) }
	c.ctx, c.cancel = context.WithCancel(context.Background())
	l.conns[c] = true
	l.running.Go(c.run)
}
