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
	holds map[[2]string]watched // by key and token; what was released stays, for a renewal may come after it
}

// watched is whose a renewal is.
type watched struct {
	log  *histories.Log
	hold int64
	call time.Duration // of its acquire
}

// NewWatch returns a watch for one trial.
func NewWatch() *Watch { return &Watch{holds: map[[2]string]watched{}} }

func (w *Watch) holding(g impls.Grant, of watched) {
	if g.Token == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holds[[2]string{g.Key, g.Token}] = of
}

// Renewed records a renewal. One that is told before its client has read the grant is left out: the promise
// then counts as shorter than it was, never as longer.
func (w *Watch) Renewed(g impls.Grant, sent time.Duration, err error) {
	w.mu.Lock()
	of, ok := w.holds[[2]string{g.Key, g.Token}]
	w.mu.Unlock()
	if !ok {
		return
	}
	op := histories.Op{Kind: histories.Renew, Hold: of.hold, Key: g.Key, Call: of.call + sent}
	switch {
	case err == nil:
		op.Outcome, op.Validity = histories.OK, g.Validity
	case errors.Is(err, impls.ErrNotHeld):
		op.Outcome, op.Error = histories.Refused, err.Error()
	default:
		op.Error = err.Error()
	}
	of.log.Note(op)
}
