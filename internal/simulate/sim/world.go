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
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/inject"
	"lockbench/internal/world/proxy"
)

// world is an inject.World in virtual time: processes that are opened locks, and a network and servers in memory.
type world struct {
	net       *network
	processes []*process // the last is the epilogue's: no fault is aimed at it
	clients   int
	key       string           // of the lock, in the store
	copies    map[int]contents // of the primary, in replicas that hear nothing more of it
}

var _ inject.World = (*world)(nil)

// aimed returns how many processes faults are aimed at.
func (w *world) aimed() int { return len(w.processes) - 1 }

// ClientsOf returns the clients of a process.
func (w *world) ClientsOf(process int) []int32 {
	var all []int32
	for c := range int32(w.clients) {
		if int(c)%w.aimed() == process {
			all = append(all, c)
		}
	}
	return all
}

// Links returns the links between a process, or all that faults are aimed at, and servers.
func (w *world) Links(process int, nodes []int) []inject.Link {
	if len(nodes) == 0 {
		for i := range w.net.nodes {
			nodes = append(nodes, i)
		}
	}
	var all []inject.Link
	for p := range w.aimed() {
		for _, n := range nodes {
			if process < 0 || p == process {
				all = append(all, w.net.links[p][n])
			}
		}
	}
	return all
}

// Do does something to a process or to servers. It takes no virtual time, and has taken effect when it returns.
func (w *world) Do(_ context.Context, a faults.Action) (inject.Effect, error) {
	switch a.Verb {
	case faults.Pause:
		w.processes[a.Process].stop()
		return inject.Effect{Heal: func() error { w.net.startProcess(a.Process); return nil }}, nil
	case faults.Kill:
		w.kill(a.Process)
		return inject.Effect{}, nil
	case faults.Failover:
		return inject.Effect{}, w.failover(a.Nodes[0])
	}
	var errs []error
	var heals []func()
	for _, i := range a.Nodes {
		heal, err := w.befall(i, a)
		errs = append(errs, err)
		if heal != nil {
			heals = append(heals, heal)
		}
	}
	var effect inject.Effect
	if heals != nil {
		effect.Heal = func() error {
			for _, heal := range heals {
				heal()
			}
			return nil
		}
	}
	return effect, errors.Join(errs...)
}

func (w *world) befall(i int, a faults.Action) (heal func(), err error) {
	if a.Verb == faults.Unlink { // of a replica, which is no server that the lock asks
		copied, err := w.net.nodes[0].contents()
		w.copies[i] = copied
		return nil, err
	}
	n := w.net.nodes[i]
	switch a.Verb {
	case faults.Restart:
		return n.bounce(a)
	case faults.Down:
		n.kill()
	case faults.Freeze:
		n.stop()
		return func() { w.net.startNode(i) }, nil
	case faults.Jump:
		return nil, n.jump(a.By)
	case faults.Drift:
		n.drift(a.By)
		return func() { n.drift(0) }, nil
	case faults.Evict:
		return nil, n.evict(w.key)
	default:
		return nil, fmt.Errorf("nobody knows how to %s", a.Verb)
	}
	return nil, nil
}

// kill ends a process: its connections are closed, it reports nothing any more, and its lock is closed in the background,
// since its goroutines must end.
func (w *world) kill(i int) {
	p := w.processes[i]
	if p.life.Err() != nil {
		return
	}
	p.end()
	w.net.killProcess(i)
	p.work.Go(func() { _ = p.lock.Close() }) // the process is gone: its errors do not matter
}

// failover kills the primary and starts a server with what a replica knows at its address.
func (w *world) failover(to int) error {
	knows, behind := w.copies[to]
	if !behind {
		var err error
		if knows, err = w.net.nodes[0].contents(); err != nil {
			return err
		}
	}
	w.net.nodes[0].kill()
	w.net.nodes[0].setRight() // the replica has a clock of its own
	w.net.nodes[0].restart(knows)
	return nil
}

// closeAfter is how long what runs in the background of clients may take to notice that it is over.
const closeAfter = 10 * time.Second

// close ends everything. It resumes what is paused first.
func (w *world) close() error {
	for i := range w.net.nodes {
		w.net.startNode(i)
	}
	var errs []error
	for i, p := range w.processes {
		w.net.startProcess(i)
		errs = append(errs, p.close())
	}
	w.net.Close()
	time.Sleep(closeAfter)
	return errors.Join(errs...)
}

// reserved is how many instants of each 1009 no message owns: goroutines that are started inside
// the bubble start at i nanoseconds each, so that these share no instant either.
const reserved = 100

const quantum = 1009 * time.Nanosecond // from one instant that a message owns to its next

// network connects processes with emulated Redis servers, all of it in memory.
type network struct {
	seed      uint64
	latency   time.Duration
	nodes     []*node
	processes []*place
	links     [][]*link // of each process, to each server
	outbox    *outbox
	rulings   turnstile

	mu   sync.Mutex   // guards dead; never held across a wait
	dead map[int]bool // processes
}

// newNetwork brings up a network inside the current bubble. A message takes from half the latency to one and a
// half times it, one way. Close it before the bubble ends, and let 10 s of virtual time pass after it:
// what runs in the background of a client notices only then that it is over.
func newNetwork(nodes, processes int, latency time.Duration, seed uint64) *network {
	n := &network{seed: seed, latency: latency, outbox: newOutbox(), dead: map[int]bool{}}
	for range nodes {
		node := &node{}
		node.server = node.begin()
		n.nodes = append(n.nodes, node)
	}
	for p := range processes {
		n.processes = append(n.processes, &place{})
		n.links = append(n.links, nil)
		for i := range nodes {
			n.links[p] = append(n.links[p], &link{timetable: n.timetable(p, i), outbox: n.outbox, rulings: &n.rulings})
		}
	}
	return n
}

// URLs returns the servers' addresses: redis://node0:6379 and so on.
func (n *network) URLs() []string {
	var urls []string
	for i := range n.nodes {
		urls = append(urls, "redis://"+address(i))
	}
	return urls
}

func address(node int) string { return fmt.Sprintf("node%d:6379", node) }

// Dialer returns the Dial of one process. Each process has delays of its own, so that what one does less
// or more of does not change those of another. It takes no virtual time: connections are pooled, and what
// a handshake would cost is not modelled. It fails if no server has the address or the server does not run.
func (n *network) Dialer(process int) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(_ context.Context, _, addr string) (net.Conn, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		for i, node := range n.nodes {
			if server := node.running(); address(i) == addr && server != nil && !n.dead[process] {
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

func (n *network) connect(process, node int) (client, server *conn) {
	l := n.links[process][node]
	c := &pair{link: l, talk: proxy.NewConversation()}
	l.add(c)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	here, there := n.processes[process], &n.nodes[node].place
	c.toServer = &pipe{pair: c, direction: proxy.ToServer, writer: here, reader: there, bell: silent()}
	c.toClient = &pipe{pair: c, direction: proxy.ToClient, writer: there, reader: here, bell: silent()}
	from, to := endpoint(fmt.Sprintf("process%d", process)), endpoint(address(node))
	return &conn{c.toClient, c.toServer, from, to}, &conn{c.toServer, c.toClient, to, from}
}

func (n *network) startProcess(process int) {
	if n.processes[process].start() {
		for _, l := range n.links[process] {
			l.each((*pair).resume)
		}
	}
}

func (n *network) startNode(node int) {
	if n.nodes[node].start() {
		for _, links := range n.links {
			links[node].each((*pair).resume)
		}
	}
}

// killProcess ends a process's connections and lets it make no other.
func (n *network) killProcess(process int) {
	n.mu.Lock()
	n.dead[process] = true
	n.mu.Unlock()
	for _, l := range n.links[process] {
		l.each((*pair).died)
	}
	n.startProcess(process)
}

// draw returns a random number that depends on its arguments alone.
func draw(key uint64, more ...uint64) uint64 {
	for _, m := range more {
		key = rand.NewPCG(key, m).Uint64()
	}
	return key
}

// Close ends the servers and what is connected to them. Nothing may start them again.
func (n *network) Close() {
	for _, node := range n.nodes {
		node.kill()
	}
}
