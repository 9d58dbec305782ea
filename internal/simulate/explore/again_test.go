package explore

import "testing"

// TestAgain checks that a violation whose history differs in a second run is repeated, and is not shown if it does not show again.
func TestAgain(t *testing.T) {
	s := Subject{Lock: "set-px-lua"}
	for seed := uint64(0); ; seed++ {
		found, err := s.Try(seed)
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Violated) == 0 {
			continue
		}
		c, _, err := s.Choose(seed)
		if err != nil {
			t.Fatal(err)
		}
		x, run, rate, err := again(c, found, found.Violated[0])
		if err != nil || !x.repeats() || run == nil || rate != nil {
			t.Errorf("the same history: repeats %t, run %v, rate %v, error %v", x.repeats(), run, rate, err)
		}
		found.Digest = "another"
		x, run, rate, err = again(c, found, found.Violated[0])
		if err != nil || x.repeats() || run == nil || rate.Shows != confirming {
			t.Errorf("another history: repeats %t, run %v, rate %+v, error %v", x.repeats(), run, rate, err)
		}
		x, run, _, err = again(c, found, "progress")
		if err != nil || x.repeats() || run != nil {
			t.Errorf("another violation: run %v, error %v", run, err)
		}
		return
	}
}
