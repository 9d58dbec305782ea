package advisor

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/internal/choose/decision"
	"lockbench/reports/selection"
)

// drawn returns random requirements.
func drawn(r *rand.Rand) selection.Needs {
	pick := func(n int) int { return r.IntN(n) }
	n := selection.Needs{Name: "drawn", TwoHold: []selection.Harm{selection.Corruption, selection.WastedWork}[pick(2)],
		Fence:    []selection.Check{selection.NoCheck, selection.OnWrites, selection.OnAll}[pick(3)],
		Hold:     selection.Times{P50: time.Millisecond, P99: 10 * time.Millisecond, Max: time.Duration(1+pick(200)) * 10 * time.Millisecond},
		Pauses:   selection.Pauses{PerHour: 60, P50: time.Millisecond, P99: 10 * time.Millisecond, Longest: time.Duration(1+pick(20)) * 100 * time.Millisecond},
		Recovery: time.Duration(pick(4)) * 5 * time.Second, Clients: 16, Reenters: pick(4) == 0, Fair: pick(4) == 0,
		Stores: []string{"redis", "redis@five", "postgres", "zookeeper"}[:1+pick(4)], Weights: map[string]float64{}}
	for _, m := range []selection.Means{selection.Idempotent, selection.Compare, selection.Row} {
		if pick(8) == 0 {
			n.Instead = append(n.Instead, m)
		}
	}
	for _, t := range []selection.Trouble{selection.Restart, selection.Failover, selection.Clock, selection.Eviction} {
		if pick(6) == 0 {
			n.Survives = append(n.Survives, t)
		}
	}
	for _, c := range decision.Criteria() {
		n.Weights[c] = float64(pick(11))
	}
	return n
}

// shaken returns evidence that agrees with the expectations of the locks, except for random changes.
func shaken(r *rand.Rand, n selection.Needs, options []selection.Option) selection.Evidence {
	e := world(n, options)
	for i := range e.Findings {
		f := &e.Findings[i]
		switch r.IntN(25) {
		case 0:
			f.Observed, f.ViolatedIn, f.Violations = checker.Violated, 1, 1
		case 1:
			f.Observed, f.ViolatedIn, f.Violations = checker.Undecided, 0, 0
		case 2, 3, 4, 5, 6:
			f.Observed, f.ViolatedIn, f.Violations = checker.Held, 0, 0
		}
	}
	return e
}

// harm reports whether a finding should eliminate a lock under the given requirements. It is independent of the rules
// of package decision, because the tests compare the two.
func harm(n selection.Needs, f selection.Finding) bool {
	if f.Observed != checker.Violated && f.Observed != checker.Undecided {
		return false
	}
	exclusion := slices.Contains([]string{"mutual-exclusion", "lease-exclusion", "resource-integrity"}, f.Property)
	usual := slices.Contains([]string{"counter", "contend"}, f.Workload)
	if f.Fault == "none" && exclusion && usual {
		return true
	}
	if n.TwoHold != selection.Corruption {
		return false
	}
	needed := []string{"slow-network", "lost-reply", "partition", "delayed-release", "cancelled-acquire"}
	if n.Fence == selection.NoCheck { // a resource that checks fencing tokens refuses an outdated token, so these faults do no harm
		needed = append(needed, decision.LongestPause)
		for t, faults := range map[selection.Trouble][]string{selection.Restart: {"server-restart"}, selection.Clock: {"clock-forward", "clock-back"}, selection.Eviction: {"eviction"}} {
			if slices.Contains(n.Survives, t) {
				needed = append(needed, faults...)
			}
		}
	}
	return exclusion && usual && slices.Contains(needed, f.Fault) || f.Property == "owner-release" && f.Workload == "misuse"
}

// TestNeverRecommended checks that no lock with a harmful finding is recommended, whatever the weights of the criteria. If no
// lock is needed, the report names the best lock. The test checks this lock too.
func TestNeverRecommended(t *testing.T) {
	recommended, findings := 0, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 8))
		n := drawn(r)
		options := Options(n)
		e := shaken(r, n, options)
		d := decision.Decide(n, options, e).Decision
		for _, name := range append(slices.Clone(d.Recommended), d.Lock...) {
			recommended++
			for _, f := range e.Findings {
				lock, _, _ := strings.Cut(name, "@")
				pauseHeld := f.Fault == decision.LongestPause && outlivesPauses(e, lock)
				if f.Lock == lock && harm(n, f) && !pauseHeld {
					t.Errorf("seed %d: %s is recommended, and %s in %s under %s is %s", seed, name, f.Property, f.Workload, f.Fault, f.Observed)
				}
				if f.Lock == lock {
					findings++
				}
			}
		}
	}
	if recommended < 10 || findings < 100 {
		t.Errorf("only %d recommendations and %d findings", recommended, findings)
	}
}

// outlivesPauses reports whether mutual exclusion and all other checked properties hold in trials of the fault process-pause.
// In these trials a holder is paused for longer than the lease.
func outlivesPauses(e selection.Evidence, lock string) bool {
	held := false
	for _, f := range e.Findings {
		if f.Lock == lock && f.Fault == "process-pause" && f.Workload == "counter" {
			if f.Observed != checker.Held {
				return false
			}
			held = held || f.Property == "mutual-exclusion"
		}
	}
	return held
}

// TestSame checks that the same requirements and evidence always give the same JSON. It also checks that removing unused
// evidence does not change the decision.
func TestSame(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 9))
		n := drawn(r)
		options := Options(n)
		e := shaken(r, n, options)
		once, again := decision.Decide(n, options, e), decision.Decide(n, options, e)
		if !bytes.Equal(encoded(t, once), encoded(t, again)) {
			t.Errorf("seed %d: two reports of the same input differ", seed)
		}
		left := decision.Trim(n, options, e)
		trimmed := decision.Decide(n, options, left)
		if twice := decision.Trim(n, options, left); !bytes.Equal(encoded(t, decision.Decide(n, options, twice)), encoded(t, trimmed)) {
			t.Errorf("seed %d: trimming twice changes the report", seed)
		}
		if a, b := unnumbered(once), unnumbered(trimmed); !bytes.Equal(encoded(t, a), encoded(t, b)) {
			t.Errorf("seed %d: trimming has changed the decision:\n%s\n%s", seed, encoded(t, a), encoded(t, b))
		}
	}
}

// unnumbered returns a decision without evidence ids. The ids change when unused evidence is removed.
func unnumbered(r *selection.Report) selection.Decision {
	d := r.Decision
	d.Against = slices.Clone(d.Against)
	for i := range d.Against {
		d.Against[i].Evidence = nil
	}
	return d
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
