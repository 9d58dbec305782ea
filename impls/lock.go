// Package impls defines the locks under test: the interface Lock with its Request and Grant, the Env in which a lock is
// opened, and Impl, which describes a lock and its expectations. The locks are in one package per store; package catalog
// lists them all. Some are defective on purpose, as published in articles; their comments and expectations say so.
//
// The same code runs on real servers and in virtual time. A lock may therefore use only time, context and its Env: no global
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

// CheckTTL returns an error if a TTL is so short that a server would round it to 0.
func CheckTTL(ttl time.Duration) error {
	if ttl < time.Millisecond {
		return fmt.Errorf("ttl %v: want at least 1ms", ttl)
	}
	return nil
}

// Affected returns ErrNotHeld if a release or renewal changed no entry of the store, and otherwise err.
func Affected(n int64, err error) error {
	if err == nil && n == 0 {
		return ErrNotHeld
	}
	return err
}

// Unbounded is the validity of a grant that does not expire.
const Unbounded time.Duration = -1

// Request holds the parameters of an acquire.
type Request struct {
	Key       string        // key to lock
	Owner     string        // the requester; a re-entrant lock grants again to the same owner
	TTL       time.Duration // requested lease; ignored by locks without a lease
	Wait      time.Duration // 0: try once; > 0: timeout; < 0: wait until the context ends
	KeepAlive bool          // whether the lock must renew the hold until the release; ignored by locks that always renew
}

// Grant describes a lock that was granted. It is plain data, so that it can be sent to another process.
type Grant struct {
	Key       string // the locked key, which may be a segment of the requested one
	Owner     string
	Token     string        // identifies this grant in the store
	Fence     int64         // fencing token; 0: none
	Depth     int           // nesting depth: 1 for the outermost grant; 0: the lock does not count it
	SentAfter time.Duration // time from the call of Acquire to sending the request that was granted
	Validity  time.Duration // promised duration of the hold, counted from sending that request; Unbounded: no end; 0: unknown
	Ref       int64         // number for internal use by the lock; 0: none
}

// Hold is a grant with a channel that reports its loss.
type Hold struct {
	Grant
	Lost <-chan struct{} // closed when the lock knows that the hold is lost; nil: the lock does not report losses
	// LostAfter returns the time from the call of Acquire to the loss. It may be called once Lost is closed. It is nil unless
	// Lost may be closed long after the loss, for instance by a report from another process.
	LostAfter func() time.Duration
}

// Lock is a lock as one process sees it. All clients of the process share it.
type Lock interface {
	// Acquire requests the lock, and waits for it as specified by Request.Wait. It returns ErrBusy if the last answer was a
	// refusal; the request then has no effect.
	Acquire(context.Context, Request) (Hold, error)
	// Release ends a hold. It returns ErrNotHeld if the store no longer had the hold; the release then had no effect.
	Release(context.Context, Grant) error
	// Close stops the lock's goroutines and ends its sessions. It does not release holds explicitly.
	Close() error
}

// Renewer is a lock whose client can extend a grant. A lock that renews by itself need not implement it.
type Renewer interface {
	// Renew returns the grant with its new validity. Its SentAfter counts from the call of Renew. It returns ErrNotHeld if
	// the store definitely no longer has the hold.
	Renew(context.Context, Grant) (Grant, error)
}

// Segmenter is a lock that splits a key into segments and locks one segment per request, in turn. Acquire sets the key of
// the returned Hold to the requested segment, even if it also returns an error.
type Segmenter interface {
	// Segments returns the segments of a key, one of which is the key of each grant.
	Segments(key string) []string
}

// Prober is a lock that can query the store for the holder of a key. The query uses a connection that no fault affects.
type Prober interface {
	// Probe returns the token stored for the key ("" if the key is free) and the remaining time of the hold (Unbounded: it
	// does not expire).
	Probe(ctx context.Context, key string) (token string, left time.Duration, err error)
}

// Impl describes a lock of the catalog: its name and properties, how to open it, and its expectations.
type Impl struct {
	Name           string
	Doc            string        // one sentence that describes the lock
	Store          string        // name of the store, such as "redis" or "mysql"; "": no store
	Deployment     string        // default deployment: single, replica, five or three; "" without a store
	Control        bool          // whether the lock is a negative control: a known-broken lock that the suite must detect
	ThirdParty     bool          // whether the lock is a third-party library; it is run only if selected
	Tracks         bool          // whether the lock needs client tracking, which the emulator lacks; such a lock does not run in virtual time
	Reentrant      bool          // whether the holder can acquire the lock again
	Renews         bool          // whether the lock renews a hold by itself
	Leased         bool          // whether a hold ends with its lease unless it is renewed
	Session        bool          // whether a hold is bound to a session of the store, and ends with the session
	TwoSteps       bool          // whether an acquire consists of two commands
	TwoStepRelease bool          // whether a release compares and deletes in two commands
	Notifies       bool          // whether waiters are notified by pub/sub
	ExactTry       bool          // whether a try is refused (busy) only if another client holds the lock
	Lease          time.Duration // longest lease that a test may request; 0: no limit
	Shortest       time.Duration // shortest lease at which the lock shows its usual behaviour; 0: no limit
	Late           time.Duration // longest delay after which the store frees an expired lease; 0: negligible
	BackOff        time.Duration // longest delay between two tries of a waiter
	Fences         bool          // whether grants have fencing tokens
	Expect         []Expectation
	Open           func(Env) (Lock, error) // called once per process; nil for a lock in another program
	Worker         []string                // command line of a lock in another program
}

// Situation describes the conditions of a trial: workload, fault, deployment and number of processes.
type Situation struct {
	Workload   string
	Special    bool // whether the workload does more than ordinary locking, such as misuse
	Fault      string
	Deployment string
	Processes  int
}

// Expected returns the lock's expectations in a situation. An expectation for a particular deployment or workload overrides
// a general one. In a special workload, only expectations for that workload apply.
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

// Expectation states the expected result of a property under a fault, and the reason.
type Expectation struct {
	Property string
	Workload string // "": all workloads that are not special
	Fault    string
	// Deployment is the deployment to which the expectation is limited. "": all deployments without a more specific
	// expectation.
	Deployment string
	Expected   histories.Expected
	Because    string
	// Processes is the minimum number of processes. With fewer, the expectation does not apply.
	Processes int
}
