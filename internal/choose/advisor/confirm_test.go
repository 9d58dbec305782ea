package advisor

import (
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/internal/choose/decision"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/reports/selection"
	"lockbench/workloads"
)

func constantDistribution(d time.Duration) decision.Distribution {
	return decision.FromTimes(selection.Times{P50: d, P99: d, Max: d})
}

func point(ttl, pause time.Duration) decision.TrialPoint {
	return decision.TrialPoint{TTL: ttl, Hold: constantDistribution(50 * time.Millisecond), Pause: constantDistribution(pause), HoldCut: 2 * ttl, PauseCut: 2 * ttl, Scale: 1}
}

// TestPausesAreDrawn checks that the same seed gives the same random pauses.
func TestPausesAreDrawn(t *testing.T) {
	p := point(time.Second, 0)
	p.Pause = decision.FromTimes(selection.Times{P50: 20 * time.Millisecond, P99: time.Second, Max: time.Minute})
	if !reflect.DeepEqual(draw(p, 1), draw(p, 1)) || reflect.DeepEqual(draw(p, 1), draw(p, 2)) {
		t.Error("the seed does not determine the drawn pauses")
	}
}

// TestConfirmCells checks the trial configurations (cells) that ConfirmCells returns. Each lease must have a separate results
// folder. The cells must not contain expectations. The fault plan must pause one client in each of its holds.
func TestConfirmCells(t *testing.T) {
	lock, err := findLock("set-px-lua")
	if err != nil {
		t.Fatal(err)
	}
	cells := ConfirmCells(lock, "", []decision.TrialPoint{point(time.Second, time.Second), point(500*time.Millisecond, time.Second)})
	if len(cells) != 2 || cells[0].Dir() != "lease-1s/set-px-lua/contend+process-pause" || cells[1].Dir() != "lease-500ms/set-px-lua/contend+process-pause" {
		t.Fatalf("%v", cells)
	}
	c := cells[0]
	if len(c.Lock.Expect) != 0 || !c.Partly {
		t.Errorf("%+v has expectations, or does not count with fewer holds", c)
	}
	p := c.Fault.Params(workloads.Defaults(), 0, "single")
	plan := c.Fault.Plan(faults.Scene{Seed: p.Seed})
	if p.TTL != time.Second || p.Duration < pausesEach*(time.Second+50*time.Millisecond) || len(plan.Steps) != 2*pausesEach {
		t.Errorf("%+v: %d steps", p, len(plan.Steps))
	}
	for i, s := range plan.Steps {
		if s.When.At != (workloads.Moment{Iteration: uint64(i / 2), Point: workloads.Granted}) {
			t.Errorf("step %d is at %+v", i, s.When.At)
		}
		if next := (workloads.Moment{Iteration: uint64(i/2) + 1, Point: workloads.Asking}); s.Do.Verb == faults.Pause && s.Until != next {
			t.Errorf("pause %d may extend into the next hold: %+v", i, s)
		}
	}
}

// TestConfirmReal runs trials with pauses that are longer or shorter than the lease. Holds must overlap if and only if
// the pause is longer. The pauses must be drawn with the seed of the trial.
func TestConfirmReal(t *testing.T) {
	needRedis(t)
	points := []decision.TrialPoint{point(400*time.Millisecond, 600*time.Millisecond), point(5*time.Second, 30*time.Millisecond)}
	points[0].Predicted = 1
	for _, name := range []string{"set-px-lua", "redisson"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the test mostly waits
			confirmReal(t, name, points)
		})
	}
}

func confirmReal(t *testing.T, name string, points []decision.TrialPoint) {
	lock, err := findLock(name)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	tried := try(t, dir, ConfirmCells(lock, "", points))
	overlapped, none := confirmed(t, dir, lock, points[0]), confirmed(t, dir, lock, points[1])
	if overlapped.Overlaps < overlapped.Pauses-1 || overlapped.Pauses < pausesEach/2 || !strings.HasPrefix(overlapped.Histories[0].File, "lease-400ms/"+name) {
		t.Errorf("%s: each pause outlasts the lease by far: %+v", name, overlapped)
	}
	if none.Overlaps != 0 || none.Pauses < pausesEach/2 || !none.Agrees {
		t.Errorf("%s: the pauses are much shorter than the lease: %+v", name, none)
	}
	for _, seed := range tried {
		if seed != 18 { // the seed of the run is 17, and this is the second trial
			t.Errorf("a plan was drawn by seed %d", seed)
		}
	}
}

// confirmed compares the prediction for one lease with the trials recorded in dir, and returns the result.
func confirmed(t *testing.T, dir string, lock impls.Impl, p decision.TrialPoint) selection.Confirmed {
	t.Helper()
	var all decision.Paused
	var of []selection.History
	for _, c := range ConfirmCells(lock, "", []decision.TrialPoint{p}) {
		trials, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(c.Dir())))
		if err != nil {
			t.Fatal(err)
		}
		last := trials[len(trials)-1] // the last trial was not discarded
		file := path.Join(c.Dir(), last.Name(), "history.jsonl.zst")
		seen, err := decision.PausesIn(filepath.Join(dir, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		all.Holds, all.Overlapped = all.Holds+seen.Holds, all.Overlapped+seen.Overlapped
		of = append(of, selection.History{File: file})
	}
	return p.Confirm(all, "R1", of)
}

// try runs one trial of each cell. It returns the seeds of the random holds and pauses.
func try(t *testing.T, dir string, cells []trial.Cell) (seeds []uint64) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := trial.Setting{Run: "advisor-" + cells[0].Lock.Name, Servers: "local", Params: workloads.Defaults(), Worker: []string{self, "worker"}, Trials: 2}
	s.Params.Seed = 17
	var all sync.WaitGroup
	var mu sync.Mutex
	for _, c := range cells {
		drawn, shaped := c.Fault.Plan, c.Fault.Shape
		note := func(seed uint64) {
			mu.Lock()
			defer mu.Unlock()
			seeds = append(seeds, seed)
		}
		c.Fault.Plan = func(s faults.Scene) faults.Plan {
			if s.Seed != 0 { // the seed is 0 if the plan is only inspected and not run in a trial
				note(s.Seed)
			}
			return drawn(s)
		}
		c.Fault.Shape = func(p *workloads.Params, s faults.Scene) {
			note(p.Seed)
			shaped(p, s)
		}
		all.Go(func() {
			var granted atomic.Int64
			if _, err := s.Try(t.Context(), c, filepath.Join(dir, filepath.FromSlash(c.Dir())), 1, &granted); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(seeds) < 2*len(cells) {
		t.Errorf("%d cells, %d draws", len(cells), len(seeds))
	}
	return seeds
}
