package selection

import "strings"

// Option is something that a team can choose.
type Option struct {
	Name       string `json:"name"` // of a lock in the table, lock@deployment, or one of the Means
	Kind       Kind   `json:"kind"`
	Doc        string `json:"doc"` // one sentence
	Store      string `json:"store,omitempty"`
	Deployment string `json:"deployment,omitempty"`
	Lease      Lease  `json:"lease,omitempty"`
	Reentrant  bool   `json:"reentrant,omitempty"`
	Fences     bool   `json:"fences,omitempty"`
	// Languages are those in which it is to be had, and as what; "any": it is a few commands, or a script.
	Languages    map[string]string `json:"languages,omitempty"`
	ShortestNS   int64             `json:"shortest_lease_ns,omitempty"` // lease that is asked of it to show what it does; 0: any
	BackOffNS    int64             `json:"back_off_ns,omitempty"`       // the longest time between two tries of a waiter; 0: it is notified
	Expectations []Expectation     `json:"expectations,omitempty"`      // the violations that its own table expects
}

// Kind tells locks from their replacements.
type Kind string

const (
	ALock  Kind = "lock"
	NoLock Kind = "no-lock" // something that takes the place of a lock
)

// Lease is how a hold that is not released ends.
type Lease string

const (
	NoLease    Lease = "none"       // nothing
	Fixed      Lease = "fixed"      // after a time, never renewed
	Renewed    Lease = "renewed"    // after a time, which the holder's process renews
	Connection Lease = "connection" // the end of the holder's connection
)

// Expectation is a violation that a lock's own table expects, and why.
type Expectation struct {
	Property   string `json:"property"`
	Workload   string `json:"workload,omitempty"`
	Fault      string `json:"fault"`
	Deployment string `json:"deployment,omitempty"`
	Because    string `json:"because"`
}

// Lock returns the lock of lock@deployment.
func (o Option) Lock() string {
	lock, _, _ := strings.Cut(o.Name, "@")
	return lock
}
