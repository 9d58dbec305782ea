package workloads

import (
	"lockbench/histories"
	"math/rand/v2"
	"sync"
	"time"
)

// Arrivals is how iterations begin.
type Arrivals uint8

const (
	Closed   Arrivals = iota // each client's when its last is done, and its pause
	Constant                 // at a fixed interval, whether a client is free or not
	Poisson                  // independently of each other
	Burst                    // BurstSize at once
)

// BurstSize is how many come at once.
const BurstSize = 10

var arrivalNames = []string{"closed", "constant", "poisson", "burst"}

func (a Arrivals) String() string { return histories.NameOf(arrivalNames, int(a)) }

// MarshalText gives the name used in flags and files.
func (a Arrivals) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText refuses unknown names.
func (a *Arrivals) UnmarshalText(text []byte) error {
	return histories.Parse(a, arrivalNames, text, "arrivals")
}

// schedule decides when iterations are meant to begin. If no client is free, the next begins late, and its latency counts
// from when it was meant to: a slow lock does not slow down the arrivals.
type schedule struct {
	arrivals Arrivals
	interval time.Duration // the mean one

	mu     sync.Mutex
	rand   *rand.Rand
	at     time.Duration // of the next
	left   int           // of a burst
	hiccup time.Duration // still to come
	since  time.Duration
}

// schedule begins now; nil where the arrivals are closed.
func (p *Params) schedule(now time.Duration) *schedule {
	if p.Arrivals == Closed {
		return nil
	}
	return &schedule{arrivals: p.Arrivals, interval: time.Duration(float64(time.Second) / p.Rate), at: now, since: now,
		hiccup: p.Hiccup, left: BurstSize, rand: rand.New(rand.NewPCG(p.Seed, 1<<63))}
}

// hiccupAfter is when the generator stands still, if it is to.
const hiccupAfter = 200 * time.Millisecond

// next is when the next iteration is meant to begin.
func (s *schedule) next() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hiccup > 0 && s.at-s.since > hiccupAfter {
		time.Sleep(s.hiccup) // with the lock held: nobody is told when to begin
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
