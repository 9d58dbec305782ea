package trial

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// TestEachCell runs a short trial of every supported combination of lock and workload on the emulator, without a fault.
// All expectations must be met. A property that can be violated without a fault must be violated by some known-broken
// lock. No correct lock may violate it.
func TestEachCell(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := Setting{Run: "test", Servers: servers.Embedded, Params: workloads.Defaults(), Self: self}
	s.Params.Duration = 200 * time.Millisecond
	var mu sync.Mutex
	violated := map[string]bool{}
	plan, _ := Fitting(Plan(catalog.All(), workloads.All(), []faults.Fault{faults.None()}), s.Servers, s.Remote)
	plan = slices.DeleteFunc(plan, func(c Cell) bool {
		// With -short, and on stores other than Redis, run fewer workloads.
		enough := testing.Short() || c.Lock.Store != "" && c.Lock.Store != servers.Redis
		return c.Workload.Served || enough && c.Workload.Name != "counter" // skip the shop workloads, which TestFlashSale checks
	})
	t.Run("cells", func(t *testing.T) {
		for _, c := range plan {
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				s := s
				if c.Workload.Varied {
					s.Params.TTL = 2 * time.Second // some clients wait until leases expire
				}
				seen, _ := s.tryOnce(t, c)
				for _, property := range seen {
					mu.Lock()
					violated[property] = true
					mu.Unlock()
				}
			})
		}
	})
	for _, p := range []string{"lease-exclusion", "mutual-exclusion", "resource-integrity", "reentrancy"} {
		if !violated[p] && !testing.Short() {
			t.Errorf("no known-broken lock violates %s", p)
		}
	}
}

// tryOnce runs one trial, checks that every expectation is met, and returns the properties that were violated as expected.
func (s Setting) tryOnce(t *testing.T, c Cell) (violated []string, out Outcome) {
	var granted atomic.Int64
	out, err := s.Try(t.Context(), c, t.TempDir(), 0, &granted)
	if err != nil && strings.Contains(out.Discarded, "was paused") {
		t.Skip("this machine is too busy: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	if !c.faulty() && (out.Verdict.Counts.Grants == 0 || granted.Load() == 0) {
		t.Errorf("%d grants, %d shown", out.Verdict.Counts.Grants, granted.Load())
	}
	for _, f := range out.Verdict.Findings {
		switch score := checker.ResultOf(out.Header.Expectation(f.Property).Expected, f.Observed); score {
		case checker.XPass, checker.Inconclusive:
			if stall := out.Verdict.MaxStall; c.faulty() && stall > out.Header.TTL.D()/20 {
				t.Skipf("this machine is too busy: it was paused for %v, and %s is %s", stall, f.Property, score)
			}
			t.Errorf("%s %s: %s", f.Property, score, f.Why)
		case checker.Fail:
			t.Errorf("%s %s: %+v", f.Property, score, f.Witness)
		case checker.XFail:
			violated = append(violated, f.Property)
		}
	}
	for _, d := range out.Verdict.Oracle.Disagreements {
		t.Error(d)
	}
	return violated, out
}

// contend returns the workload "contend", which only acquires and releases.
func contend() workloads.Workload {
	all := workloads.All()
	return all[slices.IndexFunc(all, func(w workloads.Workload) bool { return w.Name == "contend" })]
}

func TestStalledTrialIsDiscarded(t *testing.T) {
	for _, c := range []struct {
		stall, fault string
		discarded    bool
	}{{"40000000", "none", false}, {"4000000000", "none", false}, {"6000000000", "none", true},
		{"100000000", "slow-network", false}, {"200000000", "slow-network", true}} {
		tr := newTrial(Setting{Params: workloads.Defaults()}, Cell{Fault: namedFault(c.fault)}, t.TempDir(), nil)
		tr.Params = tr.params(tr.Cell)
		text := `{"lockbench":1,"ttl_ns":"5s"}` + "\n" + `{"mark":10,"stall":` + c.stall + `}` + "\n"
		if err := os.WriteFile(tr.historyFile(), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := tr.judge()
		if err != nil || (out.Discarded != "") != c.discarded {
			t.Errorf("stall %s under %s: discarded %q, %v", c.stall, c.fault, out.Discarded, err)
		}
		if _, err := os.Stat(filepath.Join(tr.dir, "discarded.json")); (err == nil) != c.discarded {
			t.Errorf("stall %s: discarded.json: %v", c.stall, err)
		}
	}
}

// TestWritingFails checks that a trial ends early with an error if its history cannot be written.
func TestWritingFails(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full, a disk that is always full, on this system")
	}
	tr := newTrial(Setting{Run: "test", Params: workloads.Defaults()},
		Cell{Lock: catalog.All()[0], Workload: contend(), Fault: faults.All()[0]}, t.TempDir(), new(atomic.Int64))
	tr.Params.Duration = time.Minute
	if err := os.Symlink("/dev/full", tr.historyFile()); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	_, err := tr.record(t.Context(), tr.toFile)
	if err == nil || !strings.Contains(err.Error(), "no space left") || time.Since(start) > 30*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
}

// TestPulseSeesAStall checks that pulse records a stall of this process in the history.
func TestPulseSeesAStall(t *testing.T) {
	const stall = 200 * time.Millisecond
	file := &slow{by: stall}
	rec, err := histories.NewRecorder(file, histories.Header{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*markEvery)
	defer cancel()
	file.active = true // from now on each write sleeps, so pulse stalls
	if err := pulse(ctx, rec); err != nil {
		t.Fatal(err)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := histories.NewReader(&file.Buffer)
	if err != nil {
		t.Fatal(err)
	}
	cover, err := histories.Replay(r.Next, func(histories.Event) error { return nil })
	if err != nil || cover.MaxStall < stall/2 {
		t.Errorf("the longest stall is %v, want at least half of %v (%v)", cover.MaxStall, stall, err)
	}
}

// slow is a file whose writes take a long time.
type slow struct {
	bytes.Buffer
	by     time.Duration
	active bool
}

func (s *slow) Write(b []byte) (int, error) {
	if s.active {
		time.Sleep(s.by)
	}
	return s.Buffer.Write(b)
}

func TestPlanLeavesOutWhatDoesNotApply(t *testing.T) {
	for _, c := range Plan(catalog.All(), workloads.All(), []faults.Fault{faults.None()}) {
		if c.Workload.Reentrant && !c.Lock.Reentrant {
			t.Errorf("%s does not apply", c)
		}
	}
}

// TestUsual checks that Usual selects shop workloads only for a few locks, and never with a fault.
func TestUsual(t *testing.T) {
	var got []string
	for _, c := range Usual(Plan(catalog.All(), workloads.All(), faults.All())) {
		if c.Workload.Served {
			got = append(got, c.Dir())
		}
	}
	want := "none/flash-sale+none local-mutex/flash-sale+none set-px-lua/flash-sale+none set-px-lua/flash-sale-gated+none segmented/flash-sale+none"
	if strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}
