package explore

import (
	"testing"

	"lockbench/internal/drive/faults"
)

// TestChoices checks that the search draws each of its rarer choices: clients that stop, a longer lease, an acquire whose context is
// cancelled, and many clients that meet on one key without a fault.
func TestChoices(t *testing.T) {
	s := Subject{Lock: "redisson"}
	var stop, long, context, meet int
	const seeds = 600
	for seed := range uint64(seeds) {
		c, name, err := s.Choose(seed)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Plan.Turns) == c.Params.Clients {
			stop++
		}
		if c.Params.TTL == 4*ttl {
			long++
		}
		for _, step := range c.Plan.Steps {
			if step.Do.Verb == faults.GiveUp && step.Do.Context {
				context++
			}
		}
		if name == "staged" && c.Params.Clients > 5 && len(c.Plan.Steps) == 0 {
			meet++
		}
	}
	if stop < seeds/5 || long < seeds/10 || context == 0 || meet == 0 {
		t.Errorf("of %d cases: clients stop in %d, the lease is longer in %d, a context is cancelled in %d, many clients meet in %d", seeds, stop, long, context, meet)
	}
}
