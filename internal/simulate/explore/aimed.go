package explore

import (
	"slices"
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// aimed returns a plan of one to three faults at critical moments. These are the start and the end of a hold, the time
// just before a renewal, and the times when commands or replies are in transit.
func aimed(s *scene) (p faults.Plan) {
	for range 1 + s.rand.IntN(3) {
		p.Steps = append(p.Steps, s.aim()...)
	}
	return p
}

// aim returns the steps of a fault plan that inject one fault at a critical moment. The moment is in one of the first
// iterations of a client. The fault affects this client or another client.
func (s *scene) aim() []faults.Step {
	if s.several() && s.chance(8) {
		if steps := s.silentFromStart(); steps != nil {
			return steps
		}
	}
	c := s.client()
	victim := c
	if s.chance(35) {
		victim = s.another(c)
	}
	when := s.trigger(c, victim)
	kinds := makers()
	if when.On != nil {
		kinds = slices.Concat(commandMakers(), commandMakers(), kinds)
	}
	steps := s.chooseFault(kinds, victim)
	for i := range steps {
		switch have := steps[i].When; {
		case have == (faults.Trigger{}):
			steps[i].When = when
		case have.On != nil && when.On != nil: // keep the step's choice between the command and its reply
			on := *when.On
			on.Reply = have.On.Reply
			if steps[i].When.On = &on; have.At == (workloads.Moment{}) {
				steps[i].When.At = when.At
			}
		}
	}
	return s.narrow(c, when, steps)
}

// trigger returns a trigger that fires at a random point in an iteration of client c. In half of the cases it fires
// later, at a command or reply of the victim's process. In 15 % of the cases it fires at a fraction of the lease after a
// grant.
func (s *scene) trigger(c, victim int32) faults.Trigger {
	t := s.triggerAt(c, points[s.rand.IntN(len(points))])
	switch n := s.rand.IntN(100); {
	case n < 50:
		t.On = &faults.Passing{Process: s.processOf(victim), Commands: s.commands(), Nth: 1 + min(s.rand.IntN(6), s.rand.IntN(6)), Reply: s.chance(50)}
	case n < 65:
		t.At.Point = workloads.Granted
		t.Later = s.uniqueDuration(s.params.TTL * time.Duration(10+s.rand.IntN(141)) / 100)
	}
	return t
}

// commands returns names of Redis commands that a trigger counts, or nil for any command. Most locks release and renew
// with scripts.
func (s *scene) commands() []string {
	if s.lock.Store != "redis" || s.chance(50) {
		return nil
	}
	groups := [][]string{{"SET", "SETNX", "EVAL", "EVALSHA"}, {"SET", "SETNX", "EVAL", "EVALSHA"}, {"EVAL", "EVALSHA"}, {"EVAL", "EVALSHA"},
		{"GET", "DEL", "PEXPIRE"}}
	if s.lock.Notifies {
		groups = append(groups, []string{"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE"}, []string{"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE"}, []string{"PUBLISH"})
	}
	if s.real { // add commands that locks in other programs use
		groups = append(groups, []string{"BLPOP", "BRPOP"}, []string{"HSET", "HINCRBY", "PEXPIRE", "EXPIRE"}, []string{"PUBSUB", "CLIENT", "UNSUBSCRIBE"})
	}
	return groups[s.rand.IntN(len(groups))]
}

// silentFromStart returns a step that makes one or two servers silent before the clients start. It affects all
// processes. If the subject does not allow this fault, silentFromStart returns nil.
func (s *scene) silentFromStart() []faults.Step {
	step := faults.Step{Name: "server-pause", Do: faults.Action{Verb: faults.Freeze, Nodes: s.nodes(2)}, For: s.uniqueDuration(s.params.Duration)}
	if s.chance(50) {
		step.Name, step.Do.Verb, step.Do.Process = "partition", faults.Cut, -1
	}
	if !s.allows(step.Name) {
		return nil
	}
	return []faults.Step{step}
}

// narrow may add a step before the other steps. The added step cuts the client off from two of five servers during the
// acquire. Then only three servers grant the affected hold.
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
