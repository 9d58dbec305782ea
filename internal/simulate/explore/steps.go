package explore

import (
	"slices"
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// maker makes steps of one kind, around a client: the trigger is somebody else's choice where it is left zero.
type maker struct {
	name string // of the step in the record: that of the fault of the table that it is an instance of, where there is one
	on   string // "": everywhere; five, replica: on deployments of that kind; notifies: for locks that do
	make func(*scene, int32) []faults.Step
}

// makers are all kinds of steps, but for those that are made of a command on its way: see passing.
func makers() []maker {
	return []maker{
		{"holder-stall", "", func(s *scene, c int32) []faults.Step {
			return []faults.Step{{When: s.upon(c, workloads.Granted), Do: faults.Action{Verb: faults.Stall, Client: c, By: s.around()}}}
		}},
		{"holder-abandon", "", func(s *scene, c int32) []faults.Step {
			return []faults.Step{{When: s.upon(c, workloads.Granted), Do: faults.Action{Verb: faults.Abandon, Client: c}}}
		}},
		{"process-pause", "", func(s *scene, c int32) []faults.Step {
			return []faults.Step{{Do: faults.Action{Verb: faults.Pause, Process: s.processOf(c)}, For: s.own(s.around())}}
		}},
		{"holder-kill", "", func(s *scene, c int32) []faults.Step {
			return []faults.Step{{Do: faults.Action{Verb: faults.Kill, Process: s.processOf(c)}}}
		}},
		{"partition", "", func(s *scene, c int32) []faults.Step {
			return []faults.Step{{Do: faults.Action{Verb: faults.Cut, Process: s.processOf(c), Nodes: s.nodes(3)}, For: s.own(s.around())}}
		}},
		{"partition-one-way", "", func(s *scene, c int32) []faults.Step {
			return []faults.Step{{Do: faults.Action{Verb: faults.Cut, Process: s.processOf(c), Nodes: s.nodes(3), OneWay: true}, For: s.own(s.around())}}
		}},
		{"slow-network", "", func(s *scene, c int32) []faults.Step {
			return []faults.Step{{Do: faults.Action{Verb: faults.Slow, Process: s.processOf(c), Nodes: s.nodes(5), By: s.between(time.Millisecond, ttl/3)}, For: s.own(s.around())}}
		}},
		{"lost-wakeup", "notifies", func(s *scene, c int32) []faults.Step {
			return []faults.Step{{Do: faults.Action{Verb: faults.Mute, Process: s.processOf(c)}, For: s.own(s.around())}}
		}},
		{"server-restart", "one", restarting},
		{"node-restart", "five", restarting},
		{"minority-down", "five", func(s *scene, _ int32) []faults.Step {
			nodes := s.nodes(2)
			if s.down += len(nodes); s.down > 2 {
				return nil // a majority must be left
			}
			return []faults.Step{{Do: faults.Action{Verb: faults.Down, Nodes: nodes}}}
		}},
		{"server-pause", "", func(s *scene, _ int32) []faults.Step {
			return []faults.Step{{Do: faults.Action{Verb: faults.Freeze, Nodes: s.nodes(2)}, For: s.own(s.around())}}
		}},
		{"clock-forward", "", func(s *scene, _ int32) []faults.Step {
			return []faults.Step{{Do: faults.Action{Verb: faults.Jump, Nodes: s.nodes(2), By: s.around()}}}
		}},
		{"clock-back", "", func(s *scene, _ int32) []faults.Step {
			return []faults.Step{{Do: faults.Action{Verb: faults.Jump, Nodes: s.nodes(2), By: -s.around()}}}
		}},
		{"clock-drift", "", func(s *scene, _ int32) []faults.Step {
			by := s.between(10*time.Millisecond, time.Second)
			if s.chance(30) {
				by = -by / 2
			}
			return []faults.Step{{Do: faults.Action{Verb: faults.Drift, Nodes: s.nodes(3), By: by}, For: s.own(2 * s.around())}}
		}},
		{"eviction", "one", func(s *scene, _ int32) []faults.Step {
			return []faults.Step{{Do: faults.Action{Verb: faults.Evict, Nodes: []int{0}}}}
		}},
		{"failover", "replica", func(s *scene, c int32) []faults.Step {
			if s.promoted {
				return nil // there is no other replica
			}
			s.promoted = true
			over := faults.Step{Do: faults.Action{Verb: faults.Failover, Nodes: []int{1}}}
			if s.chance(25) {
				return []faults.Step{over} // the replica knows all
			}
			return []faults.Step{{When: s.upon(c, workloads.Asking), Do: faults.Action{Verb: faults.Unlink, Nodes: []int{1}}}, over}
		}},
	}
}

// restarting is a server that comes back, at once or later, with nothing or with all that it knew. Where it was
// deployed with delay it stays away until every lease is over.
func restarting(s *scene, _ int32) []faults.Step {
	step := faults.Step{Do: faults.Action{Verb: faults.Restart, Nodes: s.nodes(3), Keeps: s.chance(20)}}
	away := time.Duration(0)
	if s.chance(50) {
		away = s.around()
	}
	if s.deployment == "five-delayed" {
		away = max(away, ttl*5/4)
	}
	if away > 0 {
		step.For = s.own(away)
		step.Do.By = step.For
	}
	return []faults.Step{step}
}

// passing are the kinds of steps that befall one command of a client, or its reply, on its way.
func passing() []maker {
	return []maker{
		{"slow-network", "", func(s *scene, c int32) []faults.Step {
			by := s.around()
			return []faults.Step{{Do: faults.Action{Verb: faults.Delay, Client: c, Process: s.processOf(c), By: by}, For: s.own(by)}}
		}},
		{"lost-reply", "", func(s *scene, c int32) []faults.Step {
			return []faults.Step{{When: faults.Trigger{On: &faults.Passing{Reply: true}}, Do: faults.Action{Verb: faults.Lose, Client: c, Process: s.processOf(c), Silent: s.chance(30)}}}
		}},
		{"cancelled-acquire", "", func(s *scene, c int32) []faults.Step {
			by := s.around()
			return []faults.Step{{When: faults.Trigger{At: s.upon(c, workloads.Asking).At, On: &faults.Passing{Reply: true}},
				Do: faults.Action{Verb: faults.GiveUp, Client: c, Process: s.processOf(c), Wait: s.between(time.Millisecond, ttl/4), By: by}, For: s.own(by)}}
		}},
	}
}

// named fills in the names of steps, and leaves out what the subject does not allow or the deployment cannot show.
func (s *scene) named(m maker, c int32) []faults.Step {
	switch {
	case !s.allows(m.name),
		m.on == "five" && !s.several(), m.on == "one" && s.several(),
		m.on == "replica" && s.deployment != "replica", m.on == "notifies" && !s.lock.Notifies:
		return nil
	}
	steps := m.make(s, c)
	for i := range steps {
		steps[i].Name = m.name
	}
	return steps
}

// allows tells whether steps of that name may be chosen.
func (s *scene) allows(name string) bool {
	return len(s.allowed) == 0 || slices.Contains(s.allowed, name)
}

// some returns steps of any of those kinds, around a client; none where nothing fits.
func (s *scene) some(of []maker, c int32) []faults.Step {
	for _, i := range s.rand.Perm(len(of)) {
		if steps := s.named(of[i], c); len(steps) > 0 {
			return steps
		}
	}
	return nil
}

// upon is a moment of a client, in one of its first iterations.
func (s *scene) upon(c int32, p workloads.Point) faults.Trigger {
	return faults.Trigger{At: workloads.Moment{Client: c, Iteration: s.iteration(), Point: p}}
}

// StepNames are the names of all kinds of steps, as they stand in the record.
func StepNames() []string {
	var all []string
	for _, m := range slices.Concat(makers(), passing()) {
		if !slices.Contains(all, m.name) {
			all = append(all, m.name)
		}
	}
	slices.Sort(all)
	return all
}
