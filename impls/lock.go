// Package impls defines what a lock is: the interface Lock, the Request and the Grant, the Env that a lock is opened in,
// and Impl, which describes a lock and what it is expected to do. The locks themselves are in packages by store; package
// catalog has the table of all of them. Some are defective on purpose, exactly as they are found in articles and in the
// wild; their comments and expectations say so.
//
// The same code runs on a real server and in virtual time. It therefore uses time, context and its Env, and nothing else
// of the world: no global randomness, no goroutine that outlives its lock, and no mutex that is held across a sleep or a
// command.
package impls

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrBusy and ErrNotHeld are definite: the operation had no effect. Every other error of a lock is indeterminate: the
// operation may or may not have taken effect.
var (
	ErrBusy    = errors.New("busy")
	ErrNotHeld = errors.New("not held")
	ErrClosed  = errors.New("the lock is closed")
)

// CheckTTL refuses a TTL that a server would round to nothing.
func CheckTTL(ttl time.Duration) error {
	if ttl < time.Millisecond {
		return fmt.Errorf("ttl %v: want at least 1ms", ttl)
	}
	return nil
}

// Affected returns ErrNotHeld if a release or renewal affected nothing in the store.
func Affected(n int64, err error) error {
	if err == nil && n == 0 {
		return ErrNotHeld
	}
	return err
}

// Unbounded is the validity of a grant whose lock states no end for it.
const Unbounded time.Duration = -1

// Request asks for a lock.
type Request struct {
	Key       string        // what is to be exclusive
	Owner     string        // who asks; a re-entrant lock grants again to the same owner
	TTL       time.Duration // the lease; locks without one ignore it
	Wait      time.Duration // 0: try once; > 0: wait so long; < 0: wait until the context ends
	KeepAlive bool          // to be renewed by the lock until its release; locks that renew always do so anyway
}

// Grant is a lock that was given. It is plain data, so that it can cross a pipe.
type Grant struct {
	Key       string // what is exclusive; not always the key that was asked for
	Owner     string
	Token     string        // names this grant in the store
	Fence     int64         // fencing token; 0: the lock mints none
	Depth     int           // 1 for the outermost grant; 0: the lock does not count
	SentAfter time.Duration // from the call of Acquire to the sending of the attempt that won
	Validity  time.Duration // what was promised from that sending on; Unbounded: no end; 0: unknown
	Ref       int64         // whatever lets the lock find what it keeps of this grant; 0: nothing
}

// Hold is a grant and the way to learn of its loss.
type Hold struct {
	Grant
	Lost <-chan struct{} // closed when the hold is known to be lost; nil: this lock cannot tell
	// LostAfter is the time from the call of Acquire to the loss, once Lost is closed. It is set where the
	// loss becomes known later than it was noticed: in another process.
	LostAfter func() time.Duration
}

// Lock is one process's lock, shared by that process's clients.
type Lock interface {
	// Acquire asks for a lock. ErrBusy is definite: the last answer was read, and it was no.
	Acquire(context.Context, Request) (Hold, error)
	// Release gives a hold up. ErrNotHeld is definite: the store no longer had it for this owner.
	Release(context.Context, Grant) error
	// Close abandons: it stops goroutines and sessions and releases nothing.
	Close() error
}

// Renewer extends a grant when its client asks. A lock that renews by itself needs no Renewer.
type Renewer interface {
	// Renew returns the grant with the validity of the renewal, and SentAfter from its call on. ErrNotHeld is definite.
	Renew(context.Context, Grant) (Grant, error)
}

// Segmenter splits a key into several: whoever holds one of them holds that one only. Its Acquire names the
// segment that was asked for in the Hold also where it returns an error. A process takes the segments in turn.
type Segmenter interface {
	// Segments are the keys that a grant of key may name.
	Segments(key string) []string
}

// Prober asks the store itself who holds a key, on a connection that no fault touches.
type Prober interface {
	// Probe returns the token in the store ("" if the key is free) and the time it has left (Unbounded: no end).
	Probe(ctx context.Context, key string) (token string, left time.Duration, err error)
}
