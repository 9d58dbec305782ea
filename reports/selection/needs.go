package selection

import (
	"slices"
	"time"
)

// Needs is what a team needs of whatever keeps two from doing the same thing at once.
type Needs struct {
	Name    string  `json:"name" yaml:"name"`
	Guards  string  `json:"guards,omitempty" yaml:"guards,omitempty"` // what is guarded, for people
	TwoHold Harm    `json:"if_two_hold" yaml:"if_two_hold"`
	Instead []Means `json:"instead,omitempty" yaml:"instead,omitempty"` // what could decide it without a lock
	Fence   Check   `json:"checks_fence" yaml:"checks_fence"`

	Hold     Times         `json:"hold" yaml:"hold"` // how long the work under the lock takes
	Pauses   Pauses        `json:"pauses" yaml:"pauses"`
	Recovery time.Duration `json:"recovery_within_ns" yaml:"recovery_within"` // from the death of a holder to the next grant; 0: whenever

	Clients  int           `json:"clients" yaml:"clients"`                         // that want the busiest lock at once
	Rate     float64       `json:"rate_per_second,omitempty" yaml:"rate"`          // grants of the busiest lock that are wanted; 0: as they come
	Wait     time.Duration `json:"wait_ns,omitempty" yaml:"wait"`                  // a client's patience; 0: until granted
	Fair     bool          `json:"fair,omitempty" yaml:"fair"`                     // nobody may be passed over for long
	Commands float64       `json:"commands_at_most,omitempty" yaml:"commands"`     // of the store, for each grant; 0: any
	Reenters bool          `json:"reenters,omitempty" yaml:"reenters"`             // an owner asks again for what it holds
	Language []string      `json:"languages,omitempty" yaml:"languages"`           // that its users are written in
	Stores   []string      `json:"stores" yaml:"stores"`                           // that are there, and run by somebody: store, or store@deployment
	Survives []Trouble     `json:"survives_store,omitempty" yaml:"survives_store"` // what befalls a store and may not let two in

	Weights map[string]float64 `json:"weights" yaml:"weights"` // of the criteria, by name; a criterion that is not named has 1

	// HoldRecorded says where Hold comes from, if it was read from histories; empty: it was given.
	HoldRecorded string `json:"hold_recorded,omitempty" yaml:"-"`

	Assumed []string `json:"assumed,omitempty" yaml:"-"` // the needs that nobody stated, so that their defaults stand here
}

// Harm is what becomes of it if two hold the lock at once.
type Harm string

const (
	Corruption Harm = "corruption"  // wrong data, money, stock: it must not happen
	WastedWork Harm = "wasted-work" // something is done twice, which costs time and nothing else
)

// Means is what can decide a race without a lock.
type Means string

const (
	Idempotent Means = "idempotent"      // the operation can be done twice: the second changes nothing
	Compare    Means = "compare-and-set" // a unique constraint, a version column, a conditional write
	Row        Means = "database-row"    // all that is guarded is changed in one transaction of one database
)

// Check is what the guarded resource does with fencing tokens.
type Check string

const (
	NoCheck  Check = "nothing"
	OnWrites Check = "writes"           // it refuses a write whose token is lower than the highest that it wrote with
	OnAll    Check = "reads-and-writes" // a read raises the mark too
)

// Trouble is what befalls a store.
type Trouble string

const (
	Restart  Trouble = "restart"  // it comes back, with what it has on disk
	Failover Trouble = "failover" // a replica takes over
	Clock    Trouble = "clock"    // its clock jumps
	Eviction Trouble = "eviction" // it drops keys for want of memory
)

// Times are quantiles of a duration.
type Times struct {
	P50 time.Duration `json:"p50_ns" yaml:"p50"`
	P99 time.Duration `json:"p99_ns" yaml:"p99"`
	Max time.Duration `json:"max_ns" yaml:"max"`
}

// Pauses are how a process stands still: collections, a host that is busy, a machine that is moved.
type Pauses struct {
	PerHour float64       `json:"per_hour" yaml:"per_hour"` // of one process
	P50     time.Duration `json:"p50_ns" yaml:"p50"`
	P99     time.Duration `json:"p99_ns" yaml:"p99"`
	Longest time.Duration `json:"longest_ns" yaml:"longest"` // that was ever seen
	// Measured says where the figures come from, if they were measured by lockbench; empty: they were given.
	Measured string `json:"measured,omitempty" yaml:"-"`
}

// Unstated reports whether a need, by its key in the file, is a default that nobody stated.
func (n Needs) Unstated(key string) bool { return slices.Contains(n.Assumed, key) }

// Weight returns the weight of a criterion.
func (n Needs) Weight(criterion string) float64 {
	if w, said := n.Weights[criterion]; said {
		return w
	}
	return 1
}
