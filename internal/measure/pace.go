package measure

import (
	"context"
	"time"

	"lockbench/impls/waiting"
	"lockbench/internal/drive/trial"
)

const (
	slice       = 50 * time.Millisecond // length of a time slice; grants are counted for each slice during the warm-up
	shortWarmUp = 2 * slice
	longWarmUp  = time.Second
	// trialOverhead is the approximate time for the warm-up and the judging of a trial.
	trialOverhead = 2 * shortWarmUp
	steadyWithin  = 0.1 // relative difference up to which the grant rates of two time slices count as equal
	chance        = 3.0 // number of standard deviations by which two grant counts may differ and still count as equal
)

// pace waits until the grant rate is steady. It then reads the counters at the start and the end of the measured
// window.
type pace struct {
	meter
	clients int
	window  time.Duration
	wakes   bool // whether the lock wakes its waiters

	before, after reading
	warmup        time.Duration
	steady        bool
	err           error // first error that occurred while the counters were read
}

// run reads the counters at the start and the end of the measured window. It returns at the end of the window, or when ctx
// is done.
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

// warm waits until two consecutive time slices have the same grant rate, and there are at least as many grants as
// clients. It returns false if this takes too long.
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

// alike reports whether the grant counts of two time slices are consistent with the same rate.
func alike(a, b int64) bool {
	diff, mean := float64(max(a-b, b-a)), float64(a+b)/2
	return mean > 0 && (diff <= steadyWithin*mean || diff*diff <= chance*chance*2*mean)
}
