package explore

import (
	"sync"
	"testing"

	"lockbench/checker"
)

// rare is a runner in which a property is violated in the given number of the first trials.
type rare struct {
	property string
	mu       sync.Mutex
	shows    int
}

func (x *rare) run(c Case) (*Run, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.shows--
	f := checker.Finding{Property: x.property, Observed: checker.Held}
	if x.shows >= 0 {
		f.Observed = checker.Violated
	}
	return &Run{Case: c, Verdict: &checker.Verdict{Findings: []checker.Finding{f}}}, nil
}

func (*rare) repeats() bool { return false }

// TestConfirm checks how often a violation must show again. A busy machine may explain a single answer that is late.
func TestConfirm(t *testing.T) {
	for _, c := range []struct {
		property string
		shows    int
		want     bool
	}{{"lease-exclusion", 0, false}, {"lease-exclusion", 1, true}, {"wait-honoured", 1, false}, {"wait-honoured", 2, true}} {
		found, rate, err := confirm(&rare{property: c.property, shows: c.shows}, usualCase("set-px-lua", 1), c.property)
		if err != nil || (found != nil) != c.want || rate.Shows != c.shows || rate.Trials != confirming {
			t.Errorf("%s, violated in %d trials: confirmed %t, %+v, %v", c.property, c.shows, found != nil, rate, err)
		}
	}
}
