package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/inject"
)

// world is what plans act on in virtual time: processes that are opened locks, and a network and servers in memory.
type world struct {
	net       *Net
	processes []*process // the last is the epilogue's: no fault is aimed at it
	clients   int
	key       string           // of the lock, in the store
	copies    map[int]contents // of the primary, in replicas that hear nothing more of it
}

var _ inject.World = (*world)(nil)

// aimed is how many processes faults are aimed at.
func (w *world) aimed() int { return len(w.processes) - 1 }

// ClientsOf are the clients of a process.
func (w *world) ClientsOf(process int) []int32 {
	var all []int32
	for c := range int32(w.clients) {
		if int(c)%w.aimed() == process {
			all = append(all, c)
		}
	}
	return all
}

// Links are the ways between a process, or all that faults are aimed at, and servers.
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
				all = append(all, w.net.link(p, n))
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
	if heals == nil {
		return inject.Effect{}, errors.Join(errs...)
	}
	return inject.Effect{Heal: func() error {
		for _, heal := range heals {
			heal()
		}
		return nil
	}}, errors.Join(errs...)
}

// befall does something to one server.
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
		return func() { w.net.startNode(i, len(w.processes)) }, nil
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

// kill ends a process: its connections are closed, nobody hears of it any more, and the lock is closed beside all else,
// since its goroutines must end.
func (w *world) kill(i int) {
	p := w.processes[i]
	if p.life.Err() != nil {
		return
	}
	p.end()
	w.net.killProcess(i)
	p.work.Go(func() { _ = p.lock.Close() }) // whatever goes wrong there is in a process that is no more
}

// failover kills the primary, and what a replica knows takes over at its address, as if that had moved.
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

// close ends everything: no process stands still any more by then.
func (w *world) close() error {
	for i := range w.net.nodes {
		w.net.startNode(i, len(w.processes))
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
