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

// Meter measures pauses of processes on this machine, by how much a short sleep oversleeps. It observes the garbage collection
// of its own process only.
type Meter struct {
	For   time.Duration // limited to MeterAtMost
	Floor time.Duration // the shortest pause that counts; 0: PauseFloor

	// For tests; nil: those of the system.
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) // returns early if the context ends
}

const (
	// PauseFloor is the default of Meter.Floor. Shorter delays are usual scheduling.
	PauseFloor = 5 * time.Millisecond
	// MeterAtMost is the longest measurement.
	MeterAtMost = time.Hour

	nap        = time.Millisecond
	mostPauses = 1_000_000 // more pauses would not change a quantile
)

// Measure measures until For has passed or ctx ends. It fails if no time passed.
func (m Meter) Measure(ctx context.Context) (selection.Pauses, error) {
	now, sleep, floor := m.Now, m.Sleep, cmp.Or(m.Floor, PauseFloor)
	if now == nil {
		now, sleep = time.Now, sleepFor
	}
	var pauses []time.Duration
	start := now()
	last := start
	for end := start.Add(min(m.For, MeterAtMost)); last.Before(end) && ctx.Err() == nil; {
		sleep(ctx, nap)
		woke := now()
		if over := woke.Sub(last) - nap; over >= floor && len(pauses) < mostPauses {
			pauses = append(pauses, over)
		}
		last = woke
	}
	took := last.Sub(start)
	if took <= 0 {
		return selection.Pauses{}, fmt.Errorf("measure pauses for %s: no time passed", m.For)
	}
	return summed(pauses, took, floor), nil
}

func summed(pauses []time.Duration, took, floor time.Duration) selection.Pauses {
	p := selection.Pauses{PerHour: float64(len(pauses)) * float64(time.Hour) / float64(took)}
	if len(pauses) == 0 {
		p.Measured = fmt.Sprintf("no pause of %[2]s or longer in %[1]s on this machine; rare pauses may be missing",
			format.Duration(took), format.Setting(int64(floor)))
		return p
	}
	slices.Sort(pauses)
	at := func(percent int) time.Duration { return pauses[(len(pauses)-1)*percent/100] }
	p.P50, p.P99, p.Longest = at(50), at(99), at(100)
	p.Measured = fmt.Sprintf("%[2]d pauses of %[3]s or longer in %[1]s on this machine, at most %[4]s; rare pauses and the garbage collection of other programs may be missing",
		format.Duration(took), len(pauses), format.Setting(int64(floor)), format.Duration(p.Longest))
	return p
}

func sleepFor(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
