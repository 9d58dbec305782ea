package choice

import (
	"strings"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/impls/worker"
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

// TestWorkerThatCannotBeMeant checks that lockbench reports an error if the first line of a worker contains an unknown
// name.
func TestWorkerThatCannotBeMeant(t *testing.T) {
	for want, r := range map[string]worker.Ready{
		"has that name already":       {Name: "none"},
		"did you mean fencing?":       {Name: "x", Expectations: []worker.Expectation{{Property: "fencin"}}},
		"did you mean process-pause?": {Name: "x", Expectations: []worker.Expectation{{Property: "fencing", Fault: "proces-pause"}}},
		"did you mean counter?":       {Name: "x", Expectations: []worker.Expectation{{Property: "fencing", Workload: "count"}}},
	} {
		if err := checkReady(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", r, err, want)
		}
	}
	if err := checkReady(worker.Ready{Name: "x", Expectations: []worker.Expectation{{Property: "fencing"}}}); err != nil {
		t.Error(err)
	}
}
