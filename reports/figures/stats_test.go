package figures

import (
	"math"
	"testing"
	"time"

	"lockbench/histories"
)

const ms = time.Millisecond

// script builds a history for a test.
type script struct{ ops []histories.Op }

func (s *script) op(client int32, hold int64, kind histories.Kind, o histories.Outcome, key string, call, ret time.Duration) *histories.Op {
	s.ops = append(s.ops, histories.Op{Client: client, Hold: hold, Kind: kind, Outcome: o, Key: key, Due: call, Call: call, Return: ret})
	return &s.ops[len(s.ops)-1]
}

func (s *script) acquire(client int32, hold int64, key string, call, ret time.Duration) *histories.Op {
	return s.op(client, hold, histories.Acquire, histories.OK, key, call, ret)
}

func (s *script) release(client int32, hold int64, key string, call, ret time.Duration) *histories.Op {
	return s.op(client, hold, histories.Release, histories.OK, key, call, ret)
}

func statsOfScript(t *testing.T, h histories.Header, s *script) *Stats {
	t.Helper()
	stats, err := Of(&h, histories.Ops(s.ops), Window{})
	if err != nil {
		t.Fatal(err)
	}
	return stats
}

// near reports whether two durations are equal to within the precision of a histogram.
func near(got, want float64) bool {
	return got == want || math.Abs(got-want) <= 0.001*math.Abs(want)
}

func (s *Stats) only(t *testing.T, c Class, want ...time.Duration) {
	t.Helper()
	h := s.Samples[c]
	if h.TotalCount() != int64(len(want)) {
		t.Errorf("%s: %d samples, want %d", c.Tag(), h.TotalCount(), len(want))
		return
	}
	for i, w := range want { // the wanted durations must be in ascending order
		got := h.ValueAtPercentile(100 * (float64(i) + 0.5) / float64(len(want)))
		if !near(float64(got), float64(w)) {
			t.Errorf("%s: sample %d is %v, want %v", c.Tag(), i, time.Duration(got), w)
		}
	}
}

// TestTwoTakeTurns checks figures that were calculated by hand. Times are in milliseconds. A range such as 12-13 begins
// at the call of an operation and ends at its return. Client 2 checks the final state after the run and is not measured.
//
//	client 0  due 0  call 1  grant 2          release 12-13                           call 40  refused 41
//	client 1                          call 5                 grant 15  release 25-26
//	client 2  acquire 50-51  release 52-53
func TestTwoTakeTurns(t *testing.T) {
	var s script
	s.acquire(0, 1, "k", 1*ms, 2*ms).Due = 0
	s.acquire(1, 2, "k", 5*ms, 15*ms)
	s.release(0, 1, "k", 12*ms, 13*ms)
	s.release(1, 2, "k", 25*ms, 26*ms)
	s.op(0, 3, histories.Acquire, histories.Refused, "k", 40*ms, 41*ms)
	s.acquire(2, 4, "k", 50*ms, 51*ms)
	s.release(2, 4, "k", 52*ms, 53*ms)
	got := statsOfScript(t, histories.Header{Clients: 2, TTL: histories.Nanos(time.Second)}, &s)

	got.only(t, Uncontended, 2*ms) // from the planned start at 0 ms to the grant at 2 ms
	got.only(t, Contended, 10*ms)  // from the call at 5 ms to the grant at 15 ms
	got.only(t, Refusals, 1*ms)
	got.only(t, Unknowns)
	got.only(t, HandOffs, 3*ms)          // from the release at 12 ms to the next grant at 15 ms
	got.only(t, HoldTimes, 10*ms, 10*ms) // one hold from 2 to 12 ms, another from 15 to 25 ms
	if got.Sections != 2 || got.Grants != 3 || got.Keys != 1 {
		t.Errorf("sections %d, grants %d, keys %d; want 2, 3, 1", got.Sections, got.Grants, got.Keys)
	}
	if want := 2 / 0.025; !near(got.Goodput(), want) { // from the first call at 1 ms to the return of the last release at 26 ms
		t.Errorf("goodput %v, want %v", got.Goodput(), want)
	}
	if got.Longest != (Wait{NS: int64(10 * ms), Ended: Granted}) {
		t.Errorf("longest wait %+v, want 10 ms, granted", got.Longest)
	}
}

func TestContendedAtTheCall(t *testing.T) {
	lease := 20 * ms
	for name, c := range map[string]struct {
		build func(s *script)
		want  Class
	}{
		"nobody": {func(s *script) {}, Uncontended},
		"held": {func(s *script) {
			s.acquire(0, 1, "k", 1*ms, 2*ms)
		}, Contended},
		"asked for": {func(s *script) {
			s.op(0, 1, histories.Acquire, histories.Refused, "k", 50*ms, 150*ms)
		}, Contended},
		"another key": {func(s *script) {
			s.acquire(0, 1, "other", 1*ms, 2*ms)
		}, Uncontended},
		"released before": {func(s *script) {
			s.acquire(0, 1, "k", 1*ms, 2*ms)
			s.release(0, 1, "k", 3*ms, 4*ms)
		}, Uncontended},
		"release in flight": {func(s *script) {
			s.acquire(0, 1, "k", 1*ms, 2*ms)
			s.release(0, 1, "k", 90*ms, 150*ms)
		}, Uncontended},
		"a dead client's lease ran out": {func(s *script) {
			s.acquire(0, 1, "k", 1*ms, 2*ms).Validity = lease
		}, Uncontended},
		"renewed": {func(s *script) {
			s.acquire(0, 1, "k", 1*ms, 2*ms).Validity = lease
			s.op(0, 1, histories.Renew, histories.OK, "k", 90*ms, 91*ms).Validity = lease
		}, Contended},
		"lost": {func(s *script) {
			s.acquire(0, 1, "k", 1*ms, 2*ms)
			s.op(0, 1, histories.Lost, histories.OK, "k", 50*ms, 50*ms)
		}, Uncontended},
	} {
		t.Run(name, func(t *testing.T) {
			var s script
			c.build(&s)
			s.acquire(1, 9, "k", 100*ms, 110*ms)
			got := statsOfScript(t, histories.Header{Clients: 2}, &s)
			for _, Class := range []Class{Uncontended, Contended} { // the slowest granted acquire took 10 ms
				if is, want := near(float64(got.Samples[Class].Max()), float64(10*ms)), Class == c.want; is != want {
					t.Errorf("recorded as %s: %v, want %v", Class.Tag(), is, want)
				}
			}
		})
	}
}

func TestHandOffOnlyToAWaiter(t *testing.T) {
	var s script
	s.acquire(0, 1, "k", 1*ms, 2*ms)
	s.release(0, 1, "k", 10*ms, 11*ms)
	s.acquire(1, 2, "k", 12*ms, 13*ms) // not a hand-off: the acquire was called after the release
	s.release(1, 2, "k", 20*ms, 21*ms)
	statsOfScript(t, histories.Header{Clients: 2}, &s).only(t, HandOffs)
}

func TestWaiterOfAnotherKeyIsNoWaiter(t *testing.T) {
	var s script
	s.acquire(0, 1, "k", 1*ms, 2*ms)
	s.acquire(1, 2, "other", 5*ms, 15*ms)
	s.release(0, 1, "k", 10*ms, 11*ms)
	s.acquire(0, 3, "k", 12*ms, 13*ms)
	statsOfScript(t, histories.Header{Clients: 2}, &s).only(t, HandOffs)
}

func TestNoHandOffAfterTheWaiterLeft(t *testing.T) {
	var s script
	s.acquire(0, 1, "k", 1*ms, 2*ms)
	s.op(1, 2, histories.Acquire, histories.Refused, "k", 5*ms, 15*ms)
	s.release(0, 1, "k", 10*ms, 11*ms)
	s.acquire(1, 3, "k", 500*ms, 501*ms)
	statsOfScript(t, histories.Header{Clients: 2}, &s).only(t, HandOffs)
}

func TestHandOffWhileAnotherStillWaits(t *testing.T) {
	var s script
	s.acquire(0, 1, "k", 1*ms, 2*ms)
	s.op(1, 2, histories.Acquire, histories.Refused, "k", 5*ms, 15*ms)
	s.acquire(2, 3, "k", 6*ms, 17*ms)
	s.release(0, 1, "k", 10*ms, 11*ms)
	statsOfScript(t, histories.Header{Clients: 3}, &s).only(t, HandOffs, 7*ms)
}

func TestSegmentsOfAKey(t *testing.T) {
	var s script
	s.acquire(0, 1, "k", 1*ms, 2*ms)
	s.acquire(1, 2, "k", 1*ms, 2*ms)
	// The lock splits the key k into the segments k/0 and k/1. The call of an acquire records the requested key k, and
	// the return records the granted segment.
	h := histories.Header{Clients: 2}
	lines := []histories.Line{}
	for i, op := range s.ops {
		open := op
		open.Return = histories.StillOpen
		open.Outcome = histories.Unknown
		op.Key = []string{"k/0", "k/1"}[i]
		lines = append(lines, histories.Line{Op: open}, histories.Line{Op: op})
	}
	next := func() (histories.Line, error) {
		if len(lines) == 0 {
			return histories.Ops(nil)()
		}
		l := lines[0]
		lines = lines[1:]
		return l, nil
	}
	got, err := Of(&h, next, Window{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Keys != 1 || got.Grants != 2 {
		t.Errorf("keys %d, grants %d; want 1, 2", got.Keys, got.Grants)
	}
}

// TestReentryIsNoSection checks that a re-entrant grant does not count as a critical section. This must not depend on
// the recorded depth of re-entry, because some locks do not record it.
func TestReentryIsNoSection(t *testing.T) {
	for _, depth := range []uint16{0, 1} {
		var s script
		s.acquire(0, 1, "k", 1*ms, 2*ms).Depth = depth
		s.acquire(0, 2, "k", 3*ms, 4*ms).Depth = 2 * depth
		s.release(0, 2, "k", 5*ms, 6*ms)
		s.release(0, 1, "k", 7*ms, 8*ms)
		got := statsOfScript(t, histories.Header{Clients: 1}, &s)
		got.only(t, Uncontended, 1*ms)
		got.only(t, HoldTimes, 5*ms)
		if got.Sections != 1 || got.Reentries != 1 {
			t.Errorf("depth %d: sections %d, re-entries %d; want 1, 1", depth, got.Sections, got.Reentries)
		}
	}
}

func TestLongestWait(t *testing.T) {
	for name, c := range map[string]struct {
		build func(s *script)
		want  Wait
		cut   int
	}{
		"nobody asked": {func(s *script) { s.op(0, 0, histories.Read, histories.OK, "k", 1*ms, 2*ms) }, Wait{}, 0},
		"granted":      {func(s *script) { s.acquire(0, 1, "k", 1*ms, 4*ms) }, Wait{int64(3 * ms), Granted}, 0},
		"gave up": {func(s *script) {
			s.acquire(0, 1, "k", 1*ms, 4*ms)
			s.op(1, 2, histories.Acquire, histories.Refused, "k", 2*ms, 9*ms)
		}, Wait{int64(7 * ms), NotGranted}, 0},
		"unknown is not granted": {func(s *script) {
			s.op(1, 2, histories.Acquire, histories.Unknown, "k", 2*ms, 9*ms)
		}, Wait{int64(7 * ms), NotGranted}, 0},
		"cut off": {func(s *script) {
			s.op(1, 2, histories.Acquire, histories.Unknown, "k", 2*ms, histories.StillOpen)
			s.acquire(0, 1, "k", 3*ms, 4*ms)
			s.release(0, 1, "k", 30*ms, 40*ms)
		}, Wait{int64(38 * ms), CutOff}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var s script
			c.build(&s)
			got := statsOfScript(t, histories.Header{Clients: 2}, &s)
			if got.Longest != c.want || got.CutOff != c.cut {
				t.Errorf("longest %+v, cut off %d; want %+v, %d", got.Longest, got.CutOff, c.want, c.cut)
			}
			if got.Longest.Censored() != (c.want.Ended == NotGranted || c.want.Ended == CutOff) {
				t.Error("censoring is wrong")
			}
		})
	}
}

func TestShares(t *testing.T) {
	for name, c := range map[string]struct {
		sections        []int
		jain, low, high float64
		ok              bool
	}{
		"alike":          {[]int{5, 5, 5, 5}, 1, 0.25, 0.25, true},
		"one has all":    {[]int{8, 0, 0, 0}, 0.25, 0, 1, true},
		"three to one":   {[]int{3, 1}, 16.0 / 20, 0.25, 0.75, true}, // Jain's index of 3 and 1 is (3+1)²/(2·(9+1))
		"one alone":      {[]int{7}, 1, 1, 1, true},
		"nothing at all": {[]int{0, 0}, 0, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := Stats{PerClient: c.sections}
			for _, n := range c.sections {
				s.Sections += n
			}
			jain, low, high, ok := s.Shares()
			if !near(jain, c.jain) || !near(low, c.low) || !near(high, c.high) || ok != c.ok {
				t.Errorf("got %v %v %v %v, want %v %v %v %v", jain, low, high, ok, c.jain, c.low, c.high, c.ok)
			}
		})
	}
}

func TestClientsWithNothingCount(t *testing.T) {
	var s script
	s.acquire(0, 1, "k", 1*ms, 2*ms)
	s.release(0, 1, "k", 3*ms, 4*ms)
	got := statsOfScript(t, histories.Header{Clients: 4}, &s)
	if jain, low, _, _ := got.Shares(); !near(jain, 0.25) || low != 0 {
		t.Errorf("Jain %v, smallest share %v; want 0.25, 0", jain, low)
	}
}

func TestWithoutClientCountAllAreMeasured(t *testing.T) {
	var s script
	s.acquire(3, 0, "k", 1*ms, 2*ms)
	s.release(3, 0, "k", 3*ms, 4*ms)
	if got := statsOfScript(t, histories.Header{}, &s); got.Sections != 1 || len(got.PerClient) != 4 {
		t.Errorf("sections %d of %d clients; want 1 of 4", got.Sections, len(got.PerClient))
	}
}

// TestKilledWhileItAcquired checks that an acquire of a killed client counts neither as unfinished nor as contention. A
// late response to the acquire must not count as a wait.
func TestKilledWhileItAcquired(t *testing.T) {
	var s script
	s.acquire(0, 1, "k", 1*ms, 2*ms)
	gone := func(client int32, call time.Duration) {
		op := s.op(client, 0, histories.Inject, histories.OK, "", call, call+ms)
		op.Fault, op.Value = "holder-kill", histories.Gone
	}
	gone(1, 5*ms)
	gone(2, 6*ms)
	s.acquire(2, 2, "k", 4*ms, 9*ms)
	s.release(0, 1, "k", 20*ms, 21*ms)
	s.acquire(3, 3, "k", 30*ms, 31*ms)
	s.op(1, 4, histories.Acquire, histories.Unknown, "k", 3*ms, histories.StillOpen)
	got := statsOfScript(t, histories.Header{Clients: 4}, &s)
	if got.CutOff != 0 || got.Grants != 2 {
		t.Errorf("%d cut off, %d grants", got.CutOff, got.Grants)
	}
	got.only(t, Uncontended, ms, ms)
	got.only(t, HandOffs)
	if want := (Wait{int64(ms), Granted}); got.Longest != want {
		t.Errorf("longest %+v, want %+v", got.Longest, want)
	}
}
