// Package impls defines the locks under test. Lock is the interface, with its Request and Grant. Env holds the servers and
// parameters with which a lock is opened. Impl describes a lock and its expectations. Each store has a package with its
// locks, and package catalog lists all locks. Some locks are defective on purpose, as published in articles. Their comments
// and expectations say so.
//
// The same code runs on real servers and in virtual time. A lock may therefore use only time, context and its Env. It must
// not use global randomness, leave goroutines after Close, or hold a mutex across a sleep or a command.
package impls

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/histories"
)

// ErrBusy and ErrNotHeld are definite: the operation had no effect. After any other error of a lock, the operation may
// have had an effect.
var (
	ErrBusy    = errors.New("busy")
	ErrNotHeld = errors.New("not held")
	ErrClosed  = errors.New("the lock is closed")
)

// CheckTTL returns an error if a TTL is less than 1 ms, which a server would round to 0.
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
	Key       string        // identifies the lock to acquire
	Owner     string        // owner of the hold; a re-entrant lock grants a nested hold to the same owner
	TTL       time.Duration // requested lease; ignored by locks without a lease
	Wait      time.Duration // 0: try once; > 0: timeout; < 0: wait until the context ends
	KeepAlive bool          // whether the lock must renew the hold until the release; no effect on locks that always renew
}

// Grant describes a lock that was granted. It is plain data, so that it can be sent to another process.
type Grant struct {
	Key       string // the locked key; for a Segmenter, the locked segment
	Owner     string
	Token     string        // identifies this grant in the store
	Fence     int64         // fencing token; 0: none
	Depth     int           // nesting depth; 1: outermost grant; 0: the lock does not count nested grants
	SentAfter time.Duration // time from the call of Acquire to sending the request that was granted
	Validity  time.Duration // promised duration of the hold, counted from the time at which the granted request was sent (see SentAfter); Unbounded: no end; 0: unknown
	Ref       int64         // ID under which the lock stores its record of the hold; 0: no record
}

// Hold is a grant with a channel that is closed when the hold is lost.
type Hold struct {
	Grant
	Lost <-chan struct{} // closed when the lock knows that the hold is lost; nil: the lock does not report losses
	// LostAfter returns the time from the call of Acquire to the loss of the hold. It may be called only after Lost is
	// closed. LostAfter is nil if the lock closes Lost soon after every loss.
	LostAfter func() time.Duration
}

// Lock is the lock client of one process. All clients of the process share it.
type Lock interface {
	// Acquire requests the lock, and waits for the lock as specified by Request.Wait. It returns ErrBusy if the last answer
	// was a refusal. The request then has no effect.
	Acquire(context.Context, Request) (Hold, error)
	// Release ends a hold. It returns ErrNotHeld if the store no longer has the hold. The release then has no effect.
	Release(context.Context, Grant) error
	// Close stops the lock's goroutines and ends its sessions. It does not release the remaining holds.
	Close() error
}

// Renewer is a lock with a method that extends a grant. A lock that renews by itself need not implement Renewer.
type Renewer interface {
	// Renew extends a grant. It returns the grant with the new validity, and with SentAfter counted from the call of Renew.
	// It returns ErrNotHeld only if the store no longer has the hold.
	Renew(context.Context, Grant) (Grant, error)
}

// Segmenter is a lock that splits a key into segments. Each request locks one segment, and successive requests use
// different segments. Acquire sets the key of the returned Hold to the segment, even if it returns an error.
type Segmenter interface {
	// Segments returns the segments of a key. Each grant locks one of these segments.
	Segments(key string) []string
}

// Prober is a lock that can query the store for the holder of a key. If a hold is lost in a trial with faults, lockbench
// sends this query from a process without faults.
type Prober interface {
	// Probe returns the token stored for the key, or "" if the key is free. left is the remaining time of the hold, or
	// Unbounded if the hold does not expire.
	Probe(ctx context.Context, key string) (token string, left time.Duration, err error)
}

// Impl describes a lock of the catalog: its name and properties, how to open it, and its expectations.
type Impl struct {
	Name           string
	Doc            string        // description of the lock in one sentence
	Store          string        // name of the store, such as "redis" or "mysql"; "": no store
	Deployment     string        // default deployment: single, replica, five or three; "" without a store
	Control        bool          // whether the lock is a negative control: a known-broken lock that the suite must detect
	ThirdParty     bool          // whether the lock is a third-party library; such a lock runs only if it is selected
	Tracks         bool          // whether the lock needs client tracking, which the emulator lacks; such a lock does not run in virtual time
	Reentrant      bool          // whether the holder can acquire the lock again
	Renews         bool          // whether the lock renews a hold by itself
	Extends        bool          // whether a client can extend a hold on request (see Renewer)
	Leased         bool          // whether a hold ends with its lease unless it is renewed
	Session        bool          // whether a hold is bound to a session of the store, and ends with the session
	TwoSteps       bool          // whether an acquire consists of two commands
	TwoStepRelease bool          // whether a release compares and deletes in two commands
	Notifies       bool          // whether the store notifies waiters of a release
	ReportsLoss    bool          // whether the lock reports the loss of a hold (Hold.Lost)
	CleansUp       bool          // whether the lock removes what an abandoned acquire left in the store, as soon as the store answers
	ChecksLease    bool          // whether the lock refuses a grant whose lease ended before the acquire returns
	SkipsDead      bool          // whether a waiter whose process has ended delays no other waiter
	ExactTry       bool          // whether a try is refused (busy) only while another client holds the lock
	Lease          time.Duration // longest lease that a test may request; 0: no limit
	Shortest       time.Duration // shortest lease that the lock supports; 0: no limit
	FirstLease     int           // part of the requested lease that a grant promises until the first renewal, in per cent; 0: all of it
	BackOff        time.Duration // longest delay between two tries of a waiter
	Fences         bool          // whether grants have fencing tokens
	LocalOwners    bool          // whether owners in two processes may have the same name
	AllowsDrift    bool          // whether a grant promises 1 % less than its lease, so that the clocks of servers may run fast
	Expect         []Expectation
	Open           func(Env) (Lock, error) // called once per process; nil for a lock in another program
	Program        *Program                // nil for a lock in this program
}

// Program describes a lock in another program. The program speaks the worker protocol.
type Program struct {
	Command        []string
	Version        int           // version of the worker protocol
	Start          time.Duration // time limit for the first line of a process
	Step           time.Duration // every lease is a multiple of this duration; 0: any lease
	WaitsInside    bool          // whether an acquire waits inside the worker program, so that lockbench does not know when the granted request was sent
	SilentRenewals bool          // whether the lock may renew holds without reporting the renewals
	CannotCancel   bool          // whether an acquire cannot be cancelled
	Rereleases     bool          // whether a release may be repeated if its outcome is unknown
	FixedClock     string        // why lockbench cannot move the wall clock of the program's processes; "": it can
}

// Granting returns the shortest supported lease that is not shorter than ttl.
func (i Impl) Granting(ttl time.Duration) time.Duration {
	if i.Program == nil {
		return ttl
	}
	ttl = max(ttl, i.Shortest)
	if step := i.Program.Step; step > 0 {
		ttl = (ttl + step - 1) / step * step
	}
	return ttl
}

// Situation describes the conditions of a trial: workload, fault, deployment and number of processes.
type Situation struct {
	Workload   string
	Special    bool // whether the workload goes beyond ordinary locking, for example by misuse
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
	Workload string // name of the workload; "": every workload that is not special (see Situation.Special)
	Fault    string
	// Deployment limits the expectation to one deployment. If it is "", the expectation applies to each deployment that has
	// no separate expectation.
	Deployment string
	Expected   histories.Expected
	Because    string
	// Processes is the minimum number of processes. The expectation does not apply to runs with fewer processes.
	Processes int
}
