package advisor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"lockbench/reports/format"
	"lockbench/reports/selection"
)

// Meter measures how long processes on this machine are paused. A pause is the time by which a short sleep exceeds its
// requested duration. Meter detects garbage collection pauses only in the process in which it runs.
type Meter struct {
	For      time.Duration // duration of the measurement, at most MeterAtMost
	Shortest time.Duration // minimum length of a recorded pause; 0: ShortestPause

	// Now and Sleep replace the system clock in tests; nil: the system clock.
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) // function that sleeps for a duration; it must return early if its context is done
}

const (
	// ShortestPause is the default of Meter.Shortest. Shorter delays are normal scheduling delays.
	ShortestPause = 5 * time.Millisecond
	// MeterAtMost is the maximum duration of a measurement.
	MeterAtMost = time.Hour

	nap        = time.Millisecond
	mostPauses = 1_000_000 // maximum number of recorded pauses; more would not change the quantiles
)

// Measure measures pauses for the duration m.For, or until ctx is done. It returns an error if no time has passed by then.
func (m Meter) Measure(ctx context.Context) (selection.Pauses, error) {
	now, sleep, shortest := m.Now, m.Sleep, cmp.Or(m.Shortest, ShortestPause)
	if now == nil {
		now, sleep = time.Now, sleepFor
	}
	var pauses []time.Duration
	start := now()
	last := start
	for end := start.Add(min(m.For, MeterAtMost)); last.Before(end) && ctx.Err() == nil; {
		sleep(ctx, nap)
		woke := now()
		if over := woke.Sub(last) - nap; over >= shortest && len(pauses) < mostPauses {
			pauses = append(pauses, over)
		}
		last = woke
	}
	took := last.Sub(start)
	if took <= 0 {
		return selection.Pauses{}, fmt.Errorf("measure pauses for %s: no time passed", m.For)
	}
	return summed(pauses, took, shortest), nil
}

func summed(pauses []time.Duration, took, shortest time.Duration) selection.Pauses {
	p := selection.Pauses{PerHour: float64(len(pauses)) * float64(time.Hour) / float64(took)}
	if len(pauses) == 0 {
		p.Measured = fmt.Sprintf("no pause of %[2]s or longer in %[1]s on this machine; rare pauses may be missing",
			format.Duration(took), format.Setting(int64(shortest)))
		return p
	}
	slices.Sort(pauses)
	at := func(percent int) time.Duration { return pauses[(len(pauses)-1)*percent/100] }
	p.P50, p.P99, p.Longest = at(50), at(99), at(100)
	p.Measured = fmt.Sprintf("%[2]d pauses of %[3]s or longer in %[1]s on this machine, at most %[4]s; rare pauses and the garbage collection of other programs may be missing",
		format.Duration(took), len(pauses), format.Setting(int64(shortest)), format.Duration(p.Longest))
	return p
}

func sleepFor(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
