// Package figures measures the speed and the fairness of a lock from a history. Of reads the history in one pass, with
// bounded memory, and returns Stats. DistributionOf returns the percentiles of a histogram. The package ignores the
// verdicts of the checkers.
package figures

import (
	"time"

	"lockbench/histories"
)

// Stats holds measurements of one history. Only clients 0 to Header.Clients-1 are measured. Client -1 is lockbench, and
// higher numbers are clients that run after the workload. If a Window is set, all fields except Keys and Cover are
// limited to the window.
type Stats struct {
	Samples      Samples
	Waits        Waits // waits of the measured clients for contended keys
	Cover        histories.Coverage
	Sections     int           // number of critical sections: grants whose release was called
	PerClient    []int         // number of critical sections, by client
	First        time.Duration // call time of the first measured operation
	Last         time.Duration // end time of the last measured release
	Grants       int           // number of grants to all clients, including clients that are not measured
	OwnerChanges int           // number of grants to a client that was not the previous holder of the key; includes the first grant of each key
	Keys         int           // number of keys that measured clients used
	Reentries    int           // number of re-entrant grants, which are in no histogram
	Renewals     int           // number of confirmed renewals
	Held         time.Duration // sum of all hold times
	CutOff       int           // number of acquires without a return at the end of the history; 0 if a Window is set
	Longest      Wait
	Bypassed     int // maximum number of acquires that overtook a waiting acquire: they were called later but granted first
	OutOfRange   int // number of durations outside the range of the histograms
}

// Window is a time interval of a history. The zero Window is the whole history.
type Window struct{ From, To time.Duration }

func (w Window) whole() bool { return w == Window{} }

func (w Window) contains(at time.Duration) bool { return w.whole() || at >= w.From && at < w.To }

// Wait is the time from the planned start of an acquire to the end of the acquire.
type Wait struct {
	NS    int64 `json:"ns"`
	Ended Ended `json:"ended"`
}

// Ended states how a wait for a lock ended.
type Ended string

// The ways in which a wait can end. If the lock was not granted, the measured time is a lower bound.
const (
	Granted    Ended = "granted"
	NotGranted Ended = "not granted" // the acquire was refused, or its outcome is unknown
	CutOff     Ended = "cut off"     // the client was still waiting at the end of the history, or at the end of the Window
)

// Censored reports whether the wait is only a lower bound, because the lock was not granted.
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

// Goodput returns the number of critical sections per second, or 0 if the measured interval is empty.
func (s *Stats) Goodput() float64 {
	if s.Seconds() == 0 {
		return 0
	}
	return float64(s.Sections) / s.Seconds()
}

// Shares returns Jain's fairness index of the critical sections per client: (sum x)²/(n·sum x²). It also returns the
// smallest and the largest share of a client. If there were no critical sections, ok is false.
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

// Of computes the Stats of a history in one pass over the events. It also passes every event to each function in the
// parameter others.
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
