// Package figures reads what a history tells about speed and shares: one pass, and nothing kept but sums, histograms and
// what is open. It knows nothing of verdicts.
package figures

import (
	"time"

	"lockbench/histories"
)

// Stats holds the figures of one history. Client -1 (the harness) and the clients of the epilogue, numbered from
// Header.Clients on, are not measured. Where a Window is given, all but Keys, Cover and OutOfRange is of what ended
// within it.
type Stats struct {
	Samples      Samples
	Cover        histories.Coverage
	Sections     int           // critical sections completed: granted, and the release was called
	PerClient    []int         // the same by client
	First        time.Duration // first call of a measured client
	Last         time.Duration // return of their last release
	Grants       int           // of all clients: what the server's counters count
	OwnerChanges int           // grants to another client than the key's last
	Keys         int           // asked for by measured clients
	Reentries    int           // grants of a lock its client held already: in no histogram
	Renewals     int           // confirmed
	Held         time.Duration // in sum
	CutOff       int           // acquires still open at the end
	Longest      Wait
	Bypassed     int // the most grants of a key to clients that asked later than one that still waited
	OutOfRange   int // samples that no histogram took
}

// Window is a part of a history. The zero Window is all of it.
type Window struct{ From, To time.Duration }

func (w Window) whole() bool { return w == Window{} }

func (w Window) holds(at time.Duration) bool { return w.whole() || at >= w.From && at < w.To }

// Wait is the longest time from the intended start of an acquire to its end.
type Wait struct {
	NS    int64 `json:"ns"`
	Ended Ended `json:"ended"`
}

// Ended is how a wait ended.
type Ended string

// Only Granted is a whole wait; the others are censored: the client would have waited longer.
const (
	Granted Ended = "granted"
	GaveUp  Ended = "gave up" // refused, or of unknown outcome
	CutOff  Ended = "cut off" // still waiting at the end of the history, or of the window
)

// Censored reports whether the wait was longer than was seen.
func (w Wait) Censored() bool { return w.Ended == GaveUp || w.Ended == CutOff }

// Longer is the longer of two waits.
func Longer(a, b Wait) Wait {
	if b.Ended != "" && (a.Ended == "" || b.NS > a.NS) {
		return b
	}
	return a
}

// Seconds is the length of what was measured.
func (s *Stats) Seconds() float64 { return max(0, s.Last-s.First).Seconds() }

// Goodput is in critical sections per second; 0 if nothing was completed.
func (s *Stats) Goodput() float64 {
	if s.Seconds() == 0 {
		return 0
	}
	return float64(s.Sections) / s.Seconds()
}

// Shares gives Jain's index (sum x)²/(n·sum x²) of the critical sections per client, and the smallest and
// the largest part of them that one client had. ok is false if there were none.
func (s *Stats) Shares() (jain, low, high float64, ok bool) {
	if s.Sections == 0 {
		return 0, 0, 0, false
	}
	low = 1
	var squares float64
	for _, n := range s.PerClient {
		x := float64(n) / float64(s.Sections)
		squares += x * x
		low, high = min(low, x), max(high, x)
	}
	return 1 / (float64(len(s.PerClient)) * squares), low, high, true
}

// Of reads a history's lines once. Others may see the same events as they pass.
func Of(h *histories.Header, next func() (histories.Line, error), window Window, others ...func(histories.Event)) (*Stats, error) {
	t := tracker{
		clients: int32(h.Clients),
		slack:   h.SlackOr(),
		window:  window,
		stats:   &Stats{Samples: NewSamples(), PerClient: make([]int, h.Clients), First: -1},
		asking:  map[int32]ask{},
		holds:   map[int64]*hold{},
		freed:   map[string]freed{},
		keys:    map[string]bool{},
		last:    map[string]int32{},
		ready:   map[int32]time.Duration{},
	}
	cover, err := histories.Replay(next, func(ev histories.Event) error {
		for _, other := range others {
			other(ev)
		}
		t.visit(ev)
		return nil
	})
	if err != nil {
		return nil, err
	}
	t.end(cover)
	return t.stats, nil
}
