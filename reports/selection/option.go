package selection

import "strings"

// Option is a candidate: a lock, or a mechanism that replaces a lock.
type Option struct {
	Name       string `json:"name"` // lock, lock@deployment, or a mechanism that replaces a lock, such as "idempotent"
	Kind       Kind   `json:"kind"`
	Doc        string `json:"doc"` // description of the candidate, in one sentence
	Store      string `json:"store,omitempty"`
	Deployment string `json:"deployment,omitempty"`
	Lease      Lease  `json:"lease,omitempty"`
	Reentrant  bool   `json:"reentrant,omitempty"`
	Fences     bool   `json:"fences,omitempty"`
	// Languages maps a programming language to the name of a library that provides the lock. The key "any" applies to
	// all other languages. The value of this key describes what must be implemented.
	Languages    map[string]string `json:"languages,omitempty"`
	ShortestNS   int64             `json:"shortest_lease_ns,omitempty"` // shortest lease with which the lock is tested; 0: no minimum
	BackOffNS    int64             `json:"back_off_ns,omitempty"`       // longest retry interval of a waiter; 0: waiters are notified
	Expectations []Expectation     `json:"expectations,omitempty"`      // violations that the author of the lock expects
}

// Kind states whether a candidate is a lock or a replacement of a lock.
type Kind string

// The kinds of candidates.
const (
	ALock  Kind = "lock"
	NoLock Kind = "no-lock" // a mechanism that replaces a lock, such as a database transaction
)

// Lease states how a hold ends if it is not released.
type Lease string

const (
	NoLease    Lease = "none"       // a hold does not expire
	Fixed      Lease = "fixed"      // a hold ends when a fixed time has passed
	Renewed    Lease = "renewed"    // a hold ends when the process of the holder no longer renews the lease
	Connection Lease = "connection" // a hold ends when the connection of the holder ends
)

// Expectation is a violation that the author of a lock expects, with the reason.
type Expectation struct {
	Property   string `json:"property"`
	Workload   string `json:"workload,omitempty"`
	Fault      string `json:"fault"`
	Deployment string `json:"deployment,omitempty"`
	Because    string `json:"because"`
}

// Lock returns the name of the candidate without "@deployment".
func (o Option) Lock() string {
	lock, _, _ := strings.Cut(o.Name, "@")
	return lock
}
