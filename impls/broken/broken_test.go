package broken_test

import (
	"slices"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/checker/judge"
	"lockbench/histories"
	"lockbench/impls"
	"lockbench/impls/broken"
	"lockbench/impls/redis"
	"lockbench/internal/simulate/sim"
	"lockbench/workloads"
)

// TestBrokenLocks runs each broken lock in virtual time, in the workloads of its expectations. The judge must detect each
// expected violation. In the same trials, correct locks must not violate the property.
func TestBrokenLocks(t *testing.T) {
	if err := sim.Supported(); err != nil {
		t.Skip(err)
	}
	correct := []impls.Impl{redis.SetPXLua(), redis.Redisson(), redis.Fenced(), redis.RedLock()}
	for _, lock := range broken.All() {
		t.Run(lock.Name, func(t *testing.T) {
			for _, e := range lock.Expect {
				if e.Expected != histories.ToBeViolated {
					continue
				}
				workload := "counter"
				if e.Workload != "" {
					workload = e.Workload
				}
				v := record(t, lock, workload)
				if f := v.Finding(e.Property); f.Observed != checker.Violated {
					t.Errorf("%s in %s: %s (%s %s), want violated", e.Property, workload, f.Observed, f.Why, f.Evidence)
				}
				for _, c := range correct {
					if f := record(t, c, workload).Finding(e.Property); f.Observed == checker.Violated {
						t.Errorf("%s in %s: %s", c.Name, workload, f.Witness.Sentence)
					}
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
