package redis

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/world/proxy"
)

// dialWithin bounds the dialling of a node of ours, on this machine.
const dialWithin = time.Second

// forwarder is where a node is reached by those who follow it or watch it. It passes bytes on, and can be made
// to keep from one follower what the node says, while the link stays up. (To stop the follower instead would not
// do: what was sent to it waits in the system's buffers.)
type forwarder struct {
	listener net.Listener
	node     string         // the node's address
	all      sync.WaitGroup // its goroutines

	mu       sync.Mutex
	stalled  map[string]bool // by the port that a follower states
	passages map[*passage]bool
	closed   bool
}

type passage struct {
	outer, inner net.Conn // to who came, and to the node
	follower     string   // the port that it states as its own; "": it follows nobody; guarded by the forwarder's mu
	stalled      atomic.Bool
}

func newForwarder(node string) (*forwarder, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("forwarder to a node: %w", err)
	}
	f := &forwarder{listener: l, node: node, stalled: map[string]bool{}, passages: map[*passage]bool{}}
	f.all.Go(f.accept)
	return f, nil
}

func (f *forwarder) port() string { return strconv.Itoa(f.listener.Addr().(*net.TCPAddr).Port) }

func (f *forwarder) accept() {
	for {
		conn, err := f.listener.Accept()
		if err != nil { // it was closed
			return
		}
		f.all.Go(func() { f.serve(conn) })
	}
}

// serve connects who came to the node. Where there is no node, it is as if nobody listened.
func (f *forwarder) serve(outer net.Conn) {
	defer outer.Close()
	inner, err := net.DialTimeout("tcp", f.node, dialWithin)
	if err != nil {
		return
	}
	defer inner.Close()
	p := &passage{outer: outer, inner: inner}
	if !f.enter(p) {
		return
	}
	defer f.leave(p)
	var both sync.WaitGroup
	for _, way := range []func(*passage){f.ask, answer} {
		both.Go(func() {
			way(p)
			outer.Close() // and thereby ends the other way
			inner.Close()
		})
	}
	both.Wait()
}

func (f *forwarder) enter(p *passage) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.passages[p] = true
	}
	return !f.closed
}

func (f *forwarder) leave(p *passage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.passages, p)
}

// greeting bounds how many commands of a connection are looked at: a follower says so in its first.
const greeting = 16

// ask passes on what comes for the node, and listens at first for who follows. A follower says so and waits for the
// answer before it asks for anything. It is understood before it is passed on, so that no answer can come before.
func (f *forwarder) ask(p *passage) {
	said, commands := proxy.Begin(), 0
	chunk := make([]byte, 32<<10)
	for {
		n, err := p.outer.Read(chunk)
		if commands < greeting {
			for part := range said.Said(chunk[:n]) {
				c := part.Command
				if commands++; c.Name == "REPLCONF" && len(c.Args) > 2 && strings.EqualFold(c.Args[1], "listening-port") {
					f.follows(p, c.Args[2])
					commands = greeting
				}
			}
		}
		if _, failed := p.inner.Write(chunk[:n]); failed != nil || err != nil {
			return
		}
	}
}

func (f *forwarder) follows(p *passage, port string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p.follower = port
	p.stalled.Store(f.stalled[port])
}

// answer passes on what the node says. That the passage is stalled is looked at after reading: what the node
// does from then on is read later, and goes nowhere.
func answer(p *passage) {
	chunk := make([]byte, 32<<10)
	for {
		n, err := p.inner.Read(chunk)
		if n > 0 && !p.stalled.Load() {
			if _, err := p.outer.Write(chunk[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// stall keeps from a follower all that the node does from now on, also on a connection that it makes later.
func (f *forwarder) stall(port string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := false
	for p := range f.passages {
		if p.follower == port {
			p.stalled.Store(true)
			found = true
		}
	}
	if !found {
		return errNotFollowing
	}
	f.stalled[port] = true
	return nil
}

// close ends every connection and returns when nothing of it runs. It may be called again.
func (f *forwarder) close() error {
	_ = f.listener.Close()
	f.mu.Lock()
	f.closed = true
	for p := range f.passages {
		p.outer.Close()
		p.inner.Close()
	}
	f.mu.Unlock()
	f.all.Wait()
	return nil
}
