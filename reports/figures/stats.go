// Package figures measures the speed and the fairness of a lock from a history, in one pass and bounded memory. Of reads the
// events and returns Stats; DistributionOf summarises its histograms. Verdicts are not considered.
package figures

import (
	"time"

	"lockbench/histories"
)

// Stats holds measurements of one history. Client -1 (lockbench itself) and the clients from number Header.Clients on,
// which run after the workload, are not measured. If a Window is set, all fields except Keys, Cover and OutOfRange count
// only operations that ended within it.
type Stats struct {
	Samples      Samples
	Cover        histories.Coverage
	Sections     int           // number of critical sections: grants whose release was called
	PerClient    []int         // number of critical sections, by client
	First        time.Duration // call of the first measured operation
	Last         time.Duration // end of the last release
	Grants       int           // number of grants to all clients, measured or not
	OwnerChanges int           // number of grants whose client was not the previous holder of the key
	Keys         int           // number of keys that measured clients used
	Reentries    int           // number of re-entrant grants, which are in no histogram
	Renewals     int           // confirmed renewals
	Held         time.Duration // sum of all hold times
	CutOff       int           // number of acquires that had not returned at the end
	Longest      Wait
	Bypassed     int // largest number of grants of a key, during one wait for the key, to clients that called later
	OutOfRange   int // number of durations outside the range of the histograms
}

// Window is a time interval of a history. The zero Window is the whole history.
type Window struct{ From, To time.Duration }

func (w Window) whole() bool { return w == Window{} }

func (w Window) holds(at time.Duration) bool { return w.whole() || at >= w.From && at < w.To }

// Wait is the time from the planned start of an acquire to its end.
type Wait struct {
	NS    int64 `json:"ns"`
	Ended Ended `json:"ended"`
}

// Ended states how a wait for a lock ended.
type Ended string

// The ways in which a wait can end. For all except Granted, the lock was not granted, so the measured time is a lower
// bound.
const (
	Granted    Ended = "granted"
	NotGranted Ended = "not granted" // the acquire was refused, or its outcome is unknown
	CutOff     Ended = "cut off"     // the client was still waiting at the end of the history or Window
)

// Censored reports whether the measured wait is only a lower bound, because the lock was not granted.
func (w Wait) Censored() bool { return w.Ended == NotGranted || w.Ended == CutOff }

// Longer returns the longer of two waits.
func Longer(a, b Wait) Wait {
	if b.Ended != "" && (a.Ended == "" || b.NS > a.NS) {
		return b
	}
	return a
}

// Seconds returns the length of the measured interval.
func (s *Stats) Seconds() float64 { return max(0, s.Last-s.First).Seconds() }

// Goodput returns the number of critical sections per second, or 0 without any.
func (s *Stats) Goodput() float64 {
	if s.Seconds() == 0 {
		return 0
	}
	return float64(s.Sections) / s.Seconds()
}

// Shares returns Jain's fairness index (sum x)²/(n·sum x²) of the critical sections per client, and the smallest and
// largest share of any client. If there were no critical sections, ok is false.
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

// Of computes the Stats of a history. It reads the events once, and passes each event to the functions in others too.
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
