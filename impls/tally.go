package impls

import "sync/atomic"

// Tally counts what a lock does by itself. Nil counts nothing.
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

// Counts returns how often the lock asked, which is 0 after grants if it does not tell, and how often a waiter was told to ask
// again in vain.
func (t *Tally) Counts() (attempts, wasted int64) {
	if t == nil {
		return 0, 0
	}
	return t.attempts.Load(), t.wasted.Load()
}
