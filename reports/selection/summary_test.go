package selection

import (
	"strings"
	"testing"
)

// TestConfidence checks that fewer trials give a lower level of confidence. A trial that disagrees with the lease prediction
// also gives a lower level.
func TestConfidence(t *testing.T) {
	for _, c := range []struct {
		fewest int
		agrees bool
		want   string
	}{{4, true, "low"}, {5, true, "moderate"}, {29, true, "moderate"}, {30, true, "high"}, {30, false, "low"}} {
		r := sample()
		for i := range r.Findings {
			r.Findings[i].Trials = 99
		}
		at := strings.TrimPrefix(finding(r, "fenced"), "P")
		for i, f := range r.Findings {
			if f.ID == "P"+at {
				r.Findings[i].Trials = c.fewest
			}
		}
		for i := range r.Lease.Confirmed {
			r.Lease.Confirmed[i].Agrees = c.agrees
		}
		v := newView(r)
		if level, reason := v.Confidence(); level != c.want || !strings.Contains(reason, "disagrees") != c.agrees {
			t.Errorf("%+v: %s, %s", c, level, reason)
		}
	}
	if level, _ := newView(turnedOut(NoLockNeeded)).Confidence(); level != "not measured" {
		t.Errorf("nothing was tried, and confidence is %s", level)
	}
}

// finding returns the id of the first finding of a lock.
func finding(r *Report, lock string) string {
	for _, f := range r.Findings {
		if f.Lock == lock {
			return f.ID
		}
	}
	return ""
}

// TestGreen checks that a recommendation is green only if no violation was observed and confidence is not low.
func TestGreen(t *testing.T) {
	r := sample()
	for i := range r.Lease.Confirmed {
		r.Lease.Confirmed[i].Agrees = true
	}
	if got := newView(r).Look().Class; got != "good" {
		t.Errorf("a recommendation with confidence is %s", got)
	}
	violated := *r
	violated.Decision.Against = []Cell{{Option: "fenced", Of: "mutual-exclusion", Reason: Violated, Tag: Measured, Evidence: []string{"P1"}}}
	for name, of := range map[string]*Report{"violated": &violated, "a lease disagrees": sample(), "a tie": turnedOut(ATie), "no lock": turnedOut(NoLockNeeded), "nothing": turnedOut(NothingFits)} {
		if newView(of).Look().Class == "good" {
			t.Errorf("%s is green", name)
		}
	}
}

// TestCaveat checks that a pause longer than the lease is the main caveat, unless the guarded resource checks fencing tokens.
func TestCaveat(t *testing.T) {
	r := sample()
	if got := newView(r).caveat(); !strings.HasPrefix(got, "mutual-exclusion is expected") {
		t.Error(got)
	}
	r.Needs.Fence = NoCheck
	if got := newView(r).caveat(); !strings.HasPrefix(got, "If a holder pauses past the end of its lease") || strings.Contains(got, "observed") {
		t.Error(got)
	}
	for i, f := range r.Findings {
		if f.ID == "P1" {
			r.Findings[i].Fault = "process-pause"
		}
	}
	r.Decision.Against = []Cell{{Option: "fenced", Of: "mutual-exclusion", Reason: Violated, Tag: Measured, Evidence: []string{"P1"}}}
	if got := newView(r).caveat(); !strings.Contains(got, "(observed in 9 of 24 trials, lease 2 s)") {
		t.Error(got)
	}
}
