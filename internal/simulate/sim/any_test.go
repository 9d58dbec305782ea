package sim

import (
	"bytes"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// anyPlan returns a fault plan with random steps.
func anyPlan(r *rand.Rand, p workloads.Params, nodes int) (plan faults.Plan) {
	for range 1 + r.IntN(4) {
		plan.Steps = append(plan.Steps, anyStep(r, p, nodes))
	}
	return plan
}

func anyStep(r *rand.Rand, p workloads.Params, nodes int) faults.Step {
	some := func() time.Duration { return time.Duration(1+r.IntN(200)) * p.TTL / 100 }
	moment := func() workloads.Moment {
		points := []workloads.Point{workloads.Asking, workloads.Granted, workloads.Working, workloads.Releasing}
		return workloads.Moment{Client: int32(r.IntN(p.Clients)), Iteration: r.Uint64N(2), Point: points[r.IntN(len(points))]}
	}
	verbs := []faults.Verb{faults.Stall, faults.Abandon, faults.GiveUp, faults.Pause, faults.Kill, faults.Delay, faults.Lose, faults.Cut,
		faults.Slow, faults.Mute, faults.Restart, faults.Down, faults.Freeze, faults.Jump, faults.Evict}
	s := faults.Step{Do: faults.Action{Verb: verbs[r.IntN(len(verbs))], Client: int32(r.IntN(p.Clients)), Nodes: []int{r.IntN(nodes)},
		By: some(), Wait: some(), Silent: r.IntN(2) == 0, OneWay: r.IntN(2) == 0}}
	s.Do.Process = int(s.Do.Client) % p.Processes
	s.When.At = moment()
	switch s.Do.Verb {
	case faults.GiveUp, faults.Delay, faults.Lose:
		s.When.On = &faults.Passing{Process: s.Do.Process, Nth: 1 + r.IntN(3), Reply: s.Do.Verb == faults.Lose || r.IntN(2) == 0}
	case faults.Pause, faults.Kill:
		if r.IntN(3) == 0 {
			s.When.On = &faults.Passing{Process: s.Do.Process, Nth: 1 + r.IntN(3), Reply: r.IntN(2) == 0}
		}
	}
	switch {
	case r.IntN(3) > 0:
		s.For = some()
	case r.IntN(2) == 0:
		s.Until = moment()
	}
	if s.When.On == nil && r.IntN(3) == 0 {
		s.When.Later = some()
	}
	return s
}

// TestAnyPlan checks trials under random fault plans. Each trial must end and leave no goroutines. A repeated trial must
// record the same history. The environment variable LOCKBENCH_PLANS sets the number of plans per lock.
func TestAnyPlan(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	plans, err := strconv.Atoi(os.Getenv("LOCKBENCH_PLANS"))
	if err != nil {
		plans = 4
	}
	for _, l := range catalog.OnRedis() {
		trial := faultTrial(l, faults.None(), counter(t), l.Deployment)
		if l.Store == "" || trial.Refused() != nil {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			for seed := range uint64(plans) {
				trial.Fault, trial.Params.Seed = "any", seed
				trial.Plan = anyPlan(rand.New(rand.NewPCG(seed, 0)), trial.Params, serverCount[trial.On()])
				var files [2]bytes.Buffer
				for i := range files {
					if _, err := trial.Run(&files[i]); err != nil {
						t.Fatalf("seed %d, %+v: %v", seed, trial.Plan, err)
					}
				}
				if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
					t.Errorf("seed %d, %+v: two runs recorded different histories", seed, trial.Plan)
				}
			}
		})
	}
}

// counter returns the workload named "counter".
func counter(t *testing.T) workloads.Workload {
	for _, w := range workloads.All() {
		if w.Name == "counter" {
			return w
		}
	}
	t.Fatal("workload counter not found")
	return workloads.Workload{}
}
