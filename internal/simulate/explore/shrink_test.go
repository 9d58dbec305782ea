package explore

import (
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/internal/drive/faults"
	"lockbench/internal/simulate/sim"
)

// excused is a runner in which every case violates the property "excludes". This property is expected to hold only if a
// process is killed.
type excused struct{ repeatable bool }

func (x excused) run(c Case) (*Run, error) {
	r := &Run{Case: c, Recorded: sim.Recorded{Memory: new(histories.Memory)}, Verdict: &checker.Verdict{Findings: []checker.Finding{{Property: "excludes", Observed: checker.Violated}}}}
	for _, step := range c.Plan.Steps {
		if step.Do.Verb == faults.Kill {
			r.Header.Expectations = []histories.Expectation{{Property: "excludes", Expected: histories.ToHold}}
		}
	}
	return r, nil
}

func (x excused) repeats() bool { return x.repeatable }

// TestShrinkKeepsExpectation checks that a failure stays a failure when it is minimised. A case in which the violation
// is expected must not replace it.
func TestShrinkKeepsExpectation(t *testing.T) {
	for _, x := range []excused{{repeatable: true}, {repeatable: false}} {
		c := usualCase("set-px-lua", 1)
		kill := faults.Step{Do: faults.Action{Verb: faults.Kill}}
		c.Plan = faults.Plan{Steps: []faults.Step{{Do: faults.Action{Verb: faults.Pause}, For: time.Second}, kill}}
		r, err := x.run(c)
		if err != nil {
			t.Fatal(err)
		}
		small := r.shrink(x, "excludes", 2, time.Now().Add(time.Hour))
		if !small.expects("excludes") || len(small.Plan.Steps) != 1 {
			t.Errorf("repeatable %v: minimised to %+v", x.repeatable, small.Plan.Steps)
		}
		tryValues(small, []bool{false, true}, func(c *Case, kills bool) {
			c.Params.Hold += time.Millisecond
			if !kills {
				c.Plan.Steps = nil
			}
		})
		if !small.expects("excludes") {
			t.Errorf("repeatable %v: of two values that one was chosen with which the violation is expected", x.repeatable)
		}
	}
}
