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

// Meter measures how a process of this machine pauses, by oversleeping. Of collections it sees its own alone.
type Meter struct {
	For   time.Duration // at most: what is longer than MeterAtMost is cut
	Floor time.Duration // shorter ones are no pauses; 0: PauseFloor

	// Of a test, both or none; nil: the system's.
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) // returns early where the context ends
}

const (
	// PauseFloor is the shortest pause that counts: less is usual scheduling, and no lease is that short.
	PauseFloor = 5 * time.Millisecond
	// MeterAtMost is the longest that is measured for.
	MeterAtMost = time.Hour

	nap        = time.Millisecond
	mostPauses = 1_000_000 // that are kept: more would not change a quantile
)

// Measure measures until the time is up or ctx ends. The error says that nothing was measured.
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
		return selection.Pauses{}, fmt.Errorf("pauses were to be measured for %s, which is no time: give a longer one", m.For)
	}
	return summed(pauses, took, floor), nil
}

func summed(pauses []time.Duration, took, floor time.Duration) selection.Pauses {
	p := selection.Pauses{PerHour: float64(len(pauses)) * float64(time.Hour) / float64(took)}
	if len(pauses) == 0 {
		p.Measured = fmt.Sprintf("a process that only slept was watched for %s on this machine, and never stood still for %s or longer: that says little of what is rare.",
			format.Duration(took), format.Setting(int64(floor)))
		return p
	}
	slices.Sort(pauses)
	at := func(percent int) time.Duration { return pauses[(len(pauses)-1)*percent/100] }
	p.P50, p.P99, p.Longest = at(50), at(99), at(100)
	p.Measured = fmt.Sprintf("a process that only slept was watched for %s on this machine, and stood still %d times for %s or longer, %s at most. What is rarer than that it could not see, nor what another program does to itself, such as its collections.",
		format.Duration(took), len(pauses), format.Setting(int64(floor)), format.Duration(p.Longest))
	return p
}

func sleepFor(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
