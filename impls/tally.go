package impls

import (
	"sync/atomic"
)

// Tally counts what a lock does by itself, for whoever wants to know. Nil counts nothing.
type Tally struct{ attempts, wasted atomic.Int64 }

// Attempt is called whenever the lock asks its store for the lock, or to be put in line for it.
func (t *Tally) Attempt() {
	if t != nil {
		t.attempts.Add(1)
	}
}

// Wasted is called when a waiter that was told to ask again was refused.
func (t *Tally) Wasted() {
	if t != nil {
		t.wasted.Add(1)
	}
}

// Attempts is how often the lock asked; 0 after grants: it does not tell.
func (t *Tally) Attempts() int64 {
	if t == nil {
		return 0
	}
	return t.attempts.Load()
}

// WastedWakeUps is how often a waiter was told to ask again in vain.
func (t *Tally) WastedWakeUps() int64 {
	if t == nil {
		return 0
	}
	return t.wasted.Load()
}
