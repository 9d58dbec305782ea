package clocks

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// simulate returns exchanges with a clock that differs by offset and whose rate differs by the given part, every 20 ms.
// Requests and replies are delayed by up to 5 ms each, independently.
func simulate(r *rand.Rand, offset time.Duration, rate float64, n int) (all []Exchange, remote func(time.Duration) time.Duration) {
	remote = func(local time.Duration) time.Duration { return offset + local + time.Duration(float64(local)*rate) }
	for i := range n {
		sent := time.Duration(i) * 20 * time.Millisecond
		there := sent + time.Duration(r.Int64N(int64(5*time.Millisecond)))
		all = append(all, Exchange{Sent: sent, Read: remote(there), Received: there + time.Duration(r.Int64N(int64(5*time.Millisecond)))})
	}
	return all, remote
}

// TestBounds checks with random delays, offsets and rates that the true offset is within the bounds, also between and beside
// the exchanges, and that the bounds are closer than most exchanges.
func TestBounds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		offset := time.Duration(r.Int64N(int64(10*time.Second))) - 5*time.Second
		all, remote := simulate(r, offset, (2*r.Float64()-1)*MaxDrift*0.99, 50)
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		o, err := New(all)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for local := -100 * time.Millisecond; local < 1200*time.Millisecond; local += 777 * time.Microsecond {
			read := remote(local)
			if low, high := o.At(read); read+low > local+time.Microsecond || read+high < local-time.Microsecond {
				t.Fatalf("seed %d: at %s the bounds are %s and %s, and the offset is %s", seed, local, low, high, local-read)
			}
		}
		if u := o.Uncertainty(remote(0), remote(time.Second)); u > 5*time.Millisecond {
			t.Errorf("seed %d: the uncertainty is %s", seed, u)
		}
	}
}

// TestDrift checks that a clock that was set or that drifts is detected, and that others are not.
func TestDrift(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		rate   float64
		change func([]Exchange)
		fails  bool
	}{
		"the same rate":    {},
		"a slow clock":     {rate: -0.9 * MaxDrift},
		"one per cent off": {rate: 0.01, fails: true},
		"set by 20 ms": {fails: true, change: func(all []Exchange) {
			for i := range all[25:] {
				all[25+i].Read += 20 * time.Millisecond
			}
		}},
		"an early reply": {fails: true, change: func(all []Exchange) { all[3].Received = all[3].Sent - 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, _ := simulate(rand.New(rand.NewPCG(1, 1)), 3*time.Second, x.rate, 100)
			if x.change != nil {
				x.change(all)
			}
			_, err := New(all)
			if (err != nil) != x.fails || x.rate > MaxDrift && !errors.Is(err, ErrDrift) {
				t.Errorf("error: %v", err)
			}
		})
	}
	if _, err := New(nil); err == nil {
		t.Error("no exchange is no error")
	}
}

// TestOrder checks that conversion keeps the order of readings, as the operations of a client need.
func TestOrder(t *testing.T) {
	t.Parallel()
	all, remote := simulate(rand.New(rand.NewPCG(3, 1)), time.Second, 0, 50)
	o, err := New(all)
	if err != nil {
		t.Fatal(err)
	}
	var low, high time.Duration
	for local := time.Duration(0); local < time.Second; local += 100 * time.Microsecond {
		l, h := o.At(remote(local))
		if l, h = l+remote(local), h+remote(local); local > 0 && (l < low || h < high) {
			t.Fatalf("at %s the converted time goes back", local)
		}
		low, high = l, h
	}
}
