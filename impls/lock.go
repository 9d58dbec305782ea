// Package impls defines a lock: the interface Lock, the Request and the Grant, the Env that a lock is opened in, and Impl,
// which describes a lock and what it is expected to do. The locks are in packages by store; package catalog has the table.
// Some are defective on purpose, as they are found in articles; their comments and expectations say so.
//
// The same code runs on a real server and in virtual time. It therefore uses time, context and its Env, and nothing else of
// the world: no global randomness, no goroutine that outlives its lock, and no mutex that is held across a sleep or a
// command.
package impls

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/histories"
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

// Segmenter splits a key into several: a hold of one of them is of that one only. Its Acquire names the segment that was
// asked for in the Hold, also if it returns an error. A process takes the segments in turn.
type Segmenter interface {
	// Segments are the keys that a grant of key may name.
	Segments(key string) []string
}

// Prober asks the store itself who holds a key, on a connection that no fault touches.
type Prober interface {
	// Probe returns the token in the store ("" if the key is free) and the time it has left (Unbounded: no end).
	Probe(ctx context.Context, key string) (token string, left time.Duration, err error)
}

// Impl is a lock of the table: how to open it, and what it is expected to do.
type Impl struct {
	Name           string
	Doc            string        // one sentence
	Store          string        // what it talks to: "redis", "mysql", ..., or "" for nothing
	Deployment     string        // the usual one: single, replica, five or three; "" without a store
	Control        bool          // it is here for its defect, beside the lock that does without it
	Peer           bool          // a library of others, as its users call it: tried where it is named
	Tracks         bool          // it has its server track keys, which no emulator does, so that there is no virtual time for it
	Reentrant      bool          // it is meant to grant again to the owner that holds
	Renews         bool          // it renews by itself while it is held
	Session        bool          // it is held by a session of its store, and gone when that ends
	TwoSteps       bool          // its acquire is two commands
	TwoStepRelease bool          // its release is a comparison and a deletion, one after the other
	Notifies       bool          // its waiters are told by pub/sub
	ExactTry       bool          // it claims to answer "busy" only while somebody holds
	Lease          time.Duration // the longest lease that is asked of it; 0: any
	Shortest       time.Duration // the shortest lease that is asked of it to show what it does; 0: any
	Late           time.Duration // so much after a lease its store may still keep what it held; 0: nothing to speak of
	BackOff        time.Duration // the longest pause between two tries of a waiter
	Fences         bool          // it mints fencing tokens
	Expect         []Expectation
	Open           func(Env) (Lock, error) // one per process; nil for a lock that is a program
	Worker         []string                // the program and its arguments
}

// Situation is what a lock is tried in.
type Situation struct {
	Workload   string
	Special    bool // the workload takes the lock beyond what every use of it expects
	Fault      string
	Deployment string
	Processes  int
}

// Expected returns what is expected of this lock in a situation. An expectation of the deployment or the workload overrides a
// general one; a special workload has its own only.
func (i Impl) Expected(s Situation) []Expectation {
	var out []Expectation
	said := map[string]bool{}
	for _, on := range []string{s.Deployment, ""} {
		for _, of := range []string{s.Workload, ""} {
			for _, e := range i.Expect {
				applies := e.Deployment == on && e.Workload == of && e.Fault == s.Fault && s.Processes >= e.Processes
				if applies && !said[e.Property] && (of != "" || !s.Special) {
					said[e.Property] = true
					out = append(out, e)
				}
			}
		}
	}
	return out
}

// Expectation says how a property is expected to come out under a fault, and why.
type Expectation struct {
	Property string
	Workload string // "": every workload that is not special
	Fault    string
	// Deployment is the one that it is said of; "": every one of which nothing else is said.
	Deployment string
	Expected   histories.Expected
	Because    string
	// Processes is how many processes it takes to show it; with fewer the property is open.
	Processes int
}
