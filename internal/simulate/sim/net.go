// Package sim runs locks in virtual time. A Trial goes in, and its history comes out; or, for a lock alone, a number of
// servers, a latency and a seed go in, and out comes a network that the lock dials instead of the real one, for use
// inside a testing/synctest bubble.
//
// The same seed gives the same run. For that, no delay may depend on which goroutine happened to run
// first, and no two events may share an instant, because the runtime wakes those in any order. Hence what is written at
// one instant leaves in an order of its own (outbox), and each message of a link owns every 1009th nanosecond, and arrives
// at one of those (timetable). The number is prime so that two clients which were answered at such instants, and then sleep
// for different round times, do not wake together either. One processor (GOMAXPROCS=1) is needed too.
package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"

	"lockbench/internal/world/proxy"
)

// Reserved is how many instants of each 1009 no message owns: those who start goroutines inside the
// bubble start the i-th at i nanoseconds, so that these share no instant either.
const Reserved = 100

const quantum = 1009 * time.Nanosecond // from one instant that a message owns to its next

// Net is a network with emulated Redis servers behind it, all of it in memory.
type Net struct {
	seed    uint64
	latency time.Duration
	nodes   []*node
	outbox  *outbox
	rulings turnstile

	mu        sync.Mutex // guards what follows; never held across a wait
	closed    bool
	links     map[route]*link
	processes map[int]*place
	dead      map[int]bool // processes
}

// route is who dials what.
type route struct{ process, node int }

// New brings up a network inside the current bubble. A message takes from half the latency to one and a
// half times it, one way. Close it before the bubble ends, and let 10 s of virtual time pass after it:
// what runs in the background of a client notices only then that it is over.
func New(nodes int, latency time.Duration, seed uint64) *Net {
	n := &Net{seed: seed, latency: latency, outbox: newOutbox(), links: map[route]*link{}, processes: map[int]*place{}, dead: map[int]bool{}}
	for range nodes {
		node := &node{}
		node.server = node.begin()
		n.nodes = append(n.nodes, node)
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

// Dialer returns the Dial of one process. Each process has delays of its own, so that what one does less
// or more of does not change those of another. It takes no virtual time: connections are pooled, and what
// a handshake would cost is not modelled. It fails where no server has the address or runs, and after Close.
func (n *Net) Dialer(process int) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(_ context.Context, _, addr string) (net.Conn, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		for i, node := range n.nodes {
			if address(i) != addr || n.closed || n.dead[process] {
				continue
			}
			if server := node.running(); server != nil {
				here, there := n.connect(process, i)
				s := serve(server, there)
				node.mu.Lock()
				defer node.mu.Unlock()
				node.serves = append(node.serves, s) // to close it when the server is killed
				return here, nil
			}
		}
		return nil, fmt.Errorf("dial %s: %w", addr, syscall.ECONNREFUSED)
	}
}

// connect returns both ends of a new connection.
func (n *Net) connect(process, node int) (client, server *conn) {
	l := n.linkLocked(route{process, node})
	c := &pair{link: l, talk: proxy.Begin()}
	l.add(c)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	here, there := n.processLocked(process), &n.nodes[node].place
	c.toServer = &pipe{pair: c, direction: proxy.ToServer, writer: here, reader: there, bell: silent()}
	c.toClient = &pipe{pair: c, direction: proxy.ToClient, writer: there, reader: here, bell: silent()}
	from, to := endpoint(fmt.Sprintf("process%d", process)), endpoint(address(node))
	return &conn{c.toClient, c.toServer, from, to}, &conn{c.toServer, c.toClient, to, from}
}

func (n *Net) linkLocked(r route) *link {
	if n.links[r] == nil {
		n.links[r] = &link{timetable: n.timetable(r), outbox: n.outbox, rulings: &n.rulings}
	}
	return n.links[r]
}

func (n *Net) processLocked(process int) *place {
	if n.processes[process] == nil {
		n.processes[process] = &place{}
	}
	return n.processes[process]
}

// link is the way between a process and a server.
func (n *Net) link(process, node int) *link {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.linkLocked(route{process, node})
}

// process returns where a process is paused.
func (n *Net) process(process int) *place {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.processLocked(process)
}

// startProcess lets a paused process go on.
func (n *Net) startProcess(process int) {
	if n.process(process).start() {
		for i := range n.nodes {
			n.link(process, i).each((*pair).resume)
		}
	}
}

// startNode lets a paused server go on. processes is how many may be connected to it.
func (n *Net) startNode(node, processes int) {
	if n.nodes[node].start() {
		for process := range processes {
			n.link(process, node).each((*pair).resume)
		}
	}
}

// killProcess ends a process's connections and lets it make no other.
func (n *Net) killProcess(process int) {
	n.mu.Lock()
	n.dead[process] = true
	n.mu.Unlock()
	for i := range n.nodes {
		n.link(process, i).each((*pair).died)
	}
	n.startProcess(process)
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
	for _, node := range n.nodes {
		node.kill()
	}
}
