// Package sim runs locks in virtual time. In goes a number of servers, a latency and a seed; out comes a
// network that a lock dials instead of the real one. It is for use inside a testing/synctest bubble.
//
// The same seed gives the same run. For that, no delay may depend on which goroutine happened to run
// first, and no two events may share an instant, because the runtime wakes those in any order. Hence each
// direction of each connection owns a residue, a number of nanoseconds below a microsecond, and things
// arrive there only at whole microseconds plus that residue. One processor (GOMAXPROCS=1) is needed too.
package sim

import (
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
)

const (
	quantum = time.Microsecond // what delays are whole numbers of

	// Reserved is how many residues no connection owns: those who start goroutines inside the bubble
	// start the i-th at i nanoseconds, so that these share no instant either.
	Reserved = 100

	maxConns = (int(quantum) - Reserved) / 2 // open at once, at two residues each
)

// Net is a network with emulated Redis servers behind it, all of it in memory.
type Net struct {
	seed    uint64
	latency time.Duration
	nodes   []*miniredis.Miniredis

	mu     sync.Mutex // guards what follows; never held across a wait
	closed bool
	dials  map[route]uint64
	free   []int // numbers that no open connection has, longest free first
}

// route is who dials what.
type route struct{ process, node int }

// New brings up a network inside the current bubble. A message takes from half the latency to one and a
// half times it, one way. Close it before the bubble ends, and let virtual time pass afterwards: what
// runs in the background of a client notices a closed connection only then.
func New(nodes int, latency time.Duration, seed uint64) *Net {
	n := &Net{seed: seed, latency: latency, dials: map[route]uint64{}}
	for range nodes {
		m := miniredis.NewMiniRedis()
		m.ClockTTL(true)
		c, err := m.Dial() // which starts it, without a port
		if err != nil {
			panic(err) // impossible: nothing outside this process is touched
		}
		c.Close()
		n.nodes = append(n.nodes, m)
	}
	for i := range maxConns {
		n.free = append(n.free, i)
	}
	return n
}

// URLs are the servers' addresses: redis://node0:6379 and so on.
func (n *Net) URLs() []string {
	var urls []string
	for i := range n.nodes {
		urls = append(urls, "redis://"+address(i))
	}
	return urls
}

func address(node int) string { return fmt.Sprintf("node%d:6379", node) }

// Dial connects process 0. It fails where nobody has that address, after Close, and while 450 connections
// are open.
func (n *Net) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return n.Dialer(0)(ctx, network, addr)
}

// Dialer returns the Dial of one process. Each has delays of its own, so that what one process does less
// or more of does not change those of another.
func (n *Net) Dialer(process int) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := n.dial(ctx, process, addr)
		if err != nil {
			return nil, &net.OpError{Op: "dial", Net: network, Addr: endpoint(addr), Err: err}
		}
		return c, nil
	}
}

// dial takes no virtual time: connections are pooled, and what a handshake would cost is not modelled.
func (n *Net) dial(ctx context.Context, process int, addr string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	node := 0
	for node < len(n.nodes) && address(node) != addr {
		node++
	}
	switch {
	case node == len(n.nodes):
		return nil, &net.DNSError{Err: "no such host", Name: addr, IsNotFound: true}
	case n.closed:
		return nil, syscall.ECONNREFUSED
	case len(n.free) == 0:
		return nil, fmt.Errorf("%d connections are open, and no two may share an instant", maxConns)
	}
	number := n.free[0]
	n.free = n.free[1:]
	key := mix(n.seed, uint64(process), uint64(node), n.dials[route{process, node}])
	n.dials[route{process, node}]++
	there := newPipe(mix(key, 0), Reserved+2*number, n.latency)
	back := newPipe(mix(key, 1), Reserved+2*number+1, n.latency)
	client, server := newConns(there, back, endpoint(fmt.Sprintf("process%d", process)), endpoint(addr),
		func() { n.hangUp(number) })
	n.nodes[node].Server().ServeConn(server)
	return client, nil
}

// hangUp frees the number of a connection that is closed at both ends, for use after all others that are free.
func (n *Net) hangUp(number int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.free = append(n.free, number)
}

// Close ends the servers and what is connected to them.
func (n *Net) Close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	for _, m := range n.nodes {
		m.Close()
	}
}
