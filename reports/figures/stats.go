// Package figures measures the speed and the fairness of a lock from a history, in one pass and bounded memory. Of reads the
// events and returns Stats; DistributionOf summarises its histograms. Verdicts are not considered.
package figures

import (
	"time"

	"lockbench/histories"
)

// Stats holds the figures of one history. Client -1 (the harness) and the clients of the epilogue, numbered from
// Header.Clients, are not measured. With a Window, all figures except Keys, Cover and OutOfRange count operations that ended
// within it.
type Stats struct {
	Samples      Samples
	Cover        histories.Coverage
	Sections     int           // critical sections completed: granted, and the release was called
	PerClient    []int         // critical sections completed, by client
	First        time.Duration // first call of a measured client
	Last         time.Duration // return of the last release
	Grants       int           // grants of all clients, as the server counts
	OwnerChanges int           // grants to another client than the key's last
	Keys         int           // keys used by measured clients
	Reentries    int           // grants to the holder, which no histogram has
	Renewals     int           // confirmed renewals
	Held         time.Duration // total time of holds
	CutOff       int           // acquires still open at the end
	Longest      Wait
	Bypassed     int // the most grants of a key to clients that called after a client that still waits
	OutOfRange   int // samples beyond the histograms
}

// Window is a part of a history. The zero Window is the whole history.
type Window struct{ From, To time.Duration }

func (w Window) whole() bool { return w == Window{} }

func (w Window) holds(at time.Duration) bool { return w.whole() || at >= w.From && at < w.To }

// Wait is the longest time from the intended start of an acquire to its end.
type Wait struct {
	NS    int64 `json:"ns"`
	Ended Ended `json:"ended"`
}

// Ended states how a wait ended.
type Ended string

// The ends of a wait. All except Granted are censored: the whole wait is longer.
const (
	Granted    Ended = "granted"
	NotGranted Ended = "not granted" // refused, or of unknown outcome
	CutOff     Ended = "cut off"     // still waiting at the end of the history, or of the window
)

// Censored reports whether the whole wait is longer than measured.
func (w Wait) Censored() bool { return w.Ended == NotGranted || w.Ended == CutOff }

// Longer returns the longer of two waits.
func Longer(a, b Wait) Wait {
	if b.Ended != "" && (a.Ended == "" || b.NS > a.NS) {
		return b
	}
	return a
}

// Seconds returns the length of the measured window.
func (s *Stats) Seconds() float64 { return max(0, s.Last-s.First).Seconds() }

// Goodput returns the critical sections per second, or 0 if none was completed.
func (s *Stats) Goodput() float64 {
	if s.Seconds() == 0 {
		return 0
	}
	return float64(s.Sections) / s.Seconds()
}

// Shares returns Jain's index (sum x)²/(n·sum x²) of the critical sections per client, and the smallest and the largest share
// of a client. If there were no critical sections, ok is false.
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

// Of reads the events of a history once and passes each to the other functions.
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
