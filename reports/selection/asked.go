package selection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"

	"lockbench/reports/format"
)

type asked struct {
	Key    string // in the file of needs
	Title  string
	Answer string
	Tag    string // stated; assumed; or which parts of it are assumed
}

var meanings = map[string]string{
	string(Corruption): "data, money or stock is wrong: it must not happen (corruption)",
	string(WastedWork): "something is done twice, which costs time and nothing else (wasted work)",
	string(Idempotent): "the operation can be done twice",
	string(Compare):    "a unique constraint or compare-and-set",
	string(Row):        "a row of the database that holds all that is guarded",
	string(NoCheck):    "nothing: it does not look at them",
	string(OnWrites):   "it refuses a write with an older token than the newest that it wrote with",
	string(OnAll):      "it refuses a write with an older token than the newest that it has seen, also on a read",
	string(Restart):    "a restart",
	string(Failover):   "a failover to a replica",
	string(Clock):      "a jump of its clock",
	string(Eviction):   "eviction for want of memory",
}

// meaning joins the meanings of words; an unknown word stands for itself.
func meaning[T ~string](words ...T) string {
	return format.Joined(lo.Map(words, func(w T, _ int) string { return cmp.Or(meanings[string(w)], string(w)) }))
}

func (n Needs) Asks() []asked {
	yes := func(b bool) string { return lo.Ternary(b, "yes", "no") }
	times := func(p50, p99, most time.Duration) string {
		return fmt.Sprintf("p50 %s, p99 %s, longest %s", setting(p50), setting(p99), setting(most))
	}
	weights := lo.MapToSlice(n.Weights, func(name string, w float64) string { return name + " " + format.Short(w) })
	slices.Sort(weights)
	all := []asked{
		{"guards", "What is guarded", cmp.Or(n.Guards, "not stated"), ""},
		{"if_two_hold", "If two hold it at once", meaning(n.TwoHold), ""},
		{"instead", "What could decide it without a lock", cmp.Or(meaning(n.Instead...), "nothing"), ""},
		{"checks_fence", "What the guarded resource does with fencing tokens", meaning(n.Fence), ""},
		{"hold", "How long the work under the lock takes", strings.TrimSpace(times(n.Hold.P50, n.Hold.P99, n.Hold.Max) + " " + n.HoldRecorded), ""},
		{"pauses", "How processes pause", strings.TrimSpace(fmt.Sprintf("%s an hour: %s %s", format.Short(n.Pauses.PerHour), times(n.Pauses.P50, n.Pauses.P99, n.Pauses.Longest), n.Pauses.Measured)), ""},
		{"recovery_within", "The next grant after a holder’s death", lo.Ternary(n.Recovery > 0, "within "+setting(n.Recovery), "at any time"), ""},
		{"clients", "Clients that want the busiest lock at once", fmt.Sprint(n.Clients), ""},
		{"rate", "Grants of the busiest lock that are wanted", lo.Ternary(n.Rate > 0, format.Short(n.Rate)+" /s", "any number"), ""},
		{"wait", "How long a client waits", lo.Ternary(n.Wait > 0, "at most "+setting(n.Wait), "until it is granted"), ""},
		{"fair", "No client may be passed over for long", yes(n.Fair), ""},
		{"commands", "Commands of the store for each grant", lo.Ternary(n.Commands > 0, "at most "+format.Short(n.Commands), "any number"), ""},
		{"reenters", "An owner asks again for what it holds", yes(n.Reenters), ""},
		{"languages", "Languages of its users", cmp.Or(format.Joined(n.Language), "any"), ""},
		{"stores", "Stores that are there", cmp.Or(format.Joined(n.Stores), "none"), ""},
		{"survives_store", "What may happen to the store without two holders", cmp.Or(meaning(n.Survives...), "nothing"), ""},
		{"weights", "Weights of the criteria", lo.Ternary(len(weights) > 0, strings.Join(append(weights, "others 1"), ", "), "all alike"), ""},
	}
	for i := range all {
		all[i].Tag = n.origin(all[i].Key)
	}
	return all
}

// origin says whether a need was stated, or which parts of it are assumed.
func (n Needs) origin(key string) string {
	if n.Unstated(key) {
		return "assumed"
	}
	parts := lo.FilterMap(n.Assumed, func(a string, _ int) (string, bool) { return strings.CutPrefix(a, key+".") })
	return lo.Ternary(len(parts) > 0, format.Joined(parts)+" assumed", "stated")
}

func (n Needs) Again() []string {
	all := []string{
		"The store, the lock or its library changes its version, or the store its settings or its deployment.",
		fmt.Sprintf("Work under the lock takes longer than %s, or a process pauses for longer than %s: watch both.", setting(n.Hold.Max), setting(n.Pauses.Longest)),
		fmt.Sprintf("More than %s want one lock at once.", format.Plural(n.Clients, "client")),
	}
	if n.Recovery > 0 {
		all = append(all, fmt.Sprintf("%s from the death of a holder to the next grant is too long, or longer than it must be.", setting(n.Recovery)))
	}
	return append(all, "A year has passed.")
}

// Needs holds what a team needs of a lock, or of what replaces it.
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
	Fair     bool          `json:"fair,omitempty" yaml:"fair"`                     // no client may wait for long while others are served
	Commands float64       `json:"commands_at_most,omitempty" yaml:"commands"`     // of the store, for each grant; 0: any
	Reenters bool          `json:"reenters,omitempty" yaml:"reenters"`             // an owner asks again for what it holds
	Language []string      `json:"languages,omitempty" yaml:"languages"`           // that its users are written in
	Stores   []string      `json:"stores" yaml:"stores"`                           // that the team runs: store, or store@deployment
	Survives []Trouble     `json:"survives_store,omitempty" yaml:"survives_store"` // events of a store under which two clients may not hold

	Weights map[string]float64 `json:"weights" yaml:"weights"` // of the criteria, by name; a criterion that is not named has 1

	// HoldRecorded says where Hold comes from, if it was read from histories; empty: it was given.
	HoldRecorded string `json:"hold_recorded,omitempty" yaml:"-"`

	Assumed []string `json:"assumed,omitempty" yaml:"-"` // the needs that were not stated, and have their defaults
}

// Harm is the damage if two clients hold the lock at once.
type Harm string

const (
	Corruption Harm = "corruption"  // wrong data, money, stock: it must not happen
	WastedWork Harm = "wasted-work" // something is done twice, which costs time and nothing else
)

// Means is a way to decide a race without a lock.
type Means string

const (
	Idempotent Means = "idempotent"      // the operation can be done twice: the second changes nothing
	Compare    Means = "compare-and-set" // a unique constraint, a version column, a conditional write
	Row        Means = "database-row"    // all that is guarded is changed in one transaction of one database
)

// Check says which operations the guarded resource refuses by fencing tokens.
type Check string

const (
	NoCheck  Check = "nothing"
	OnWrites Check = "writes"           // it refuses a write whose token is lower than the highest that it wrote with
	OnAll    Check = "reads-and-writes" // a read raises the mark too
)

// Trouble is an event of a store.
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

// Pauses are how a process is paused: collections, a busy host, a moved machine.
type Pauses struct {
	PerHour float64       `json:"per_hour" yaml:"per_hour"` // of one process
	P50     time.Duration `json:"p50_ns" yaml:"p50"`
	P99     time.Duration `json:"p99_ns" yaml:"p99"`
	Longest time.Duration `json:"longest_ns" yaml:"longest"` // that was ever seen
	// Measured says where the figures come from, if they were measured by lockbench; empty: they were given.
	Measured string `json:"measured,omitempty" yaml:"-"`
}

// Unstated reports whether a need, by its key in the file, has its default.
func (n Needs) Unstated(key string) bool { return slices.Contains(n.Assumed, key) }

// Weight returns the weight of a criterion.
func (n Needs) Weight(criterion string) float64 { return lo.ValueOr(n.Weights, criterion, 1) }
