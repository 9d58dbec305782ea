package explore

import (
	"time"

	"lockbench/internal/drive/faults"
)

// priorities gives every process a priority, and has whoever has the lower one come later, always; at a few moments one
// falls behind all others. It is PCT's idea (Burckhardt et al., A Randomized Scheduler with Probabilistic Guarantees of
// Finding Bugs, ASPLOS 2010) with messages in the place of threads: a bug that takes d of them in a certain order is
// met by d-1 changes with a probability that has a bound, where chance alone would rarely come by it.
func priorities() Strategy {
	return Strategy{
		Name: "priorities",
		Doc:  "each process is slower than those before it, in random order, and now and then one falls behind all; at most one fault beside",
		plan: func(s *scene) faults.Plan {
			step := s.between(2*time.Millisecond, ttl/6)
			var p faults.Plan
			if s.allows("slow-network") {
				for rank, process := range s.rand.Perm(s.params.Processes)[1:] {
					p.Steps = append(p.Steps, s.slow(process, time.Duration(rank+1)*step, 0))
				}
				for change := range 1 + s.rand.IntN(2) {
					behind := time.Duration(s.params.Processes+change) * step
					p.Steps = append(p.Steps, s.slow(s.rand.IntN(s.params.Processes), behind, s.own(s.moment())))
				}
			}
			if len(p.Steps) == 0 || s.chance(60) {
				p.Steps = append(p.Steps, s.aim()...)
			}
			return p
		},
	}
}

// slow has everything that a process says, and is told, come later from a time on.
func (s *scene) slow(process int, by, from time.Duration) faults.Step {
	return faults.Step{Name: "slow-network", When: faults.Trigger{Later: from},
		Do: faults.Action{Verb: faults.Slow, Process: process, By: by}, For: s.own(2 * s.params.Duration)}
}
