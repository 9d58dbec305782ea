package measure

import (
	"context"
	"time"

	"lockbench/impls/waiting"
	"lockbench/internal/drive/trial"
)

const (
	slice       = 50 * time.Millisecond // of the warm-up, in which grants are counted
	shortWarmUp = 2 * slice
	longWarmUp  = time.Second
	// trialOverhead is about the warm-up and the judging of a trial.
	trialOverhead = 2 * shortWarmUp
	steadyWithin  = 0.1 // of each other are the rates of two slices when nothing warms up any more
	chance        = 3.0 // standard deviations of a count are no difference
)

// pace waits until the rate of a trial has settled, and then takes readings at both ends of the window.
type pace struct {
	meter
	clients int
	window  time.Duration
	wakes   bool // the lock's waiters are woken

	before, after reading
	warmup        time.Duration
	steady        bool
	err           error // of the readings
}

// run returns when the window is over, or its context.
func (p *pace) run(ctx context.Context, r trial.Running) {
	begun := time.Now()
	p.steady = p.warm(ctx, r)
	p.warmup = time.Since(begun)
	if p.before, p.err = p.read(ctx, r); p.err != nil {
		return
	}
	waiting.Pause(ctx, p.window)
	p.after, p.err = p.read(context.WithoutCancel(ctx), r)
}

// warm returns when two slices in a row had the same rate and every client has had its turn, as far as one can tell from
// how many grants there were; false: it did not happen within the time limit.
func (p *pace) warm(ctx context.Context, r trial.Running) bool {
	begun, last, before := time.Now(), r.Granted.Load(), int64(-1)
	for time.Since(begun) < longWarmUp+time.Duration(p.clients)*2*time.Millisecond {
		if !waiting.Pause(ctx, slice) {
			return false
		}
		now := r.Granted.Load()
		n := now - last
		if before >= 0 && time.Since(begun) >= shortWarmUp && now >= int64(p.clients) && alike(before, n) {
			return true
		}
		last, before = now, n
	}
	return false
}

// alike reports whether two counts may be of the same rate.
func alike(a, b int64) bool {
	diff, mean := float64(max(a-b, b-a)), float64(a+b)/2
	return mean > 0 && (diff <= steadyWithin*mean || diff*diff <= chance*chance*2*mean)
}
