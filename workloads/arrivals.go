package workloads

import (
	"lockbench/histories"
	"math/rand/v2"
	"sync"
	"time"
)

// Arrivals selects when clients start iterations.
type Arrivals uint8

const (
	Closed   Arrivals = iota // after an iteration, a client waits for a random delay before the next iteration
	Constant                 // iterations are scheduled at a fixed interval, even if all clients are busy
	Poisson                  // iterations are scheduled at independent random intervals
	Burst                    // BurstSize iterations are scheduled for the same time
)

// BurstSize is the number of iterations of a burst. They start at the same time.
const BurstSize = 10

var arrivalNames = []string{"closed", "constant", "poisson", "burst"}

func (a Arrivals) String() string { return histories.NameOf(arrivalNames, int(a)) }

func (a Arrivals) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

func (a *Arrivals) UnmarshalText(text []byte) error {
	return histories.Parse(a, arrivalNames, text, "arrivals")
}

// schedule computes the intended start times of iterations. A slow lock does not delay the schedule: the latency of a late
// iteration counts from its intended start.
type schedule struct {
	arrivals Arrivals
	interval time.Duration // mean interval between two iterations
	part     Part          // arrivals of this machine

	mu     sync.Mutex
	count  int // number of arrivals so far, on all machines
	rand   *rand.Rand
	at     time.Duration // intended start of the next iteration
	left   int           // iterations left in the current burst
	hiccup time.Duration // pause still to be inserted into the schedule; 0: none
	since  time.Duration
}

// schedule returns a schedule that begins at the given time. It returns nil if Arrivals is Closed: each client then
// starts its next iteration after the previous one.
func (p *Params) schedule(now time.Duration) *schedule {
	if p.Arrivals == Closed {
		return nil
	}
	return &schedule{arrivals: p.Arrivals, part: p.Part, interval: time.Duration(float64(time.Second) / p.Rate), at: now, since: now,
		hiccup: p.Hiccup, left: BurstSize, rand: rand.New(rand.NewPCG(p.Seed, 1<<63))}
}

const hiccupAfter = 200 * time.Millisecond

// next returns the next start time for this machine. Every machine computes the whole schedule, so together they have exactly
// the schedule of a single machine.
func (s *schedule) next() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hiccup > 0 && s.at-s.since > hiccupAfter {
		time.Sleep(s.hiccup) // sleep with the mutex locked, so that no iteration can start
		s.hiccup = 0
	}
	for {
		due := s.advance()
		s.count++
		if s.part.Owns(s.count - 1) {
			return due
		}
	}
}

// advance returns the next start time of all machines.
func (s *schedule) advance() time.Duration {
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
