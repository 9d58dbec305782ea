package inject

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/impls/waiting"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/proxy"
	"lockbench/workloads"
)

// Link is the connection between a process and a server: a proxy.Link or a simulated link.
type Link interface {
	On(proxy.Rule) (cancel func())
	Delay(time.Duration)
	Cut(proxy.Direction)
	Reset() (closed int)
	Idle() bool // whether no command is without its reply
	Counters() proxy.Counters
}

// act carries out an action on processes, servers or network links. It does nothing for an action that a client or the
// proxy carries out.
func (in *Injector) act(ctx context.Context, a faults.Action) (Effect, error) {
	switch a.Verb {
	case faults.Stall, faults.Abandon, faults.GiveUp, faults.Interrupt, faults.Delay, faults.Lose:
		return Effect{}, nil // the client or the proxy carries out these actions
	case faults.Reset:
		return Effect{Heal: func() error { return nil }}, reset(in.world.Links(a.Process, a.Nodes))
	case faults.Cut, faults.Slow, faults.Mute:
		return disturb(a, in.world.Links(a.Process, a.Nodes)), nil
	}
	return in.world.Do(ctx, a)
}

// idle reports whether no command of an action's process is under way to an affected server. If its connections are now closed,
// at most a published message is lost.
func (in *Injector) idle(a faults.Action) bool {
	return !slices.ContainsFunc(in.world.Links(a.Process, a.Nodes), func(l Link) bool { return !l.Idle() })
}

// reset closes all connections of the links. It returns an error if no connection was open.
func reset(links []Link) error {
	closed := 0
	for _, l := range links {
		closed += l.Reset()
	}
	if closed == 0 {
		return errors.New("no connection was open")
	}
	return nil
}

// disturb applies a fault to network links. The effect is verified if a command passes an affected link during the fault. If
// the proxy cannot parse the protocol, a request is enough. For Cut, a dropped end of a stream is also enough. For Mute, a
// message must have been dropped.
func disturb(a faults.Action, links []Link) Effect {
	var begin, end func(Link)
	met := func() (n int64) {
		for _, l := range links {
			c := l.Counters()
			n += c.Commands + c.RoundTrips + c.Swallowed
		}
		return n
	}
	switch a.Verb {
	case faults.Slow:
		begin, end = func(l Link) { l.Delay(a.By) }, func(l Link) { l.Delay(0) }
	case faults.Cut:
		way := proxy.Both
		if a.OneWay {
			way = proxy.ToClient
		}
		begin, end = func(l Link) { l.Cut(way) }, func(l Link) { l.Cut(proxy.Open) }
	case faults.Mute:
		var swallowed atomic.Int64
		drop := func(context.Context, proxy.Command) proxy.Fate {
			swallowed.Add(1)
			return proxy.Drop
		}
		met = swallowed.Load
		rules := map[Link]func(){}
		begin = func(l Link) { rules[l] = l.On(proxy.Rule{Point: proxy.Message, Do: drop}) }
		end = func(l Link) { rules[l]() }
	}
	before := met()
	for _, l := range links {
		begin(l)
	}
	var during atomic.Int64
	heal := sync.OnceFunc(func() {
		during.Store(met() - before)
		for _, l := range links {
			end(l)
		}
	})
	return Effect{Heal: func() error { heal(); return nil }, Seen: func() error {
		if during.Load() == 0 {
			return errors.New("no command was in flight")
		}
		return nil
	}}
}

// arm registers the step with the network links between a process and its servers. The step is carried out when the
// command or reply selected by s.When.On passes one of these links.
func (s *step) arm() {
	on := s.When.On
	point := proxy.Request
	if on.Reply {
		point = proxy.Reply
	}
	for _, l := range s.in.world.Links(on.Process, nil) {
		l.On(proxy.Rule{Commands: on.Commands, Nth: on.Nth, Point: point, Do: s.pass})
	}
}

// hold waits for the delay of the step. If the step has an end in a client's run, the delay ends there at the latest.
func (s *step) hold(ctx context.Context) {
	if s.Until == (workloads.Moment{}) {
		waiting.Pause(ctx, s.Do.By)
		return
	}
	limit, cancel := context.WithTimeout(ctx, s.Do.By)
	defer cancel()
	select {
	case <-s.in.moment(s.Until):
	case <-limit.Done():
	}
}

// pass carries out the step when the command that triggers it passes the proxy.
func (s *step) pass(ctx context.Context, _ proxy.Command) proxy.Fate {
	if !s.claimed.CompareAndSwap(false, true) {
		return proxy.Pass // the step was already triggered by a command on another link
	}
	s.do(s.in.over)
	switch s.Do.Verb {
	case faults.Kill:
		return proxy.Close
	case faults.Lose:
		if s.Do.Silent {
			return proxy.Silent
		}
		return proxy.Close
	case faults.Delay, faults.GiveUp, faults.Interrupt:
		s.hold(ctx)
		s.end()
	}
	return proxy.Pass
}
