package explore

import (
	"slices"

	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// aimed returns a plan of one or two faults at critical moments. Such moments are the start and the end of a hold, the time
// just before a renewal, and the times when commands or replies are in transit.
func aimed(s *scene) (p faults.Plan) {
	for range 1 + s.rand.IntN(2) {
		p.Steps = append(p.Steps, s.aim()...)
	}
	return p
}

// aim returns the steps of a fault plan that inject one fault at a critical moment. The moment is in one of the first
// iterations of a client.
func (s *scene) aim() []faults.Step {
	c := s.client()
	when := s.trigger(c)
	kinds := makers()
	if when.On != nil {
		kinds = slices.Concat(passing(), passing(), kinds)
	}
	steps := s.some(kinds, c)
	for i := range steps {
		switch have := steps[i].When; {
		case have == (faults.Trigger{}):
			steps[i].When = when
		case have.On != nil && when.On != nil: // the trigger selects the command; the step selects whether the fault affects the command or its reply
			on := *when.On
			on.Reply = have.On.Reply
			if steps[i].When.On = &on; have.At == (workloads.Moment{}) {
				steps[i].When.At = when.At
			}
		}
		if on := steps[i].When.On; on != nil {
			on.Process = s.processOf(c)
		}
	}
	return s.narrow(c, when, steps)
}

// trigger returns a trigger that fires at a random point of a client's iteration. With a probability of 50 %, it fires at a
// command or reply after this point instead.
func (s *scene) trigger(c int32) faults.Trigger {
	t := s.upon(c, points[s.rand.IntN(len(points))])
	if s.chance(50) {
		t.On = &faults.Passing{Process: s.processOf(c), Nth: 1 + s.rand.IntN(2), Reply: s.chance(50)}
	}
	return t
}

// narrow may add a step before the given steps, so that only three of five servers grant the affected hold. The added step
// cuts the client off from the other two servers during the acquire.
func (s *scene) narrow(c int32, when faults.Trigger, steps []faults.Step) []faults.Step {
	if !s.several() || !s.allows("partition") || when.At.Point == workloads.Asking || len(steps) == 0 || s.chance(40) {
		return steps
	}
	cut := s.rand.Perm(5)[:2]
	granted := workloads.Moment{Client: c, Iteration: when.At.Iteration, Point: workloads.Granted}
	before := faults.Step{Name: "partition", Do: faults.Action{Verb: faults.Cut, Process: s.processOf(c), Nodes: cut}, Until: granted}
	if granted.Iteration > 0 {
		before.When.At = workloads.Moment{Client: c, Iteration: granted.Iteration, Point: workloads.Asking}
	}
	return append([]faults.Step{before}, steps...)
}
