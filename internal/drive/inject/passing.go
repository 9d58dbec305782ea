package inject

import (
	"context"

	"lockbench/impls/waiting"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/proxy"
)

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
