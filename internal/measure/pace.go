package measure

import (
	"context"
	"time"

	"lockbench/impls/waiting"
	"lockbench/internal/drive/trial"
)

const (
	slice       = 50 * time.Millisecond // part of the warm-up in which grants are counted
	shortWarmUp = 2 * slice
	longWarmUp  = time.Second
	// trialOverhead is the approximate time for the warm-up and the judging of a trial.
	trialOverhead = 2 * shortWarmUp
	steadyWithin  = 0.1 // relative difference of the rates of two slices below which the rate is steady
	chance        = 3.0 // number of standard deviations by which counts may differ by chance
)

// pace waits until the rate of a trial is steady, and then takes readings at both ends of the window.
type pace struct {
	meter
	clients int
	window  time.Duration
	wakes   bool // whether the lock wakes its waiters

	before, after reading
	warmup        time.Duration
	steady        bool
	err           error // error of the readings
}

// run takes the readings. It returns at the end of the window, or when ctx is done.
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

// warm waits until two slices in a row have the same rate and there was a grant for each client. It returns false after the
// time limit.
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

// alike reports whether two counts may have the same rate.
func alike(a, b int64) bool {
	diff, mean := float64(max(a-b, b-a)), float64(a+b)/2
	return mean > 0 && (diff <= steadyWithin*mean || diff*diff <= chance*chance*2*mean)
}
