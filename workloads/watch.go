package workloads

import (
	"errors"
	"sync"
	"time"

	"lockbench/histories"
	"lockbench/impls"
)

// Watch records what locks do by themselves. Its Renewed is for Env.Renewed; clients tell it what they hold.
type Watch struct {
	mu    sync.Mutex
	holds map[hold]watched   // what was released stays, for a renewal may come after it
	early map[hold][]renewal // told before the client has read its grant
}

// hold names what is renewed.
type hold struct{ key, token string }

// watched is whose a renewal is.
type watched struct {
	log  *histories.Log
	hold int64
	call time.Duration // of its acquire
}

// renewal is what Renewed is told.
type renewal struct {
	grant impls.Grant
	sent  time.Duration
	err   error
}

// mostEarly bounds the renewals that are kept for clients who have not read their grants: of holds that nobody
// records, such as those with which connections are made, nobody ever asks.
const mostEarly = 1000

// NewWatch returns a watch for one trial.
func NewWatch() *Watch { return &Watch{holds: map[hold]watched{}, early: map[hold][]renewal{}} }

// holding is told when a grant has been recorded.
func (w *Watch) holding(g impls.Grant, of watched) {
	if g.Token == "" {
		return
	}
	h := hold{g.Key, g.Token}
	w.mu.Lock()
	w.holds[h] = of
	early := w.early[h]
	delete(w.early, h)
	w.mu.Unlock()
	for _, r := range early {
		of.note(r)
	}
}

// Renewed records a renewal. A lock may make one before its client has read the grant.
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
