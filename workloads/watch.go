package workloads

import (
	"errors"
	"sync"
	"time"

	"lockbench/histories"
	"lockbench/impls"
)

// Watch records the automatic renewals of locks. Its method Renewed is passed to locks as Env.Renewed; clients register their
// holds.
type Watch struct {
	mu    sync.Mutex
	holds map[hold]watched   // includes the latest released holds, because a renewal may be reported after the release
	ended []hold             // the latest released holds, at most mostEnded; a ring
	next  int                // index in ended of the next one
	early map[hold][]renewal // renewals reported before the client registered the hold
}

type hold struct{ key, token string }

// watched identifies a hold by its number in a client's log.
type watched struct {
	log  *histories.Log
	hold int64
	call time.Duration // start time of the acquire

	released bool
}

type renewal struct {
	grant impls.Grant
	sent  time.Duration
	err   error
}

// mostEarly is the maximum number of holds for which renewals are stored before clients register the holds (method holding).
// Some holds are never registered, such as holds that only test a connection.
const mostEarly = 1000

// mostEnded is the maximum number of released holds whose renewals are still recorded. A trial under faults has fewer holds. A bench has
// far more, and the memory and time that they take would count as those of the lock.
const mostEnded = 4096

// NewWatch returns a Watch for one trial.
func NewWatch() *Watch { return &Watch{holds: map[hold]watched{}, early: map[hold][]renewal{}} }

// holding registers a hold so that its renewals are recorded, including renewals reported before this call. It must be
// called after the grant has been recorded. Renewals of a nested hold belong to the outermost one, unless that was released: a
// promoted replica may still have a released hold, which its owner then enters again.
func (w *Watch) holding(g impls.Grant, of watched) {
	if g.Token == "" {
		return
	}
	h := hold{g.Key, g.Token}
	w.mu.Lock()
	if outer, known := w.holds[h]; known && g.Depth > 1 && !outer.released {
		w.mu.Unlock()
		return
	}
	w.holds[h] = of
	early := w.early[h]
	delete(w.early, h)
	w.mu.Unlock()
	for _, r := range early {
		of.note(r)
	}
}

// released notes that the hold with this number was released.
func (w *Watch) released(g impls.Grant, number int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := hold{g.Key, g.Token}
	of, known := w.holds[h]
	if !known || of.hold != number || of.released {
		return
	}
	of.released = true
	w.holds[h] = of
	if len(w.ended) < mostEnded {
		w.ended = append(w.ended, h)
		return
	}
	if oldest := w.ended[w.next]; w.holds[oldest].released {
		delete(w.holds, oldest)
	}
	w.ended[w.next] = h
	w.next = (w.next + 1) % mostEnded
}

// Renewed records a renewal. It may be called before the client has received the grant.
func (w *Watch) Renewed(g impls.Grant, sent time.Duration, err error) {
	h, r := hold{g.Key, g.Token}, renewal{g, sent, err}
	w.mu.Lock()
	of, ok := w.holds[h]
	if !ok && len(w.early) < mostEarly {
		w.early[h] = append(w.early[h], r)
	}
	w.mu.Unlock()
	if ok {
		of.note(r)
	}
}

func (of watched) note(r renewal) {
	op := histories.Op{Kind: histories.Renew, Hold: of.hold, Key: r.grant.Key, Call: of.call + r.sent}
	switch {
	case r.err == nil:
		op.Outcome, op.Validity = histories.OK, r.grant.Validity
	case errors.Is(r.err, impls.ErrNotHeld):
		op.Outcome, op.Error = histories.Refused, r.err.Error()
	default:
		op.Error = r.err.Error()
	}
	of.log.Note(op)
}
