// Package sim runs locks in virtual time. It takes a Trial and returns its history. With GOMAXPROCS=1, the same seed
// gives the same history.
//
// The Go runtime runs goroutines that wake at the same time in any order. Two rules make the history independent of this
// order. First, data written in the same nanosecond is sent in an order that depends on its content (see outbox).
//
// Second, a message may arrive only in one particular nanosecond of every 1009 (see timetable). 1009 is prime, so
// clients that sleep for round durations after different arrivals wake at different times.
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

// world implements inject.World in virtual time: processes with opened locks, and a network and servers in memory.
type world struct {
	net       *network
	processes []*process // the last process has no faults and checks the keys at the end of the trial
	clients   int
	key       string           // name of the lock's key in the store
	copies    map[int]contents // data that each replica had when it stopped replicating
}

var _ inject.World = (*world)(nil)

func (w *world) aimed() int { return len(w.processes) - 1 }

func (w *world) ClientsOf(process int) []int32 {
	var all []int32
	for c := range int32(w.clients) {
		if process < 0 || int(c)%w.aimed() == process {
			all = append(all, c)
		}
	}
	return all
}

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

// Do implements inject.World. A fault takes effect at once and needs no verification.
func (w *world) Do(_ context.Context, a faults.Action) (inject.Effect, error) {
	switch a.Verb {
	case faults.Pause, faults.Kill:
		return w.stop(a), nil
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

// stop pauses or kills a process, or all processes that faults may affect.
func (w *world) stop(a faults.Action) inject.Effect {
	from, to := a.Process, a.Process+1
	if a.Process < 0 {
		from, to = 0, w.aimed()
	}
	for i := from; i < to; i++ {
		if a.Verb == faults.Kill {
			w.kill(i)
		} else {
			w.processes[i].pause()
		}
	}
	if a.Verb == faults.Kill {
		return inject.Effect{}
	}
	return inject.Effect{Heal: func() error {
		for i := from; i < to; i++ {
			w.net.resumeProcess(i)
		}
		return nil
	}}
}

func (w *world) befall(i int, a faults.Action) (heal func(), err error) {
	if a.Verb == faults.Unlink { // no server simulates the replica, so store its data at this time
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
		n.pause()
		return func() { w.net.resumeNode(i) }, nil
	case faults.Jump:
		return nil, n.jump(a.By)
	case faults.Drift:
		n.drift(a.By)
		return func() { n.drift(0) }, nil
	case faults.Evict:
		return nil, n.evict(w.key)
	case faults.Empty, faults.ForgetScripts, faults.ReadOnly:
		return n.enter(a.Verb)
	default:
		return nil, fmt.Errorf("unknown action %s", a.Verb)
	}
	return nil, nil
}

// kill ends a process and closes its connections. Later reports of the process are ignored. The lock is closed in the
// background so that its goroutines end.
func (w *world) kill(i int) {
	p := w.processes[i]
	if p.life.Err() != nil {
		return
	}
	p.end()
	w.net.killProcess(i)
	p.work.Go(func() { _ = p.lock.Close() }) // ignore the error, because the process was killed
}

// failover kills the primary and starts a server with the replica's data at the same address.
func (w *world) failover(to int) error {
	knows, behind := w.copies[to]
	if !behind {
		var err error
		if knows, err = w.net.nodes[0].contents(); err != nil {
			return err
		}
	}
	w.net.nodes[0].kill()
	w.net.nodes[0].resetClock() // faults changed only the clock of the old primary
	w.net.nodes[0].restart(knows)
	return nil
}

// closeAfter is the time in which background goroutines of client libraries end.
const closeAfter = 10 * time.Second

func (w *world) close() error {
	for i := range w.net.nodes {
		w.net.resumeNode(i)
	}
	var errs []error
	for i, p := range w.processes {
		w.net.resumeProcess(i)
		errs = append(errs, p.close())
	}
	w.net.Close()
	time.Sleep(closeAfter)
	return errors.Join(errs...)
}

// reserved is the length in nanoseconds of the first part of each period of virtual time (see quantum). No message
// arrives in this part. Client i wakes only in nanosecond i+1 of a period. So a client never wakes together with another
// client or with the arrival of a message.
const reserved = 100

// quantum is the length of a period of virtual time. Each message may arrive only in one particular nanosecond of a
// period.
const quantum = 1009 * time.Nanosecond

// network connects processes with emulated Redis servers in memory.
type network struct {
	seed      uint64
	latency   time.Duration
	nodes     []*node
	processes []*place
	links     [][]*link // links by process and server
	outbox    *outbox
	rulings   turnstile

	mu   sync.Mutex   // guards the map below; never held while a goroutine waits in virtual time
	dead map[int]bool // killed processes, by index
}

// newNetwork creates a network in the current testing/synctest bubble. A message takes between 0.5 and 1.5 times the
// latency. After Close, background goroutines need 10 s of virtual time to end.
func newNetwork(nodes, processes int, latency time.Duration, seed uint64) *network {
	n := &network{seed: seed, latency: latency, outbox: newOutbox(), dead: map[int]bool{}}
	for range nodes {
		node := &node{}
		node.server = node.newServer()
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

// URLs returns the addresses of the servers, such as redis://node0:6379.
func (n *network) URLs() []string {
	var urls []string
	for i := range n.nodes {
		urls = append(urls, "redis://"+address(i))
	}
	return urls
}

func address(node int) string { return fmt.Sprintf("node%d:6379", node) }

// Dialer returns a dial function for the connections of a process. Dialing takes no virtual time. It fails if no running
// server has the address. The message delays of a process do not depend on other processes.
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
				node.serves = append(node.serves, s) // closed when the server is killed
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

func (n *network) resumeProcess(process int) {
	if n.processes[process].resume() {
		for _, l := range n.links[process] {
			l.forEachConnection((*pair).resume)
		}
	}
}

func (n *network) resumeNode(node int) {
	if n.nodes[node].resume() {
		for _, links := range n.links {
			links[node].forEachConnection((*pair).resume)
		}
	}
}

func (n *network) killProcess(process int) {
	n.mu.Lock()
	n.dead[process] = true
	n.mu.Unlock()
	for _, l := range n.links[process] {
		l.forEachConnection((*pair).died)
	}
	n.resumeProcess(process)
}

func draw(key uint64, more ...uint64) uint64 {
	for _, m := range more {
		key = rand.NewPCG(key, m).Uint64()
	}
	return key
}

// Close ends the servers and their connections. The network cannot be used after Close.
func (n *network) Close() {
	for _, node := range n.nodes {
		node.kill()
	}
}
