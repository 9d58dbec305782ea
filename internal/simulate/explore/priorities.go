package explore

import (
	"time"

	"lockbench/internal/drive/faults"
)

// priorities returns a plan that delays the messages of each process by a different time. Once or twice, a random
// process becomes the slowest. Often the plan has another fault too.
//
// The strategy is PCT (probabilistic concurrency testing), applied to messages instead of threads. Source: Burckhardt et
// al., A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs, ASPLOS 2010.
func priorities(s *scene) (p faults.Plan) {
	step := s.randomDuration(2*time.Millisecond, s.params.TTL/6)
	if s.allows("slow-network") {
		for rank, process := range s.rand.Perm(s.params.Processes)[1:] {
			p.Steps = append(p.Steps, s.slow(process, time.Duration(rank+1)*step, 0))
		}
		for change := range 1 + s.rand.IntN(2) {
			behind := time.Duration(s.params.Processes+change) * step
			p.Steps = append(p.Steps, s.slow(s.rand.IntN(s.params.Processes), behind, s.uniqueDuration(s.moment())))
		}
	}
	if len(p.Steps) == 0 || s.chance(60) {
		p.Steps = append(p.Steps, s.aim()...)
	}
	return p
}

// slow returns a step that delays all messages of a process by a duration. It begins at the time from.
func (s *scene) slow(process int, by, from time.Duration) faults.Step {
	return faults.Step{Name: "slow-network", When: faults.Trigger{Later: from},
		Do: faults.Action{Verb: faults.Slow, Process: process, By: by}, For: s.uniqueDuration(2 * s.params.Duration)}
}
