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
	Key    string // key in the requirements file
	Title  string
	Answer string
	Tag    string // "stated" or "assumed"; if only some parts were assumed, the text names them, as in "p99 assumed"
}

var meanings = map[string]string{
	string(Corruption): "wrong data, money or stock: it must not happen (corruption)",
	string(WastedWork): "something is done twice, which only costs time (wasted work)",
	string(Idempotent): "the operation is idempotent",
	string(Compare):    "a unique constraint or compare-and-set",
	string(Row):        "a database row: all guarded data is in one database",
	string(NoCheck):    "it does not check them",
	string(OnWrites):   "it refuses a write whose token is lower than that of an earlier write",
	string(OnAll):      "it refuses a write whose token is lower than that of an earlier read or write",
	string(Restart):    "a restart",
	string(Failover):   "a failover to a replica",
	string(Clock):      "a jump of its clock",
	string(Eviction):   "eviction because its memory is full",
}

// meaning returns the explanations of several words, joined into one text. A word without an explanation stands for
// itself.
func meaning[T ~string](words ...T) string {
	return format.Joined(lo.Map(words, func(w T, _ int) string { return cmp.Or(meanings[string(w)], string(w)) }))
}

// Asks returns a table row for each requirement that a team can state. A row holds the value, and whether the value was stated
// or assumed.
func (n Needs) Asks() []asked {
	yes := func(b bool) string { return lo.Ternary(b, "yes", "no") }
	times := func(p50, p99, most time.Duration) string {
		return fmt.Sprintf("p50 %s, p99 %s, longest %s", setting(p50), setting(p99), setting(most))
	}
	weights := lo.MapToSlice(n.Weights, func(name string, w float64) string { return name + " " + format.Short(w) })
	slices.Sort(weights)
	all := []asked{
		{"guards", "Guarded resource", cmp.Or(n.Guards, "not stated"), ""},
		{"if_two_hold", "Damage if two clients hold the lock at once", meaning(n.TwoHold), ""},
		{"instead", "What could replace the lock", cmp.Or(meaning(n.Instead...), "nothing"), ""},
		{"checks_fence", "What the guarded resource does with fencing tokens", meaning(n.Fence), ""},
		{"hold", "Duration of the work under the lock", strings.TrimSpace(times(n.Hold.P50, n.Hold.P99, n.Hold.Max) + " " + n.HoldRecorded), ""},
		{"pauses", "Pauses of a process", strings.TrimSpace(fmt.Sprintf("%s an hour: %s %s", format.Short(n.Pauses.PerHour), times(n.Pauses.P50, n.Pauses.P99, n.Pauses.Longest), n.Pauses.Measured)), ""},
		{"recovery_within", "Time from the death of a holder to the next grant", lo.Ternary(n.Recovery > 0, "at most "+setting(n.Recovery), "no limit"), ""},
		{"clients", "Clients that wait for the busiest lock at once", fmt.Sprint(n.Clients), ""},
		{"rate", "Required grants of the busiest lock", lo.Ternary(n.Rate > 0, format.Short(n.Rate)+" /s", "no minimum"), ""},
		{"wait", "Wait of a client", lo.Ternary(n.Wait > 0, "at most "+setting(n.Wait), "no limit"), ""},
		{"fair", "The lock must be fair", yes(n.Fair), ""},
		{"commands", "Commands of the store for each grant", lo.Ternary(n.Commands > 0, "at most "+format.Short(n.Commands), "no limit"), ""},
		{"reenters", "The lock must be re-entrant", yes(n.Reenters), ""},
		{"languages", "Languages of the clients", cmp.Or(format.Joined(n.Language), "any"), ""},
		{"stores", "Stores that you run", cmp.Or(format.Joined(n.Stores), "none"), ""},
		{"survives_store", "Events of the store that must not lead to two holders", cmp.Or(meaning(n.Survives...), "nothing"), ""},
		{"weights", "Weights of the criteria", lo.Ternary(len(weights) > 0, strings.Join(append(weights, "others 1"), ", "), "all equal"), ""},
	}
	for i := range all {
		all[i].Tag = n.origin(all[i].Key)
	}
	return all
}

// origin returns "stated" or "assumed". If only some parts of a requirement were assumed, it returns their names, as in
// "p99 assumed".
func (n Needs) origin(key string) string {
	if n.Unstated(key) {
		return "assumed"
	}
	parts := lo.FilterMap(n.Assumed, func(a string, _ int) (string, bool) { return strings.CutPrefix(a, key+".") })
	return lo.Ternary(len(parts) > 0, format.Joined(parts)+" assumed", "stated")
}

// Again returns the conditions under which a team should decide again.
func (n Needs) Again() []string {
	all := []string{
		"The version of the store or of the lock changes, or the settings or the deployment of the store.",
		fmt.Sprintf("The work under the lock takes longer than %s, or a process pauses for longer than %s: monitor both.", setting(n.Hold.Max), setting(n.Pauses.Longest)),
		fmt.Sprintf("More than %s wait for one lock at once.", format.Plural(n.Clients, "client")),
	}
	if n.Recovery > 0 {
		all = append(all, fmt.Sprintf("Another time than %s from the death of a holder to the next grant is required.", setting(n.Recovery)))
	}
	return append(all, "A year has passed.")
}

// Needs holds the requirements of a team, as the requirements file states them.
type Needs struct {
	Name    string  `json:"name" yaml:"name"`
	Guards  string  `json:"guards,omitempty" yaml:"guards,omitempty"` // the guarded resource; shown in reports, but not evaluated
	TwoHold Harm    `json:"if_two_hold" yaml:"if_two_hold"`
	Instead []Means `json:"instead,omitempty" yaml:"instead,omitempty"` // mechanisms that could replace the lock
	Fence   Check   `json:"checks_fence" yaml:"checks_fence"`

	Hold     Times         `json:"hold" yaml:"hold"` // duration of the work under the lock
	Pauses   Pauses        `json:"pauses" yaml:"pauses"`
	Recovery time.Duration `json:"recovery_within_ns" yaml:"recovery_within"` // maximum time from the death of a holder to the next grant; 0: no limit

	Clients  int           `json:"clients" yaml:"clients"`                         // number of clients that wait at the same time for the busiest lock
	Rate     float64       `json:"rate_per_second,omitempty" yaml:"rate"`          // grants per second that the busiest lock must reach; 0: no minimum
	Wait     time.Duration `json:"wait_ns,omitempty" yaml:"wait"`                  // maximum acceptable wait of a client; 0: no limit
	Fair     bool          `json:"fair,omitempty" yaml:"fair"`                     // whether the lock must be fair
	Commands float64       `json:"commands_at_most,omitempty" yaml:"commands"`     // maximum number of store commands per grant; 0: no limit
	Reenters bool          `json:"reenters,omitempty" yaml:"reenters"`             // whether the lock must be re-entrant
	Language []string      `json:"languages,omitempty" yaml:"languages"`           // programming languages of the clients
	Stores   []string      `json:"stores" yaml:"stores"`                           // stores that the team runs, as store or store@deployment
	Survives []Trouble     `json:"survives_store,omitempty" yaml:"survives_store"` // store events, such as a restart, that must not lead to two holders at once

	Weights map[string]float64 `json:"weights" yaml:"weights"` // weights by criterion; default 1

	// HoldRecorded names the histories from which Hold was computed. It is empty if Hold was not computed from histories.
	HoldRecorded string `json:"hold_recorded,omitempty" yaml:"-"`

	Assumed []string `json:"assumed,omitempty" yaml:"-"` // keys of the requirements that were not stated and therefore have defaults
}

// Harm is the damage if two clients hold the lock at once.
type Harm string

const (
	Corruption Harm = "corruption"  // the guarded data becomes wrong, for example an account balance
	WastedWork Harm = "wasted-work" // the same work is done twice, which costs time but causes no other damage
)

// Means is a mechanism that can replace a lock.
type Means string

const (
	Idempotent Means = "idempotent"      // repeating the operation changes nothing
	Compare    Means = "compare-and-set" // a unique constraint, a version column or a conditional write
	Row        Means = "database-row"    // all guarded data is changed in one transaction of one database
)

// Check states how the guarded resource checks the fencing tokens of writes.
type Check string

// Operations whose fencing tokens the resource checks.
const (
	NoCheck  Check = "nothing"
	OnWrites Check = "writes"           // the resource refuses a write whose token is lower than that of an earlier write
	OnAll    Check = "reads-and-writes" // the resource refuses a write whose token is lower than that of an earlier read or write
)

// Trouble is an event in a store, such as a restart.
type Trouble string

const (
	Restart  Trouble = "restart"  // the store restarts with the data on its disk
	Failover Trouble = "failover" // a replica is promoted to primary
	Clock    Trouble = "clock"    // the clock of the store jumps
	Eviction Trouble = "eviction" // the store drops keys because its memory is full
)

// Times holds quantiles of a duration.
type Times struct {
	P50 time.Duration `json:"p50_ns" yaml:"p50"`
	P99 time.Duration `json:"p99_ns" yaml:"p99"`
	Max time.Duration `json:"max_ns" yaml:"max"`
}

// Pauses describes pauses of a process: garbage collection, a busy host, a migrated machine.
type Pauses struct {
	PerHour float64       `json:"per_hour" yaml:"per_hour"` // pauses of one process per hour
	P50     time.Duration `json:"p50_ns" yaml:"p50"`
	P99     time.Duration `json:"p99_ns" yaml:"p99"`
	Longest time.Duration `json:"longest_ns" yaml:"longest"` // longest pause that was observed or is expected
	// Measured describes how the pauses were measured. It is empty if the pauses were not measured.
	Measured string `json:"measured,omitempty" yaml:"-"`
}

// Unstated reports whether the requirement with this key was not stated and has its default.
func (n Needs) Unstated(key string) bool { return slices.Contains(n.Assumed, key) }

// Weight returns the weight of a criterion, 1 by default.
func (n Needs) Weight(criterion string) float64 { return lo.ValueOr(n.Weights, criterion, 1) }
