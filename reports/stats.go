package reports

import (
	"cmp"
	"maps"
	"time"

	"lockbench/histories"
)

// trialStats is what one history tells about speed and shares. Client -1 (the harness) and the clients of
// the epilogue, numbered from Header.Clients on, are not measured.
type trialStats struct {
	samples    samples
	cover      histories.Coverage
	sections   int           // critical sections completed: granted, and the release was called
	perClient  []int         // the same by client
	first      time.Duration // first call of a measured client
	last       time.Duration // return of their last release
	grants     int           // of all clients: what the server's counters count
	keys       int           // asked for by measured clients
	reentries  int           // grants of a lock its client held already: in no histogram
	cutOff     int           // acquires still open at the end
	longest    Wait
	outOfRange int // samples that no histogram took
}

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
	CutOff  Ended = "cut off" // still waiting at the end of the history
)

// Censored tells whether the wait was longer than was seen.
func (w Wait) Censored() bool { return w.Ended == GaveUp || w.Ended == CutOff }

func longer(a, b Wait) Wait {
	if b.Ended != "" && (a.Ended == "" || b.NS > a.NS) {
		return b
	}
	return a
}

// seconds is the length of the measured window.
func (s *trialStats) seconds() float64 { return max(0, s.last-s.first).Seconds() }

// goodput is in critical sections per second; 0 where nothing was completed.
func (s *trialStats) goodput() float64 {
	if s.seconds() == 0 {
		return 0
	}
	return float64(s.sections) / s.seconds()
}

// shares gives Jain's index (sum x)²/(n·sum x²) of the critical sections per client, and the smallest and
// the largest part of them that one client had. ok is false where there were none.
func (s *trialStats) shares() (jain, low, high float64, ok bool) {
	if s.sections == 0 {
		return 0, 0, 0, false
	}
	low = 1
	var squares float64
	for _, n := range s.perClient {
		x := float64(n) / float64(s.sections)
		squares += x * x
		low, high = min(low, x), max(high, x)
	}
	return 1 / (float64(len(s.perClient)) * squares), low, high, true
}

// statsOf reads a history's lines once.
func statsOf(h *histories.Header, next func() (histories.Line, error)) (*trialStats, error) {
	t := tracker{
		clients: int32(h.Clients),
		slack:   h.SlackOr(),
		stats:   &trialStats{samples: newSamples(), perClient: make([]int, h.Clients), first: -1},
		asking:  map[int32]ask{},
		holds:   map[int64]*hold{},
		freed:   map[string]freed{},
		keys:    map[string]bool{},
	}
	cover, err := histories.Replay(next, t.visit)
	if err != nil {
		return nil, err
	}
	t.end(cover)
	return t.stats, nil
}

// tracker follows who asks for what and who holds it.
type tracker struct {
	clients int32
	slack   time.Duration
	stats   *trialStats
	asking  map[int32]ask    // acquires in flight
	holds   map[int64]*hold  // not released
	freed   map[string]freed // keys released to somebody waiting, and not granted since
	keys    map[string]bool
}

// freed is a release with somebody waiting.
type freed struct {
	at    time.Duration
	asked string // what they asked for
}

type ask struct {
	key       string // as asked for: a lock may choose a segment of it
	due       time.Duration
	contended bool
}

type hold struct {
	client     int32
	life       int32
	asked, key string
	since      time.Duration
	until      time.Duration // of its promise: a dead client's hold does not count for ever
	inner      bool          // a re-entry
}

// measured tells whether a client is one of the workload's; without a count in the header all are.
func (t *tracker) measured(client int32) bool {
	return client >= 0 && (t.clients == 0 || client < t.clients)
}

func (t *tracker) visit(ev histories.Event) error {
	op := ev.Op
	if t.measured(op.Client) && !op.Kind.SelfStarted() && t.stats.first < 0 {
		t.stats.first = op.Call
	}
	switch {
	case op.Kind == histories.Acquire && !ev.Return:
		t.ask(op)
	case op.Kind == histories.Acquire:
		t.answered(op)
	case op.Kind == histories.Release && !ev.Return:
		t.release(op)
	case op.Kind == histories.Release && t.measured(op.Client):
		t.stats.last = max(t.stats.last, op.Return)
	case op.EndsClient() && !ev.Return:
		if a, ok := t.asking[op.Client]; ok { // nobody waits for it any more
			delete(t.asking, op.Client)
			t.forget(a.key)
		}
	case op.Kind == histories.Renew && op.Outcome == histories.OK:
		if h, until := t.holds[holdID(op)], promised(op, t.slack); h != nil {
			h.until = until
		}
	case op.Kind == histories.Lost:
		if h := t.holds[holdID(op)]; h != nil {
			h.until = op.Call
		}
	}
	return nil
}

func (t *tracker) ask(op *histories.Op) {
	a := ask{key: op.Key, due: op.Due}
	for _, other := range t.asking {
		a.contended = a.contended || other.key == op.Key
	}
	for _, h := range t.holds {
		a.contended = a.contended || h.asked == op.Key && h.client != op.Client && h.until > op.Call
	}
	t.asking[op.Client] = a
	if t.measured(op.Client) {
		t.keys[op.Key] = true
	}
}

func (t *tracker) answered(op *histories.Op) {
	a, ok := t.asking[op.Client]
	if !ok {
		return // it was gone when the answer came
	}
	delete(t.asking, op.Client)
	inner := t.reentry(op)
	if op.Outcome == histories.OK {
		t.stats.grants++
		t.holds[holdID(op)] = &hold{
			client: op.Client, life: op.Life, asked: a.key, key: op.Key,
			since: op.Return, until: promised(op, t.slack), inner: inner,
		}
	}
	if t.measured(op.Client) {
		t.waited(op, a, inner)
	}
	t.forget(a.key)
}

// reentry tells whether a key was asked for by the client that held it, whatever the lock counts.
func (t *tracker) reentry(op *histories.Op) bool {
	for _, h := range t.holds {
		if h.client == op.Client && h.life == op.Life && h.key == op.Key {
			return true
		}
	}
	return op.Depth > 1
}

// waited records how long the acquire of a measured client took.
func (t *tracker) waited(op *histories.Op, a ask, inner bool) {
	granted := op.Outcome == histories.OK
	wait := Wait{NS: int64(op.Return - a.due), Ended: GaveUp}
	if granted {
		wait.Ended = Granted
	}
	t.stats.longest = longer(t.stats.longest, wait)
	switch {
	case granted && inner:
		t.stats.reentries++
		return
	case granted:
		t.handOff(op)
	}
	t.record(classOf(op.Outcome, a.contended), op.Return-a.due)
}

// handOff ends a hand-off: somebody was waiting when the key was released, and now somebody has it.
func (t *tracker) handOff(op *histories.Op) {
	if f, ok := t.freed[op.Key]; ok {
		t.record(handOffs, op.Return-f.at)
		delete(t.freed, op.Key)
	}
}

// forget gives up the hand-offs for which nobody waits any more: what comes later is no hand-off.
func (t *tracker) forget(asked string) {
	for _, a := range t.asking {
		if a.key == asked {
			return
		}
	}
	maps.DeleteFunc(t.freed, func(_ string, f freed) bool { return f.asked == asked })
}

func (t *tracker) release(op *histories.Op) {
	h := t.holds[holdID(op)]
	delete(t.holds, holdID(op))
	if h == nil || h.inner || !t.measured(op.Client) {
		return
	}
	t.stats.sections++
	for int(op.Client) >= len(t.stats.perClient) { // only where the header does not count them
		t.stats.perClient = append(t.stats.perClient, 0)
	}
	t.stats.perClient[op.Client]++
	t.stats.last = max(t.stats.last, op.Call) // its return, if there is one, comes later
	t.record(holdTimes, op.Call-h.since)
	for _, a := range t.asking {
		if a.key == h.asked { // of another client: this one releases
			t.freed[h.key] = freed{op.Call, h.asked}
		}
	}
}

func (t *tracker) record(c class, d time.Duration) {
	if !t.stats.samples.record(c, d) {
		t.stats.outOfRange++
	}
}

// end counts the acquires that were cut off.
func (t *tracker) end(cover histories.Coverage) {
	s := t.stats
	s.cover, s.keys = cover, len(t.keys)
	s.first = max(s.first, 0)
	for client, a := range t.asking {
		if t.measured(client) {
			s.cutOff++
			s.longest = longer(s.longest, Wait{NS: int64(max(0, cover.Until-a.due)), Ended: CutOff})
		}
	}
}

// holdID is the number of the hold; histories written by hand may leave it out, and mean the client's only one.
func holdID(op *histories.Op) int64 {
	return cmp.Or(op.Hold, -int64(op.Client)-2)
}

// promised is the end of a promise; without one it is taken to last.
func promised(op *histories.Op, slack time.Duration) time.Duration {
	if until, ok := op.Until(slack); ok {
		return until
	}
	return histories.Forever
}
