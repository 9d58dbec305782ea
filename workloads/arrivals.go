package workloads

import (
	"lockbench/histories"
	"math/rand/v2"
	"sync"
	"time"
)

// Arrivals selects when iterations begin.
type Arrivals uint8

const (
	Closed   Arrivals = iota // after the client's last iteration and its delay
	Constant                 // at a fixed interval, whether or not a client is free
	Poisson                  // at random intervals, independent of each other
	Burst                    // in groups of BurstSize
)

// BurstSize is the number of simultaneous arrivals.
const BurstSize = 10

var arrivalNames = []string{"closed", "constant", "poisson", "burst"}

func (a Arrivals) String() string { return histories.NameOf(arrivalNames, int(a)) }

func (a Arrivals) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

func (a *Arrivals) UnmarshalText(text []byte) error {
	return histories.Parse(a, arrivalNames, text, "arrivals")
}

// schedule sets the intended starts of iterations. If no client is free, the next iteration starts late, and its latency
// counts from the intended start: a slow lock does not delay the arrivals.
type schedule struct {
	arrivals Arrivals
	interval time.Duration // mean interval

	mu     sync.Mutex
	rand   *rand.Rand
	at     time.Duration // time of the next arrival
	left   int           // arrivals left in the burst
	hiccup time.Duration // pause of the generator that is still due
	since  time.Duration
}

// schedule returns a schedule that begins now; nil for closed arrivals.
func (p *Params) schedule(now time.Duration) *schedule {
	if p.Arrivals == Closed {
		return nil
	}
	return &schedule{arrivals: p.Arrivals, interval: time.Duration(float64(time.Second) / p.Rate), at: now, since: now,
		hiccup: p.Hiccup, left: BurstSize, rand: rand.New(rand.NewPCG(p.Seed, 1<<63))}
}

const hiccupAfter = 200 * time.Millisecond

func (s *schedule) next() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hiccup > 0 && s.at-s.since > hiccupAfter {
		time.Sleep(s.hiccup) // with the mutex held, so that no iteration can begin
		s.hiccup = 0
	}
	due := s.at
	switch s.arrivals {
	case Poisson:
		s.at += time.Duration(s.rand.ExpFloat64() * float64(s.interval))
	case Burst:
		if s.left--; s.left == 0 {
			s.left = BurstSize
			s.at += BurstSize * s.interval
		}
	default:
		s.at += s.interval
	}
	return due
}
