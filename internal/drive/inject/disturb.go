package inject

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/impls/waiting"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/proxy"
)

// Link is the way between a process and a server: a proxy, or what stands for one.
type Link interface {
	On(proxy.Rule) (cancel func())
	Delay(time.Duration)
	Cut(proxy.Direction)
	Counters() proxy.Counters
}

// act carries an action out. What is done where a command passes the network is done there: see step.arm.
func (in *Injector) act(ctx context.Context, a faults.Action) (Effect, error) {
	switch a.Verb {
	case faults.Stall, faults.Abandon, faults.GiveUp, faults.Delay, faults.Lose:
		return Effect{}, nil // the client's own doing, or the network's
	case faults.Cut, faults.Slow, faults.Mute:
		return disturb(a, in.world.Links(a.Process, a.Nodes)), nil
	}
	return in.world.Do(ctx, a)
}

// disturb does something to the network. It takes effect with the first command that meets it, of a protocol whose
// commands are not known with the first request; a cut also with the end of a connection that it swallows.
func disturb(a faults.Action, links []Link) Effect {
	each := func(do func(Link)) {
		for _, l := range links {
			do(l)
		}
	}
	met := func() (n int64) {
		each(func(l Link) {
			c := l.Counters()
			n += c.Commands + c.RoundTrips + c.Swallowed
		})
		return n
	}
	before := met()
	heal := func() error { return nil }
	switch a.Verb {
	case faults.Slow:
		each(func(l Link) { l.Delay(a.By) })
		heal = func() error { each(func(l Link) { l.Delay(0) }); return nil }
	case faults.Cut:
		way := proxy.Both
		if a.OneWay {
			way = proxy.ToClient
		}
		each(func(l Link) { l.Cut(way) })
		heal = func() error { each(func(l Link) { l.Cut(proxy.Open) }); return nil }
	case faults.Mute:
		var swallowed atomic.Int64
		met, before = swallowed.Load, 0
		each(func(l Link) {
			l.On(proxy.Rule{Point: proxy.Message, Do: func(context.Context, proxy.Command) proxy.Fate {
				swallowed.Add(1)
				return proxy.Drop
			}})
		})
	}
	var during atomic.Int64
	healed := sync.OnceValue(func() error {
		during.Store(met() - before)
		return heal()
	})
	return Effect{Heal: healed, Seen: func() error {
		if during.Load() == 0 {
			return errors.New("nothing was on its way that it could have befallen")
		}
		return nil
	}}
}

// arm has a step wait for a command, or its reply, that is to pass the network of a process.
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

// pass is called with the command held: what a step does there, it does before anything goes on.
func (s *step) pass(ctx context.Context, _ proxy.Command) proxy.Fate {
	if !s.claimed.CompareAndSwap(false, true) {
		return proxy.Pass // several servers were asked, and one is enough
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
	case faults.Delay, faults.GiveUp:
		waiting.Pause(ctx, s.Do.By)
		s.end()
	}
	return proxy.Pass
}
