package explore

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// habitual returns a case in which clients have one habit. Its fault is harmless. Without any fault, nothing would be
// judged.
func habitual(lock, deployment string, clients int, h workloads.Habit) Case {
	p := workloads.Defaults()
	p.Clients, p.Processes, p.TTL, p.Hold, p.Think = clients, clients, ttl, ttl/2, 20*time.Millisecond
	p.Duration, p.Grace, p.Habits = 8*ttl, 6*ttl, []workloads.Habit{h}
	c := Case{Lock: lock, Deployment: deployment, Workload: "varied", Params: p, LockParams: map[string]string{"wait": "backoff"}}
	for i := range uint64(5) {
		c.Plan.Steps = append(c.Plan.Steps, faults.Step{Name: "holder-stall",
			When: faults.Trigger{At: workloads.Moment{Iteration: i, Point: workloads.Granted}}, Do: faults.Action{Verb: faults.Stall, By: ttl / 10}})
	}
	return c
}

// TestHabits checks each habit with a correct lock. The history must show the habit, and no property may be violated.
func TestHabits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	of := func(k histories.Kind, o histories.Outcome) func([]histories.Op) bool {
		return func(ops []histories.Op) bool {
			return slices.ContainsFunc(ops, func(op histories.Op) bool { return op.Kind == k && op.Outcome == o && op.Client < 3 })
		}
	}
	granted := func(is func(histories.Op) bool) func([]histories.Op) bool {
		return func(ops []histories.Op) bool {
			return slices.ContainsFunc(ops, func(op histories.Op) bool {
				return op.Kind == histories.Acquire && op.Outcome == histories.OK && op.Client < 3 && is(op)
			})
		}
	}
	for _, c := range []struct {
		lock, deployment string
		habit            workloads.Habit
		judged           string // property that must hold
		seen             func([]histories.Op) bool
	}{
		{"set-px-lua", "single", workloads.Tries, "lease-exclusion", of(histories.Acquire, histories.Refused)},
		{"set-px-lua", "single", workloads.TimesOut, "lease-exclusion", of(histories.Acquire, histories.Refused)},
		{"set-px-lua", "single", workloads.Idles, "lease-exclusion", idled},
		{"fenced", "single", workloads.HoldsLong, "renewal", heldLong},
		{"set-px-lua", "single", workloads.VariesLease, "lease-exclusion", granted(func(op histories.Op) bool { return op.Validity < ttl })},
		{"redisson", "single", workloads.Nests, "reentrancy", granted(func(op histories.Op) bool { return op.Depth == 2 })},
		{"set-px-lua", "single", workloads.TriesHeld, "mutual-exclusion", of(histories.Acquire, histories.Refused)},
		{"redlock", "five", workloads.Renews, "renewal", of(histories.Renew, histories.OK)},
		{"set-px-lua", "single", workloads.ReleasesTwice, "owner-release", of(histories.Release, histories.Refused)},
		{"set-px-lua", "single", workloads.ReleasesEarlier, "owner-release", of(histories.Release, histories.Refused)},
		{"set-px-lua", "single", workloads.ReleasesLate, "owner-release", of(histories.Release, histories.Refused)},
		{"set-px-lua", "single", workloads.LetsExpire, "lease-exclusion", expired},
		{"set-px-lua", "single", workloads.MeetsRenewals, "lease-exclusion", of(histories.Release, histories.OK)},
		{"fenced", "single", workloads.NamesOddly, "lease-exclusion", of(histories.Release, histories.OK)},
		{"set-px-lua", "single", workloads.HoldsTwo, "lease-exclusion", heldTwo},
	} {
		x := habitual(c.lock, c.deployment, 3, c.habit)
		if c.habit == workloads.HoldsTwo {
			x.Params.Keys, x.Params.Spread = 2, workloads.Uniform
		}
		r, err := x.Run()
		if err != nil {
			t.Fatal(err)
		}
		if f := r.Verdict.Finding(c.judged); !c.seen(r.Ops) || f.Observed != checker.Held {
			t.Errorf("%s, %s: seen %t, %s %+v", c.lock, c.habit, c.seen(r.Ops), c.judged, f)
		}
		if v := r.Violated(); len(v) > 0 {
			t.Errorf("%s, %s violates %v", c.lock, c.habit, v)
		}
	}
}

// heldTwo reports whether a client acquired a key before it released another one.
func heldTwo(ops []histories.Op) bool {
	held := map[int32]string{}
	for _, op := range ops {
		switch {
		case op.Kind == histories.Acquire && op.Outcome == histories.OK && held[op.Client] != "" && held[op.Client] != op.Key:
			return true
		case op.Kind == histories.Acquire && op.Outcome == histories.OK:
			held[op.Client] = op.Key
		case op.Kind == histories.Release:
			delete(held, op.Client)
		}
	}
	return false
}

// generous is a lock that grants a held key again to an owner with the same name. It does not count these grants.
type generous struct {
	impls.Lock
	mu   sync.Mutex
	last map[string]impls.Grant // latest grant by owner
}

func (g *generous) Acquire(ctx context.Context, r impls.Request) (impls.Hold, error) {
	h, err := g.Lock.Acquire(ctx, r)
	g.mu.Lock()
	defer g.mu.Unlock()
	if last, ok := g.last[r.Owner]; ok && errors.Is(err, impls.ErrBusy) && r.Wait == 0 {
		return impls.Hold{Grant: last}, nil
	}
	if err == nil {
		g.last[r.Owner] = h.Grant
	}
	return h, err
}

func (g *generous) Release(ctx context.Context, of impls.Grant) error {
	g.mu.Lock()
	delete(g.last, of.Owner)
	g.mu.Unlock()
	return g.Lock.Release(ctx, of)
}

// registerGenerous adds the lock generous to the table of locks.
func registerGenerous(t *testing.T) {
	lock, err := lockNamed("set-px-lua")
	if err != nil {
		t.Fatal(err)
	}
	open := lock.Open
	lock.Name, lock.Open = "generous", func(env impls.Env) (impls.Lock, error) {
		inner, err := open(env)
		return &generous{Lock: inner, last: map[string]impls.Grant{}}, err
	}
	Register(lock)
}

// TestHabitsFindDefects checks that habits reveal defects of known-broken locks.
func TestHabitsFindDefects(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	registerGenerous(t)
	for _, c := range []struct {
		lock     string
		clients  int
		habit    workloads.Habit
		property string
	}{
		{"generous", 1, workloads.TriesHeld, "mutual-exclusion"},
		{"set-px", 3, workloads.ReleasesTwice, "owner-release"},
		{"set-px", 3, workloads.ReleasesLate, "owner-release"},
		{"reentrant-flag", 2, workloads.Nests, "reentrancy"},
	} {
		found := false
		for seed := uint64(0); seed < 30 && !found; seed++ {
			x := habitual(c.lock, "single", c.clients, c.habit)
			x.Params.Seed = seed
			r, err := x.Run()
			if err != nil {
				t.Fatal(err)
			}
			found = slices.Contains(r.Violated(), c.property)
		}
		if !found {
			t.Errorf("%s, %s: %s is not violated in 30 seeds", c.lock, c.habit, c.property)
		}
	}
}

// TestRepeatedRelease checks a release whose reply is lost. The client must repeat it with the same hold number.
func TestRepeatedRelease(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	c := habitual("set-px-lua", "single", 1, workloads.RepeatsRelease)
	for i := range uint64(10) {
		at := workloads.Moment{Iteration: i, Point: workloads.Releasing}
		c.Plan.Steps = append(c.Plan.Steps, faults.Step{Name: "lost-reply", When: faults.Trigger{At: at, On: &faults.Passing{Nth: 1, Reply: true}}, Do: faults.Action{Verb: faults.Lose}})
	}
	r, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	releases := map[int64][]histories.Outcome{}
	for _, op := range r.Ops {
		if op.Kind == histories.Release {
			releases[op.Hold] = append(releases[op.Hold], op.Outcome)
		}
	}
	repeated := 0
	for _, outcomes := range releases {
		if slices.Equal(outcomes, []histories.Outcome{histories.Unknown, histories.Refused}) {
			repeated++
		}
	}
	if repeated == 0 || len(r.Violated()) > 0 {
		t.Errorf("%d releases were repeated of %v; violated: %v", repeated, releases, r.Violated())
	}
}

// TestInterruptedRelease cancels a release while its reply is on its way. The release must have an unknown outcome.
func TestInterruptedRelease(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	c := habitual("set-px-lua", "single", 2, workloads.Idles)
	at := workloads.Moment{Point: workloads.Releasing}
	c.Plan.Steps = []faults.Step{{Name: "interrupted-release", When: faults.Trigger{At: at, On: &faults.Passing{Nth: 1, Reply: true}},
		Do: faults.Action{Verb: faults.Interrupt, Wait: ttl / 10, By: ttl}, For: ttl}}
	r, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Ops, func(op histories.Op) bool { return op.Kind == histories.Release && op.Client == 0 })
	if i < 0 || r.Ops[i].Outcome != histories.Unknown || r.Ops[i].Return-r.Ops[i].Call > ttl/2 || r.Discarded != "" {
		t.Errorf("release %d: %+v; %s", i, r.Ops[max(i, 0)], r.Discarded)
	}
}

// idled reports whether a client paused for at least a lease between two of its operations.
func idled(ops []histories.Op) bool {
	last := map[int32]time.Duration{}
	return slices.ContainsFunc(ops, func(op histories.Op) bool {
		gap := op.Call - last[op.Client]
		last[op.Client] = op.Return
		return op.Kind == histories.Acquire && op.Client < 3 && gap > ttl
	})
}

// expired reports whether a client was granted the lock again although it had not released its previous hold.
func expired(ops []histories.Op) bool {
	open := map[int32]bool{}
	return slices.ContainsFunc(ops, func(op histories.Op) bool {
		switch {
		case op.Client >= 3:
		case op.Kind == histories.Release:
			open[op.Client] = false
		case op.Kind == histories.Acquire && op.Outcome == histories.OK:
			before := open[op.Client]
			open[op.Client] = true
			return before
		}
		return false
	})
}

// heldLong reports whether a client successfully released a hold that had lasted longer than its lease.
func heldLong(ops []histories.Op) bool {
	began := map[int64]time.Duration{}
	return slices.ContainsFunc(ops, func(op histories.Op) bool {
		if op.Kind == histories.Acquire {
			began[op.Hold] = op.Return
		}
		return op.Kind == histories.Release && op.Outcome == histories.OK && op.Call-began[op.Hold] > ttl
	})
}
