package inject

import (
	"testing"
	"testing/synctest"
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// TestHoldUntil checks a delay that ends when a client reaches a point of its run, here the end of its last iteration.
func TestHoldUntil(t *testing.T) {
	released := workloads.Moment{Client: 0, Iteration: 1, Point: workloads.Asking}
	for name, c := range map[string]struct {
		until workloads.Moment
		want  time.Duration
	}{"a point": {released, time.Second}, "never reached": {moment(2, workloads.Asking), time.Minute}, "none": {workloads.Moment{}, time.Minute}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plan := faults.Plan{Steps: []faults.Step{{Do: faults.Action{Verb: faults.Delay, By: time.Minute}, Until: c.until}}}
				plan.Rest(0, 1)
				in, _ := injecting(t, plan)
				began := time.Now()
				go func() {
					time.Sleep(time.Second)
					in.At(t.Context(), released)
				}()
				in.steps[0].hold(t.Context())
				if took := time.Since(began); took != c.want {
					t.Errorf("held for %v, want %v", took, c.want)
				}
			})
		})
	}
}
