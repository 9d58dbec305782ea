package workloads

import (
	"testing"
	"time"
)

// TestArrivals checks the start times of iterations. Their mean rate must be the configured rate. All iterations of a burst
// must start at the same time. Equal seeds must give equal start times.
func TestArrivals(t *testing.T) {
	const n, rate = 20_000, 1000.0
	for _, a := range []Arrivals{Constant, Poisson, Burst} {
		t.Run(a.String(), func(t *testing.T) {
			p := Params{Arrivals: a, Rate: rate, Seed: 7}
			s, again := p.schedule(0), p.schedule(0)
			together, last, before := 0, time.Duration(0), time.Duration(-1)
			for range n {
				at := s.next()
				if at != again.next() {
					t.Fatal("the same seed gave another schedule")
				}
				if at < last {
					t.Fatalf("%v after %v", at, last)
				}
				if at == before {
					together++
				}
				last, before = at, at
			}
			if mean := last.Seconds() * rate / n; mean < 0.97 || mean > 1.03 {
				t.Errorf("the mean interval is %.3f of the requested one", mean)
			}
			if want := map[Arrivals]int{Burst: n * (BurstSize - 1) / BurstSize}[a]; together != want {
				t.Errorf("%d came with another, want %d", together, want)
			}
		})
	}
	if p := (Params{}); p.schedule(0) != nil {
		t.Error("closed arrivals have a schedule")
	}
}

func TestArrivalNames(t *testing.T) {
	for _, name := range arrivalNames {
		var a Arrivals
		if err := a.UnmarshalText([]byte(name)); err != nil || a.String() != name {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
	if err := new(Arrivals).UnmarshalText([]byte("sometimes")); err == nil {
		t.Error("no error")
	}
}

func TestOwnKeys(t *testing.T) {
	p := Params{Keys: 3, Spread: Own}
	for client, want := range []int{0, 1, 2, 0} {
		if got := p.key(int32(client), nil); got != want {
			t.Errorf("client %d uses key %d, want %d", client, got, want)
		}
	}
}
