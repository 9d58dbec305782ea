// Package impls defines locks under test: the interface Lock, its Request and Grant, the Env in which a lock is opened, and
// Impl, which describes a lock and its expectations. The locks are in packages by store; package catalog has the table.
// Some are defective on purpose, as articles publish them; their comments and expectations say so.
//
// The same code runs on real servers and in virtual time. A lock therefore uses only time, context and its Env: no global
// randomness, no goroutine that outlives the lock, and no mutex that is held across a sleep or a command.
package impls

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/histories"
)

// ErrBusy and ErrNotHeld are definite: the operation had no effect. Every other error of a lock is indeterminate.
var (
	ErrBusy    = errors.New("busy")
	ErrNotHeld = errors.New("not held")
	ErrClosed  = errors.New("the lock is closed")
)

// CheckTTL refuses a TTL that a server would round to 0.
func CheckTTL(ttl time.Duration) error {
	if ttl < time.Millisecond {
		return fmt.Errorf("ttl %v: want at least 1ms", ttl)
	}
	return nil
}

// Affected returns ErrNotHeld if a release or renewal affected no entry of the store, and otherwise err.
func Affected(n int64, err error) error {
	if err == nil && n == 0 {
		return ErrNotHeld
	}
	return err
}

// Unbounded is the validity of a grant that does not expire.
const Unbounded time.Duration = -1

// Request is a request for a lock.
type Request struct {
	Key       string        // to be locked
	Owner     string        // the requester; a re-entrant lock grants again to the same owner
	TTL       time.Duration // the lease; ignored by locks without one
	Wait      time.Duration // 0: try once; > 0: timeout; < 0: wait until the context ends
	KeepAlive bool          // the lock shall renew until the release; locks that always renew ignore it
}

// Grant is a granted lock. It is plain data, so that it can cross a pipe.
type Grant struct {
	Key       string // the locked key, which may be a segment of the requested one
	Owner     string
	Token     string        // identifies this grant in the store
	Fence     int64         // fencing token; 0: none
	Depth     int           // 1 for the outermost grant; 0: the lock does not count
	SentAfter time.Duration // from the call of Acquire to the request that was granted
	Validity  time.Duration // promised time from that request on; Unbounded: no end; 0: unknown
	Ref       int64         // for the lock's use; 0: none
}

// Hold is a grant with a signal of its loss.
type Hold struct {
	Grant
	Lost <-chan struct{} // closed when the hold is known to be lost; nil: the lock does not report losses
	// LostAfter returns the time from the call of Acquire to the loss, once Lost is closed. It is set if the report comes
	// later than the loss, as from another process.
	LostAfter func() time.Duration
}

// Lock is the lock of one process, shared by that process's clients.
type Lock interface {
	// Acquire requests a lock. ErrBusy is definite: the last answer was a refusal.
	Acquire(context.Context, Request) (Hold, error)
	// Release ends a hold. ErrNotHeld is definite: the store no longer had it for this owner.
	Release(context.Context, Grant) error
	// Close abandons all holds: it stops goroutines and sessions and releases nothing.
	Close() error
}

// Renewer extends a grant at the client's request. A lock that renews by itself need not be a Renewer.
type Renewer interface {
	// Renew returns the grant with its new validity, and SentAfter counted from the call of Renew. ErrNotHeld is definite.
	Renew(context.Context, Grant) (Grant, error)
}

// Segmenter splits a key into segments and locks one at a time, in turn. Its Acquire returns the requested segment in the
// Hold, also with an error.
type Segmenter interface {
	// Segments returns the keys that a grant of key may name.
	Segments(key string) []string
}

// Prober queries the store for the holder of a key, on a connection that no fault affects.
type Prober interface {
	// Probe returns the token in the store ("" if the key is free) and its remaining time (Unbounded: no end).
	Probe(ctx context.Context, key string) (token string, left time.Duration, err error)
}

// Impl describes a lock of the table: how to open it, and its expectations.
type Impl struct {
	Name           string
	Doc            string        // one sentence that describes the lock
	Store          string        // "redis", "mysql", ..., or "" for none
	Deployment     string        // the usual one: single, replica, five or three; "" without a store
	Control        bool          // a negative control, which is in the table because of its defect
	ThirdParty     bool          // a third-party library, called as its users call it; run only if the user names it
	Tracks         bool          // needs client tracking, which no emulator has, so it cannot run in virtual time
	Reentrant      bool          // grants again to its holder
	Renews         bool          // renews by itself while held
	Session        bool          // held by a session of its store, and free when that ends
	TwoSteps       bool          // its acquire is two commands
	TwoStepRelease bool          // its release is a comparison and then a deletion
	Notifies       bool          // notifies its waiters by pub/sub
	ExactTry       bool          // promises to refuse (busy) only while a client holds
	Lease          time.Duration // the longest lease to request; 0: any
	Shortest       time.Duration // the shortest lease that shows its behaviour; 0: any
	Late           time.Duration // longest time for which its store may hold on to an expired lease; 0: negligible
	BackOff        time.Duration // longest delay between two tries of a waiter
	Fences         bool          // mints fencing tokens
	Expect         []Expectation
	Open           func(Env) (Lock, error) // called once per process; nil for a program
	Worker         []string                // the program and its arguments
}

// Situation describes a trial of a lock.
type Situation struct {
	Workload   string
	Special    bool // the workload goes beyond ordinary use
	Fault      string
	Deployment string
	Processes  int
}

// Expected returns the lock's expectations in a situation. An expectation of the deployment or the workload overrides a
// general one; in a special workload general ones do not apply.
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

// Expectation states the expected result of a property under a fault, with the reason.
type Expectation struct {
	Property string
	Workload string // "": every workload that is not special
	Fault    string
	// Deployment limits the expectation; "": every deployment without a more specific one.
	Deployment string
	Expected   histories.Expected
	Because    string
	// Processes is the least number of processes for this expectation; with fewer it is unspecified.
	Processes int
}
