package advisor

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/reports/selection"
)

// machine is a fake clock. Each sleep takes longer than requested by a known amount.
type machine struct {
	now   time.Time
	naps  int
	over  map[int]time.Duration
	every time.Duration // time by which each sleep exceeds the requested duration
	then  func(naps int)
}

func (m *machine) sleep(_ context.Context, d time.Duration) {
	m.naps++
	m.now = m.now.Add(d + m.every + m.over[m.naps])
	if m.then != nil {
		m.then(m.naps)
	}
}

func (m *machine) meter(d time.Duration) Meter {
	m.now = time.Unix(1_700_000_000, 0)
	return Meter{For: d, Now: func() time.Time { return m.now }, Sleep: m.sleep}
}

// TestMeter checks that Meter counts a sleep as a pause if the sleep takes at least ShortestPause longer than
// requested.
func TestMeter(t *testing.T) {
	over := map[int]time.Duration{}
	for i := range 100 {
		over[10*i+5] = time.Duration(10+i) * time.Millisecond // sleeps 5, 15, 25 and so on exceed their duration by 10 ms to 109 ms
		over[10*i+6] = 4 * time.Millisecond
	}
	m := &machine{over: over}
	got, err := m.meter(time.Minute).Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := selection.Pauses{PerHour: 6000, P50: 59 * time.Millisecond, P99: 108 * time.Millisecond, Longest: 109 * time.Millisecond, Measured: got.Measured}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, s := range []string{"in 60.0 s on this machine", "100 pauses of 5 ms or longer", "at most 109 ms", "may be missing"} {
		if !strings.Contains(got.Measured, s) {
			t.Errorf("%q does not say %q", got.Measured, s)
		}
	}
}

// TestMeterShortest checks the limit for short pauses. By default, a sleep counts as a pause only if it takes at least
// ShortestPause longer than requested. The field Meter.Shortest sets another limit.
func TestMeterShortest(t *testing.T) {
	m := &machine{every: ShortestPause - 1}
	got, err := m.meter(time.Second).Measure(t.Context())
	if err != nil || got.PerHour != 0 || got.Longest != 0 || !strings.Contains(got.Measured, "no pause of 5 ms") {
		t.Errorf("%+v, %v", got, err)
	}
	low := m.meter(time.Second)
	low.Shortest = time.Millisecond
	if got, err = low.Measure(t.Context()); err != nil || got.PerHour < 1000 || got.P50 != ShortestPause-1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestMeterEnds checks that a measurement ends early if its context is done, and after at most MeterAtMost. A measurement
// without any duration must return an error.
func TestMeterEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := &machine{over: map[int]time.Duration{3: time.Second}, then: func(naps int) {
		if naps == 10 {
			cancel()
		}
	}}
	got, err := m.meter(time.Minute).Measure(ctx)
	if err != nil || m.naps != 10 || got.Longest != time.Second {
		t.Errorf("after %d naps: %+v, %v", m.naps, got, err)
	}
	if _, err := m.meter(time.Minute).Measure(ctx); err == nil {
		t.Error("no error for a cancelled context")
	}
	if _, err := m.meter(0).Measure(t.Context()); err == nil {
		t.Error("no error for a measurement of 0")
	}
	long := &machine{every: time.Minute}
	if _, err := long.meter(1000 * time.Hour).Measure(t.Context()); err != nil || long.naps > 61 {
		t.Errorf("%d minutes were measured: %v", long.naps, err)
	}
}

// TestMeterByTheClock uses a Meter with the system clock in virtual time (testing/synctest). It checks that the Meter finds no
// pauses.
func TestMeterByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		got, err := Meter{For: time.Second}.Measure(t.Context())
		if err != nil || got.PerHour != 0 || time.Since(start) != time.Second {
			t.Errorf("%+v, %v, after %v", got, err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond+time.Microsecond)
		defer cancel()
		if _, err := (Meter{For: time.Hour}).Measure(ctx); err != nil || time.Since(start) > 2*time.Second {
			t.Errorf("%v, after %v", err, time.Since(start))
		}
	})
}
