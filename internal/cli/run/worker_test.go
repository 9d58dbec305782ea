package run

import (
	"strings"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/impls/worker"
	"lockbench/workloads"
)

// TestApply checks that a worker's description of its lock determines the capabilities and the lease times of the lock.
func TestApply(t *testing.T) {
	own := impls.Impl{Program: &impls.Program{}}
	apply(&own, worker.Ready{Version: 2, Name: "x", BackOffMS: 20, ShortestMS: 1000, StepMS: 1000, StartMS: 3000,
		Capabilities: []string{worker.CanRenewSelf, worker.CanReenter, worker.CanWait, worker.IsSession}})
	p := own.Program
	if !own.Renews || !own.Reentrant || !own.Session || own.Fences || own.Notifies || !p.SilentRenewals || !p.WaitsInside || !p.CannotCancel || p.Rereleases || p.Start != 3*time.Second {
		t.Errorf("%+v, %+v", own, p)
	}
	for asked, want := range map[time.Duration]time.Duration{0: time.Second, 300 * time.Millisecond: time.Second, time.Second: time.Second, 1100 * time.Millisecond: 2 * time.Second} {
		if got := own.Granting(asked); got != want {
			t.Errorf("a lease of %v for %v, want %v", got, asked, want)
		}
	}
	old := impls.Impl{Program: &impls.Program{}}
	apply(&old, worker.Ready{Version: 1, Name: "x", Capabilities: []string{worker.CanRenewSelf}})
	if old.Program.SilentRenewals || old.Program.CannotCancel {
		t.Errorf("a worker of version 1 reports its renewals and may support a cancel: %+v", old.Program)
	}
}

// TestAdapt checks that trials of a slow worker run one at a time and with a longer lease. The flags --jobs and --ttl must
// take precedence.
func TestAdapt(t *testing.T) {
	for what, c := range map[string]struct {
		pace pace
		set  flags
		jobs int
		ttl  time.Duration
		said bool
	}{
		"fast":             {pace: pace{100 * time.Millisecond, time.Millisecond}},
		"slow start":       {pace: pace{2 * time.Second, time.Millisecond}, jobs: 1, ttl: slowTTL, said: true},
		"slow answers":     {pace: pace{time.Millisecond, 60 * time.Millisecond}, jobs: 1, ttl: 3 * time.Second, said: true},
		"--jobs and --ttl": {pace: pace{2 * time.Second, 60 * time.Millisecond}, set: flags{jobs: 3, faultTTL: time.Second}, jobs: 3, ttl: time.Second, said: true},
	} {
		f := c.set
		f.params = workloads.Defaults()
		f.adapt(&impls.Impl{Name: "x", Program: &impls.Program{}}, c.pace)
		if f.jobs != c.jobs || f.faultTTL != c.ttl || (len(f.notes) > 0) != c.said || c.said && !strings.Contains(f.notes[0], "--jobs") {
			t.Errorf("%s: --jobs %d --ttl %v, %q", what, f.jobs, f.faultTTL, f.notes)
		}
	}
}
