package run

import (
	"strings"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/internal/cli/choice"
	"lockbench/workloads"
)

// TestAdapt checks that trials of a slow worker run one at a time and with a longer lease. The flags --jobs and --ttl must
// take precedence.
func TestAdapt(t *testing.T) {
	for what, c := range map[string]struct {
		pace choice.Pace
		set  flags
		jobs int
		ttl  time.Duration
		said bool
	}{
		"fast":             {pace: choice.Pace{Start: 100 * time.Millisecond, Ping: time.Millisecond}},
		"slow start":       {pace: choice.Pace{Start: 2 * time.Second, Ping: time.Millisecond}, jobs: 1, ttl: 1600 * time.Millisecond, said: true},
		"slow answers":     {pace: choice.Pace{Start: time.Millisecond, Ping: 60 * time.Millisecond}, jobs: 1, ttl: 3 * time.Second, said: true},
		"--jobs and --ttl": {pace: choice.Pace{Start: 2 * time.Second, Ping: 60 * time.Millisecond}, set: flags{jobs: 3, faultTTL: time.Second}, jobs: 3, ttl: time.Second, said: true},
	} {
		f := c.set
		f.params = workloads.Defaults()
		f.adapt(&impls.Impl{Name: "x", Program: &impls.Program{}}, c.pace)
		if f.jobs != c.jobs || f.faultTTL != c.ttl || (len(f.notes) > 0) != c.said || c.said && !strings.Contains(f.notes[0], "--jobs") {
			t.Errorf("%s: --jobs %d --ttl %v, %q", what, f.jobs, f.faultTTL, f.notes)
		}
	}
}
