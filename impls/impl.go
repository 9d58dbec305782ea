package impls

import (
	"time"

	"lockbench/histories"
)

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

// Situation is where a lock is looked at.
type Situation struct {
	Workload   string
	Special    bool // the workload takes the lock beyond what every use of it expects
	Fault      string
	Deployment string
	Processes  int
}

// Expected returns what is expected of this lock in a situation. An expectation of the deployment or the workload goes before
// one of all; of a special workload only its own count.
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
	Verdict    histories.Expectation
	Because    string
	// Processes is how many processes it takes to show it; with fewer the property is open.
	Processes int
}
