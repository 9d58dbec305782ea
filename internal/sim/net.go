// Package sim runs locks in virtual time. In goes a number of servers, a latency and a seed; out comes a
// network that a lock dials instead of the real one. It is for use inside a testing/synctest bubble.
//
// The same seed gives the same run. For that, no delay may depend on which goroutine happened to run
// first, and no two events may share an instant, because the runtime wakes those in any order. Hence each
// direction of each connection owns every 1009th nanosecond, and things arrive there only at those. The
// number is prime so that two clients which used one connection after the other, and then sleep for
// different round times, do not wake together either. One processor (GOMAXPROCS=1) is needed too.
package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// Reserved is how many instants of each 1009 no connection owns: those who start goroutines inside the
// bubble start the i-th at i nanoseconds, so that these share no instant either.
const Reserved = 100

const quantum = 1009 * time.Nanosecond // from one instant that a connection owns to its next

// Net is a network with emulated Redis servers behind it, all of it in memory.
type Net struct {
	seed    uint64
	latency time.Duration
	nodes   []*miniredis.Miniredis

	mu     sync.Mutex // guards what follows; never held across a wait
	closed bool
	pipes  int              // so far
	dials  map[route]uint64 // so far
}

// route is who dials what.
type route struct{ process, node int }

// New brings up a network inside the current bubble. A message takes from half the latency to one and a
// half times it, one way. Close it before the bubble ends, and let 10 s of virtual time pass after it:
// what runs in the background of a client notices only then that it is over.
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

// Dial is the Dial of process 0.
func (n *Net) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return n.Dialer(0)(ctx, network, addr)
}

// Dialer returns the Dial of one process. Each process has delays of its own, so that what one does less
// or more of does not change those of another. It takes no virtual time: connections are pooled, and what
// a handshake would cost is not modelled. It fails where no server has the address, and after Close.
func (n *Net) Dialer(process int) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(_ context.Context, _, addr string) (net.Conn, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		for node, m := range n.nodes {
			if address(node) == addr && !n.closed {
				client, server := n.connect(process, node)
				m.Server().ServeConn(server)
				return client, nil
			}
		}
		return nil, fmt.Errorf("dial %s: %w", addr, syscall.ECONNREFUSED)
	}
}

// connect returns both ends of a new connection. What instants it owns goes in turn, and after 454
// connections they come round: one that is still open by then can share an instant with a new one.
func (n *Net) connect(process, node int) (client, server *conn) {
	r := route{process, node}
	key := draw(n.seed, uint64(process), uint64(node), n.dials[r])
	n.dials[r]++
	var pipes [2]*pipe
	for i := range pipes {
		residue := time.Duration(Reserved + n.pipes%(int(quantum)-Reserved))
		pipes[i] = &pipe{key: draw(key, uint64(i)), residue: residue, latency: n.latency, wake: make(chan struct{}, 1)}
		n.pipes++
	}
	here, there := endpoint(fmt.Sprintf("process%d", process)), endpoint(address(node))
	return &conn{pipes[1], pipes[0], here, there}, &conn{pipes[0], pipes[1], there, here}
}

// draw is a random number that depends on its arguments alone.
func draw(key uint64, more ...uint64) uint64 {
	for _, m := range more {
		key = rand.NewPCG(key, m).Uint64()
	}
	return key
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
