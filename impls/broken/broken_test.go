package broken_test

import (
	"slices"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/checker/judge"
	"lockbench/impls"
	"lockbench/impls/broken"
	"lockbench/impls/redis"
	"lockbench/internal/simulate/sim"
	"lockbench/workloads"
)

// TestBrokenLocks runs each broken lock in virtual time. The judge must find that it violates a property. Correct locks must not
// violate the property in the same trial.
func TestBrokenLocks(t *testing.T) {
	if err := sim.Supported(); err != nil {
		t.Skip(err)
	}
	shows := map[string]struct{ property, workload string }{
		"broken-false-refusal":   {"truthful-answer", "counter"},
		"broken-sleeping-waiter": {"prompt-hand-off", "counter"},
		"broken-three-tries":     {"wait-honoured", "counter"},
		"broken-slow-release":    {"responsive", "counter"},
		"broken-late-acquire":    {"abandoned-acquire", "long-hold"},
		"broken-silent-watchdog": {"loss-notice", "long-hold"},
	}
	for _, lock := range broken.All() {
		t.Run(lock.Name, func(t *testing.T) {
			c, ok := shows[lock.Name]
			if lock.Name == "broken-short-lease" {
				t.Skip("virtual time does not observe the store: TestObservedTrial of drive/trial detects it")
			}
			if !ok {
				t.Fatal("no property is known that it violates")
			}
			if f := record(t, lock, c.workload).Finding(c.property); f.Observed != checker.Violated {
				t.Errorf("%s in %s: %s (%s %s), want violated", c.property, c.workload, f.Observed, f.Why, f.Evidence)
			}
			for _, correct := range []impls.Impl{redis.SetPXLua(), redis.Redisson(), redis.Fenced(), redis.RedLock()} {
				if f := record(t, correct, c.workload).Finding(c.property); f.Observed == checker.Violated {
					t.Errorf("%s in %s: %s", correct.Name, c.workload, f.Witness.Sentence)
				}
			}
		})
	}
}

func record(t *testing.T, lock impls.Impl, workload string) *checker.Verdict {
	t.Helper()
	all := workloads.All()
	w := all[slices.IndexFunc(all, func(w workloads.Workload) bool { return w.Name == workload })]
	p := workloads.Defaults()
	p.Clients, p.Duration = 4, 2*time.Second
	r, err := sim.Trial{Lock: lock, Workload: w, Params: w.Adapted(p), LockParams: map[string]string{"wait": "backoff"}, Fault: "none"}.Record()
	if err != nil {
		t.Fatal(err)
	}
	v, err := judge.History(r.Header, r.Source(), judge.Options{NoOracle: true})
	if err != nil {
		t.Fatal(err)
	}
	return v
}
