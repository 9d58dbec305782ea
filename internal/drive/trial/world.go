package trial

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/inject"
	"lockbench/internal/drive/workers"
	"lockbench/internal/world/proxy"
	"lockbench/internal/world/servers"
)

// world carries out the actions of faults on client processes, network links and servers.
type world struct {
	processes []*workers.Process // the last process checks at the end that the lock is free; no fault affects it
	links     [][]*proxy.Link    // links by process and server
	trial     *trial
	scene     faults.Scene
	stalls    *stalls
	leased    func() bool // reports whether the lock has granted any lease
}

var _ inject.World = (*world)(nil)

// ClientsOf returns the clients that run in a process.
func (w *world) ClientsOf(process int) []int32 {
	var all []int32
	for c := range int32(w.trial.Params.Clients) {
		if process < 0 || int(c)%w.scene.Processes == process {
			all = append(all, c)
		}
	}
	return all
}

// Links returns the network links between a process and servers. A negative process number means all processes. The
// parameter nodes holds the indexes of the servers. If nodes is empty, all servers are included.
func (w *world) Links(process int, nodes []int) []inject.Link {
	var all []inject.Link
	for p := range w.scene.Processes {
		if process >= 0 && p != process {
			continue
		}
		if len(nodes) == 0 {
			for _, l := range w.links[p] {
				all = append(all, l)
			}
		}
		for _, n := range nodes {
			all = append(all, w.links[p][n])
		}
	}
	return all
}

// Do carries out one action of a fault on a process or on servers, and verifies it.
func (w *world) Do(ctx context.Context, a faults.Action) (inject.Effect, error) {
	switch a.Verb {
	case faults.Pause, faults.Kill, faults.Exit:
		return w.stop(a)
	case faults.ClientJump:
		return inject.Effect{}, w.moveClocks(ctx, a)
	case faults.ClientDrift:
		return w.driftClocks(ctx, a)
	case faults.Empty, faults.ForgetScripts, faults.ReadOnly, faults.Full:
		return w.enter(ctx, a)
	}
	return w.befall(ctx, a)
}

func (w *world) befall(ctx context.Context, a faults.Action) (inject.Effect, error) {
	if a.Verb == faults.Depose {
		return inject.Effect{}, w.trial.group.KillLeader(ctx)
	}
	began := time.Now()
	var errs []error
	var heals []func() error
	for _, i := range a.Nodes {
		n := w.trial.group.Nodes[i]
		switch a.Verb {
		case faults.Restart:
			if a.By == 0 {
				errs = append(errs, n.Restart(ctx))
				break
			}
			errs = append(errs, n.Kill())
			heals = append(heals, func() error { return n.Restart(context.WithoutCancel(ctx)) }) // heal the fault before the final check, even if ctx is done
		case faults.Down:
			errs = append(errs, n.Kill())
		case faults.Freeze:
			errs = append(errs, n.Pause())
			heals = append(heals, n.Resume)
		case faults.Unlink:
			errs = append(errs, w.trial.group.Stall(ctx, i))
		case faults.Failover:
			errs = append(errs, w.failover(ctx, i))
		case faults.Jump:
			errs = append(errs, n.MoveClock(ctx, a.By))
		case faults.Evict:
			errs = append(errs, n.Evict(ctx, w.trial.storeKey()))
		case faults.Unseat:
			errs = append(errs, w.endSession(ctx, n, a.Waiter))
		default:
			errs = append(errs, fmt.Errorf("unknown action %s", a.Verb))
		}
	}
	w.judgeDelay(a, time.Since(began))
	return effectOf(heals), errors.Join(errs...)
}

// endSession ends the session of the lock's holder or of its last waiter.
func (w *world) endSession(ctx context.Context, n servers.Node, waiter bool) error {
	role := servers.Holder
	if waiter {
		role = servers.LastWaiter
	}
	err := n.EndSession(ctx, w.trial.storeKey(), role)
	if errors.Is(err, servers.ErrNoHolder) || errors.Is(err, servers.ErrNoWaiter) {
		return fmt.Errorf("%w: %w", inject.ErrNoVictim, err)
	}
	return err
}

// effectOf returns an effect whose Heal calls all functions in heals.
func effectOf(heals []func() error) inject.Effect {
	if heals == nil {
		return inject.Effect{}
	}
	return inject.Effect{Heal: func() error { return callAll(heals) }}
}

// judgeDelay discards the trial if an action on servers took too long to show what its plan describes. A restart must
// end before the hold does. Other slow actions can make the holder outlive its lease. Locks without leases are not
// affected. Nor are sessions during a restart, because it ends all of them or starts their time again.
func (w *world) judgeDelay(a faults.Action, took time.Duration) {
	p := w.trial.Params
	var most time.Duration
	switch {
	case w.trial.Partly || a.Verb == faults.Freeze:
		most = w.trial.mayBeLate()
	case a.Verb == faults.Restart && !w.trial.Lock.Session:
		most = min(p.Hold, p.TTL) * 3 / 4
	default:
		return
	}
	if took > most && w.leased() {
		w.stalls.discard(fmt.Sprintf("the %s of a server took %v, with a hold of %v in a lease of %v: a longer --ttl leaves more time",
			a.Verb, took.Round(time.Millisecond), p.Hold, p.TTL))
	}
}

// failover kills the primary and promotes a replica. It returns an error if this takes longer than 3/4 of the lease.
func (w *world) failover(ctx context.Context, to int) error {
	start := time.Now()
	if err := w.trial.group.Nodes[0].Kill(); err != nil {
		return err
	}
	var err error
	if w.scene.Deployment == servers.Sentinel {
		to, err = w.trial.group.AwaitPromotion(ctx)
	} else {
		err = w.trial.group.Promote(ctx, to)
	}
	if err != nil {
		return err
	}
	u, _, err := addressOf(w.trial.group.Nodes[to].URL())
	if err != nil {
		return err
	}
	if w.scene.Deployment != servers.Cluster { // clients of a cluster have a link to every node and find the new primary themselves
		for _, of := range w.links {
			of[0].Upstream(u.Host)
		}
	}
	if took := time.Since(start); took > w.scene.TTL*3/4 {
		return fmt.Errorf("it took %v, and a lease %v", took.Round(time.Millisecond), w.scene.TTL)
	}
	return nil
}

func addressOf(server string) (*url.URL, proxy.Protocol, error) {
	u, err := url.Parse(server)
	switch {
	case err != nil:
		return nil, proxy.Opaque, errors.New("the URL of a server cannot be read")
	case u.Scheme == "rediss":
		return nil, proxy.Opaque, errors.New("faults need a server without TLS, since they disturb the network between clients and servers")
	case u.Scheme == "redis":
		return u, proxy.RESP, nil
	}
	return u, proxy.Opaque, nil
}

func (w *world) network() map[string]float64 {
	sum := map[string]float64{}
	for _, l := range w.Links(-1, nil) {
		c := l.Counters()
		sum["commands"] += float64(c.Commands)
		sum["round_trips"] += float64(c.RoundTrips)
		sum["sent"] += float64(c.Sent)
		sum["received"] += float64(c.Received)
	}
	return sum
}

func (w *world) failed() error {
	var errs []error
	for _, p := range w.processes {
		errs = append(errs, p.Failed())
	}
	return errors.Join(errs...)
}
