package shop

import (
	"math/rand/v2"
	"testing"
	"time"

	"lockbench/histories"
)

// truth holds an order (a buyer's request to a service) with its exact times. The fields sent and received count from
// the start of the history. The times in the answer count from the start of the service (field began).
type truth struct {
	began          time.Duration
	sent, received time.Duration
	answer         Answer
}

// order simulates a buyer's request to a service, with random times. The service tries the segments of the stock one
// after another. Only the last segment has items left.
func order(rng *rand.Rand, began, sent time.Duration, segments int) truth {
	now := sent
	some := func(most time.Duration) time.Duration {
		now += time.Duration(rng.Int64N(int64(most)))
		return now - began
	}
	t := truth{began: began, sent: sent}
	t.answer.Read = some(time.Millisecond)
	for i := range segments {
		step := func(kind histories.Kind, most time.Duration) {
			s := Step{Kind: kind, Outcome: histories.OK, Key: "k", Called: some(100 * time.Microsecond)}
			if s.Returned = some(most); kind == histories.Acquire {
				s.SentAfter, s.Validity = time.Duration(rng.Int64N(int64(s.Returned-s.Called)+1)), time.Second
			}
			t.answer.Steps = append(t.answer.Steps, s)
		}
		step(histories.Acquire, 10*time.Millisecond)
		step(histories.Read, 200*time.Microsecond)
		if i == segments-1 {
			some(5 * time.Millisecond)
			step(histories.Write, 200*time.Microsecond)
			step(histories.Append, time.Microsecond)
		}
		step(histories.Release, 200*time.Microsecond)
	}
	t.answer.Answered = some(100 * time.Microsecond)
	some(2 * time.Millisecond)
	t.received = now
	return t
}

// TestHoldsAppearShorter checks with random delays that a recorded hold or lease validity is never longer than the real one.
// It also checks that a client's operations do not overlap.
func TestHoldsAppearShorter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	placed, holds := 0, 0
	for range 200 {
		c, number := newClocks(), int64(0)
		began, now := time.Duration(rng.Int64N(int64(time.Hour)))-30*time.Minute, time.Millisecond
		for range 20 {
			o := order(rng, began, now, 1+rng.IntN(3))
			now = o.received + 1
			a := account{bounds: c.learn(&o.answer, o.sent, o.received), sent: o.sent, received: o.received,
				hold: func() int64 { number++; return number }}
			ops := a.tell(o.answer.Steps)
			holds += acquires(o.answer.Steps)
			placed += checkOps(t, o, ops)
			if t.Failed() {
				t.Fatalf("%+v\n%+v", o, ops)
			}
		}
	}
	if placed*10 < holds*5 || placed == holds {
		t.Errorf("%d of %d holds were recorded: want at least half, and some omitted", placed, holds)
	}
}

// acquires returns the number of acquire operations.
func acquires(steps []Step) (n int) {
	for _, s := range steps {
		if s.Kind == histories.Acquire {
			n++
		}
	}
	return n
}

// checkOps compares the recorded operations with the true times and returns the number of recorded holds.
func checkOps(t *testing.T, o truth, ops []histories.Op) (placed int) {
	last, step := o.sent, -1
	for i, op := range ops {
		for step++; o.answer.Steps[step].Kind != op.Kind; step++ { // a release may be missing from the recorded operations
			if o.answer.Steps[step].Kind != histories.Release {
				t.Errorf("step %d is missing", step)
			}
		}
		s := o.answer.Steps[step]
		if op.Call <= last && i > 0 || op.Return < op.Call || op.Return > o.received+50 {
			t.Errorf("operation %d is out of order", i)
		}
		last = op.Return
		switch {
		case op.Kind == histories.Acquire && op.Outcome == histories.OK:
			placed++
			if op.Return < o.began+s.Returned {
				t.Errorf("hold %d begins too early", op.Hold)
			}
			if until, _ := op.Until(0); until > o.began+s.Called+s.SentAfter+s.Validity {
				t.Errorf("the validity of hold %d ends too late", op.Hold)
			}
		case op.Kind == histories.Release && op.Call > o.began+s.Called:
			t.Errorf("hold %d ends too late", op.Hold)
		}
	}
	return placed
}

// TestLostHold checks that a recorded hold ends no later than the time at which the client noticed the loss of
// the lock.
func TestLostHold(t *testing.T) {
	ms := time.Millisecond
	steps := []Step{
		{Kind: histories.Acquire, Outcome: histories.OK, Key: "k", Called: ms, Returned: 2 * ms},
		{Kind: histories.Read, Outcome: histories.OK, Key: "k", Called: 2 * ms, Returned: 3 * ms},
		{Kind: histories.Lost, Outcome: histories.OK, Key: "k", Called: 9 * ms, Returned: 9 * ms},
		{Kind: histories.Release, Outcome: histories.Refused, Key: "k", Called: 10 * ms, Returned: 11 * ms},
	}
	a := account{bounds: bounds{20 * ms, 21 * ms}, sent: 20 * ms, received: 40 * ms, hold: func() int64 { return 7 }}
	ops := a.tell(steps)
	if len(ops) != 4 || ops[2].Kind != histories.Lost || ops[2].Call != 29*ms || ops[3].Call < 29*ms || ops[3].Call > 30*ms {
		t.Errorf("%+v", ops)
	}
}
