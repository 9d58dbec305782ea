package advisor

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/internal/faults"
	"lockbench/internal/trial"
	"lockbench/reports/advice"
	"lockbench/workloads"
)

func point(ttl, pause time.Duration) advice.TrialPoint {
	return advice.TrialPoint{TTL: ttl, Hold: 50 * time.Millisecond, Pause: advice.Always(pause), Cut: 2 * ttl, Scale: 1}
}

// TestPausesAreDrawn: the same seed draws the same, another one another; a pause begins in its hold, and the work is longer
// by it.
func TestPausesAreDrawn(t *testing.T) {
	p := point(time.Second, 0)
	p.Pause = advice.FromTimes(advice.Times{P50: 20 * time.Millisecond, P99: time.Second, Max: time.Minute})
	if !reflect.DeepEqual(draw(p, 1), draw(p, 1)) || reflect.DeepEqual(draw(p, 1), draw(p, 2)) {
		t.Error("the seed does not decide what is drawn")
	}
	var longest time.Duration
	for seed := range uint64(200) {
		for _, s := range draw(p, seed) {
			if s.after < 0 || s.after >= p.Hold || s.work != p.Hold+s.lasts || s.lasts > p.Cut {
				t.Fatalf("%+v", s)
			}
			longest = max(longest, s.lasts)
		}
	}
	if longest != p.Cut {
		t.Errorf("of 2000 pauses the longest is %v, and the long ones are cut at %v", longest, p.Cut)
	}
}

// TestConfirmCells: each lease has a folder of its own; the plan stops the victim in each of its holds, and nothing is claimed.
func TestConfirmCells(t *testing.T) {
	lock, err := findLock("set-px-lua")
	if err != nil {
		t.Fatal(err)
	}
	cells := ConfirmCells(lock, "", []advice.TrialPoint{point(time.Second, time.Second), point(500*time.Millisecond, time.Second)})
	if len(cells) != 2 || cells[0].Dir() != "lease-1s/set-px-lua/contend+process-pause" || cells[1].Dir() != "lease-500ms/set-px-lua/contend+process-pause" {
		t.Fatalf("%v", cells)
	}
	c := cells[0]
	if len(c.Lock.Expect) != 0 || !c.Partly {
		t.Errorf("%+v claims something, or does not count where a hold was not to be had", c)
	}
	p := c.Fault.Params(workloads.Defaults(), 0, "single")
	plan := c.Fault.Plan(faults.Scene{Seed: p.Seed})
	if p.TTL != time.Second || p.Duration < pausesEach*(time.Second+50*time.Millisecond) || len(plan.Steps) != 2*pausesEach {
		t.Errorf("%+v: %d steps", p, len(plan.Steps))
	}
	for i, s := range plan.Steps {
		if s.When.At != (workloads.Moment{Iteration: uint64(i / 2), Point: workloads.Granted}) {
			t.Errorf("step %d is due at %+v", i, s.When.At)
		}
	}
}

// TestConfirmReal: processes that stand still for longer than their lease are doubled, others are not; each trial draws by
// its own seed.
func TestConfirmReal(t *testing.T) {
	needRedis(t)
	points := []advice.TrialPoint{point(400*time.Millisecond, 600*time.Millisecond), point(5*time.Second, 30*time.Millisecond)}
	points[0].Predicted = 1
	for _, name := range []string{"set-px-lua", "redisson"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits, mostly
			confirmReal(t, name, points)
		})
	}
}

func confirmReal(t *testing.T, name string, points []advice.TrialPoint) {
	lock, err := findLock(name)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	tried := try(t, dir, ConfirmCells(lock, "", points))
	confirmed, err := Confirm(lock, "", points, dir, "R1")
	if err != nil {
		t.Fatal(err)
	}
	doubled, none := confirmed[0], confirmed[1]
	if doubled.Doubles < doubled.Pauses-1 || doubled.Pauses < pausesEach/2 || !strings.HasPrefix(doubled.Histories[0].File, "lease-400ms/"+name) {
		t.Errorf("%s: each pause outlasts the lease by far: %+v", name, doubled)
	}
	if none.Doubles != 0 || none.Pauses < pausesEach/2 || !none.Agrees {
		t.Errorf("%s: no pause comes near the lease: %+v", name, none)
	}
	for _, seed := range tried {
		if seed != 18 { // the run's is 17, and this is the second trial
			t.Errorf("a plan was drawn by seed %d", seed)
		}
	}
	void := filepath.Join(dir, filepath.Dir(filepath.FromSlash(none.Histories[0].File)), "void.json")
	if err := os.WriteFile(void, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if confirmed, err = Confirm(lock, "", points, dir, "R1"); err != nil || confirmed[1].Pauses != 0 || confirmed[0].Pauses == 0 {
		t.Errorf("%s: a void trial counts: %+v, %v", name, confirmed, err)
	}
	if _, err := Confirm(lock, "", points, t.TempDir(), "R1"); err == nil {
		t.Error("a lease that was not tried is confirmed")
	}
}

// try tries each cell once, and returns the seeds by which plans were drawn.
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
			if s.Seed != 0 { // it is also asked what it would be, of no trial
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
		t.Errorf("of %d cells, %d times something was drawn", len(cells), len(seeds))
	}
	return seeds
}
