package explore

import "lockbench/internal/drive/faults"

// uniform returns a plan of one to four faults of any kind at random times.
func uniform(s *scene) (p faults.Plan) {
	for range 1 + s.rand.IntN(4) {
		for _, step := range s.chooseFault(makers(), s.client()) {
			if step.When == (faults.Trigger{}) {
				step.When.Later = s.uniqueDuration(s.moment())
			}
			p.Steps = append(p.Steps, step)
		}
	}
	return p
}
