// Package lockbenchworker lets lockbench test a lock library written in Go. It is a module without dependencies, so the
// program that imports it chooses the version of the library:
//
//	func main() {
//		worker.Main(worker.Lock[*client, *lock]{Name: "my-lock", Open: open, Try: try, Release: release})
//	}
//
// Main speaks version 2 of the worker protocol, which docs/reference/worker-protocol.md describes.
package lockbenchworker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Lock describes a lock library and how to call it. C is the type of the library's client. All requests of a process
// share a client. H is the type of the library's lock object. Open, Release, and either Try or Acquire are required.
// lockbench tests Renew and Probe if they are set.
type Lock[C, H any] struct {
	Name, Doc         string
	Store, Deployment string   // default: store redis, deployment single; see docs/reference/worker-protocol.md
	Can               []string // capabilities that lockbench cannot derive from the functions below, such as Watchdog
	// Backoff is the delay of a waiter between two calls of Try; 0 means 20 ms. If Acquire is set, Backoff is the longest delay
	// between two attempts of a waiter inside Acquire.
	Backoff         time.Duration
	Shortest, Step  time.Duration // Shortest is the minimum lease, and every lease is a multiple of Step; 0: no restriction
	StartTime       time.Duration // longest time from the start of the process to the end of Open; 0: 10 s
	Busy, NotHeld   error         // the library's errors that mean ErrBusy and ErrNotHeld, if it has such errors
	Expect          []Expectation // the expectations that differ from docs/reference/expectations.md
	ReleasesUnknown bool          // whether Release accepts a hold that was never granted to this process; such a hold has no Handle

	Open func(Env) (C, error)
	// Try requests the lock once. It returns ErrBusy if another client holds the lock.
	Try func(context.Context, C, Request) (Grant[H], error)
	// Acquire requests the lock, and waits for it inside the library until the context ends. If Wait is 0, it tries once.
	Acquire func(context.Context, C, Request) (Grant[H], error)
	// Release ends a hold. It returns ErrNotHeld if the store no longer has the hold.
	Release func(context.Context, C, Hold[H]) error
	// Renew extends a hold by its TTL. It returns ErrNotHeld if the store no longer has the hold.
	Renew func(context.Context, C, Hold[H]) error
	// Probe queries the store for the token at a key ("": the key is free), and the remaining time of the hold.
	Probe func(ctx context.Context, client C, key string) (token string, left time.Duration, err error)
}

// ErrBusy and ErrNotHeld are definite refusals: the request changed nothing in the store. After any other error lockbench
// assumes that the request may have taken effect.
var (
	ErrBusy    = errors.New("busy")
	ErrNotHeld = errors.New("not held")
)

// These constants are the capabilities that the field Lock.Can may contain.
const (
	Watchdog  = "watchdog"  // the lock renews holds by itself
	Reentrant = "reentrant" // the holder (Owner) can acquire the lock again
	Lost      = "lost"      // the lock sets Grant.Lost
	Fencing   = "fencing"   // the lock sets Grant.Fence
	Notifies  = "notifies"  // the store notifies a waiter of a release
	Rerelease = "rerelease" // a release may be repeated if its outcome is unknown
	Session   = "session"   // holds end with the session of the process
)

// Expectation states the expected result of a property, and why it is not the default.
type Expectation struct {
	Property string `json:"property"`
	Verdict  string `json:"verdict"`            // holds, violated or unspecified
	Fault    string `json:"fault,omitempty"`    // "": no fault
	Workload string `json:"workload,omitempty"` // "": all ordinary workloads
	Because  string `json:"because"`
}

// Unbounded is the validity of a grant that does not expire.
const Unbounded time.Duration = -1

// Env holds the servers and settings with which a lock is opened.
type Env struct {
	Nodes   []string          `json:"nodes"`   // URLs of the servers, which may contain passwords
	CAFile  string            `json:"ca_file"` // file of the certificates to trust if a URL begins with rediss://
	Prefix  string            `json:"prefix"`  // prefix of every key in the store; Request.Key already includes it
	Process int               `json:"process"` // number of this process, from 0
	Seed    uint64            `json:"seed"`
	Params  map[string]string `json:"params"`
	TTL     time.Duration     `json:"-"` // lease requested by the acquires of the trial
}

// Request holds the parameters of an acquire.
type Request struct {
	Key, Owner string
	TTL        time.Duration
	Wait       time.Duration // 0: try once; > 0: timeout, at which the context of Acquire ends; < 0: no timeout
	KeepAlive  bool          // whether to renew the hold until the release, if the lock can
	renewed    func(sent time.Time, validity time.Duration, err error)
}

// Renewed reports a renewal that the library made without a request. sent is the time at which it was sent. err is nil
// if the renewal succeeded, and ErrNotHeld if the store refused it. After any other error its outcome is unknown.
func (r Request) Renewed(sent time.Time, validity time.Duration, err error) {
	r.renewed(sent, validity, err)
}

// Grant holds the result of a successful acquire.
type Grant[H any] struct {
	Handle   H               // the library's lock object
	Token    string          // identifies the grant in the store; "": a random token
	Fence    int64           // fencing token; 0: none
	Validity time.Duration   // promised duration of the hold; 0: the requested TTL
	Depth    int             // nesting depth, if the lock is re-entrant; 1: the outermost grant
	Lost     <-chan struct{} // closed when the library detects that the hold is lost; may be nil
}

// Hold is a grant together with the request that led to it.
type Hold[H any] struct {
	Grant[H]
	Key, Owner string
	TTL        time.Duration
}

// Main serves a lock on standard input and output until lockbench ends the worker. The program's other output goes to
// standard error. After an error Main exits with status 1.
func Main[C, H any](l Lock[C, H]) {
	out := *os.Stdout
	*os.Stdout = *os.Stderr // also redirects loggers that were created earlier
	if err := serve(l, os.Stdin, &out); err != nil {
		fmt.Fprintln(os.Stderr, scrub(err))
		os.Exit(1)
	}
}
