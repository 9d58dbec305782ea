package explore

import (
	"runtime"
	"strings"
	"testing"

	"lockbench/internal/simulate/explore"
	"lockbench/reports/format"
)

// TestJobsFor checks that the lock whose servers need the most processor time limits the number of concurrent trials.
func TestJobsFor(t *testing.T) {
	for _, c := range []struct {
		locks []string
		want  int // for each core
	}{{[]string{"fenced"}, realJobs}, {[]string{"redlock"}, otherJobs}, {[]string{"etcd"}, otherJobs}, {[]string{"zookeeper"}, otherJobs},
		{[]string{"fenced", "etcd"}, otherJobs}} {
		var subjects []explore.Subject
		for _, l := range c.locks {
			subjects = append(subjects, explore.Subject{Lock: l})
		}
		if got := jobsFor(subjects); got != c.want*runtime.NumCPU() {
			t.Errorf("%v: %d trials at once, want %d for each core", c.locks, got, c.want)
		}
	}
}

// TestRatesOfUnconfirmedViolations checks that a violation on real servers is a failure only if a counterexample shows it.
func TestRatesOfUnconfirmedViolations(t *testing.T) {
	failed := []*explore.PropertyResult{{Property: "fencing", Judged: 9, Violated: 1, Expected: 8, Fails: 1}}
	shown := explore.Minimised{Counterexamples: []explore.Counterexample{{Fails: true, Shown: explore.Shown{Violated: []string{"fencing"}}}}}
	for _, c := range []struct {
		servers string
		of      explore.Minimised
		want    string
	}{{"", explore.Minimised{}, "1 of 8 FAIL"}, {"local", explore.Minimised{}, "1 of 8 unconfirmed"}, {"local", shown, "1 of 8 FAIL"}} {
		l := &explore.LockResult{Subject: explore.Subject{Lock: "fenced", Servers: c.servers}, Properties: failed, Minimised: c.of}
		var lines format.Lines
		addRates(&lines, &explore.Result{Locks: []*explore.LockResult{l}})
		if got := lines.String(); !strings.Contains(got, c.want) {
			t.Errorf("on %q servers: %s, want %s", c.servers, got, c.want)
		}
	}
}
