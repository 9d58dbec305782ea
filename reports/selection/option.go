package selection

import "strings"

// Option is a lock, or a replacement of a lock, that a team can choose.
type Option struct {
	Name       string `json:"name"` // lock, lock@deployment, or one of the Means
	Kind       Kind   `json:"kind"`
	Doc        string `json:"doc"` // one sentence
	Store      string `json:"store,omitempty"`
	Deployment string `json:"deployment,omitempty"`
	Lease      Lease  `json:"lease,omitempty"`
	Reentrant  bool   `json:"reentrant,omitempty"`
	Fences     bool   `json:"fences,omitempty"`
	// Languages holds the name of the library by language. The key "any" stands for plain commands or a script.
	Languages    map[string]string `json:"languages,omitempty"`
	ShortestNS   int64             `json:"shortest_lease_ns,omitempty"` // shortest lease in trials; 0: any
	BackOffNS    int64             `json:"back_off_ns,omitempty"`       // longest retry interval of a waiter; 0: waiters are notified
	Expectations []Expectation     `json:"expectations,omitempty"`      // violations that the author of the lock expects
}

// Kind is a lock or a replacement of a lock.
type Kind string

// The kinds of options.
const (
	ALock  Kind = "lock"
	NoLock Kind = "no-lock" // a replacement of a lock
)

// Lease is the way in which a hold without a release ends.
type Lease string

const (
	NoLease    Lease = "none"       // the hold does not end
	Fixed      Lease = "fixed"      // after a fixed time
	Renewed    Lease = "renewed"    // after a time that the process of the holder renews
	Connection Lease = "connection" // with the connection of the holder
)

// Expectation is a violation that the author of a lock expects, with the reason.
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
