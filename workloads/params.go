// Package workloads runs clients that use locks. A Drive takes a Workload, opened locks and a recorder, and records a history.
// The package does not judge histories.
package workloads

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"lockbench/histories"
	"lockbench/impls"
)

// Params holds the parameters of a workload.
type Params struct {
	Clients   int           `json:"clients"`            // client c runs in process c modulo Processes
	Processes int           `json:"processes"`          // number of processes, real or simulated; each process has a separate lock object
	Duration  time.Duration `json:"duration_ns"`        // time after which clients start no more iterations
	Grace     time.Duration `json:"grace_ns,omitempty"` // time to finish started iterations; 0: TTL + Wait + 1.5 s
	TTL       time.Duration `json:"ttl_ns"`             // requested lease
	Wait      time.Duration `json:"wait_ns,omitempty"`  // timeout of an acquire, in workloads that wait; 0: no timeout
	Hold      time.Duration `json:"hold_ns"`            // duration of the work in the critical section
	Think     time.Duration `json:"think_ns"`           // mean delay before an iteration; uniform from 0 to twice the mean
	Keys      int           `json:"keys"`               // number of keys, each with a separate lock
	Names     Naming        `json:"names,omitzero"`     // names of the keys
	Spread    Spread        `json:"distribution"`       // how clients choose among the keys
	Stock     int           `json:"stock,omitempty"`    // initial stock of each key, in the flash-sale workloads
	Seed      uint64        `json:"seed"`

	Arrivals Arrivals      `json:"arrivals,omitempty"`  // how the start times of iterations are chosen
	Rate     float64       `json:"rate,omitempty"`      // iterations per second of all clients together; unused if each client starts its next iteration after the previous one
	Hiccup   time.Duration `json:"hiccup_ns,omitempty"` // length of a single pause without new iterations, to test the latency measurement

	Shortest time.Duration `json:"-"` // shortest lease that the lock supports

	Habits []Habit `json:"habits,omitempty"` // ways of using the lock in the workload varied; each iteration selects some at random; empty: all that suit the lock

	Part Part `json:"-"` // clients that run on this machine; cases and reports describe all clients

	Initial int `json:"initial,omitempty"` // initial value of each key of the resource, divided among the key's segments
}

// Defaults returns the parameters of a quick run: eight clients contend for one key. The TTL is long: if the machine paused
// for longer than the TTL, even correct locks would violate expectations.
func Defaults() Params {
	return Params{Clients: 8, Processes: 2, Duration: 400 * time.Millisecond, TTL: 5 * time.Second,
		Hold: time.Millisecond, Think: time.Millisecond, Keys: 1, Spread: One, Stock: 200, Seed: 1}
}

// Check returns an error if the parameters are invalid.
func (p Params) Check() error {
	switch {
	case p.Clients < 1 || p.Clients > 10_000:
		return fmt.Errorf("%d clients: want 1 to 10000", p.Clients)
	case p.Processes < 1 || p.Processes > p.Clients:
		return fmt.Errorf("%d processes: want at least 1, and no more than the %d clients", p.Processes, p.Clients)
	case p.Duration <= 0:
		return fmt.Errorf("duration %v: want more than 0", p.Duration)
	case p.TTL < 10*time.Millisecond:
		return fmt.Errorf("ttl %v: want at least 10ms; a shorter lease is within the allowance for clock error", p.TTL)
	case p.Hold < 0 || p.Think < 0:
		return fmt.Errorf("hold %v, think %v: want 0 or more", p.Hold, p.Think)
	case p.Wait < 0:
		return fmt.Errorf("wait %v: want more than 0, or 0 to wait until granted; the workload try never waits", p.Wait)
	case p.Stock < 1 || p.Stock > 1_000_000:
		return fmt.Errorf("stock %d: want 1 to 1000000", p.Stock)
	case p.Keys < 1 || p.Keys > 100_000:
		return fmt.Errorf("%d keys: want 1 to 100000", p.Keys)
	case p.Names == Prefixes && p.Keys > 200:
		return fmt.Errorf("%d keys whose names are prefixes of each other: want at most 200", p.Keys)
	case p.Keys > 1 && p.Spread == One:
		return fmt.Errorf("%d keys with distribution one: want uniform, zipf or own", p.Keys)
	case p.Arrivals != Closed && (p.Rate <= 0 || p.Rate > 1_000_000):
		return fmt.Errorf("arrivals %s at a rate of %v per second: want more than 0, up to 1000000", p.Arrivals, p.Rate)
	}
	return nil
}

// Spread selects how clients choose among the keys.
type Spread uint8

const (
	One     Spread = iota // all clients use one key
	Uniform               // all keys are equally likely
	Zipf                  // few keys are used often: Zipf exponent 1.1
	Own                   // client c uses only key c modulo Keys
)

var spreadNames = []string{"one", "uniform", "zipf", "own"}

func (s Spread) String() string { return histories.NameOf(spreadNames, int(s)) }

func (s Spread) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s *Spread) UnmarshalText(text []byte) error {
	return histories.Parse(s, spreadNames, text, "distribution")
}

func (p *Params) wait() time.Duration {
	if p.Wait == 0 {
		return -1
	}
	return p.Wait
}

const zipfExponent = 1.1

func (p *Params) key(client int32, r *rand.Rand) int {
	switch p.Spread {
	case Own:
		return int(client) % p.Keys
	case Uniform:
		return r.IntN(p.Keys)
	case Zipf:
		return int(rand.NewZipf(r, zipfExponent, 1, uint64(p.Keys-1)).Uint64())
	}
	return 0
}

// Naming selects the names of the keys.
type Naming uint8

const (
	Numbered Naming = iota // k0, k1, k2
	Prefixes               // k, k0, k00: each name is a prefix of the next one
	Long                   // names that are equal in their first longName - 6 bytes
)

// longName is the length of long names. The names of locks in MySQL are shorter.
const longName = 90

var namings = []string{"numbered", "prefixes", "long"}

func (n Naming) String() string { return histories.NameOf(namings, int(n)) }

func (n Naming) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

func (n *Naming) UnmarshalText(text []byte) error { return histories.Parse(n, namings, text, "naming") }

func (p *Params) keyName(i int) string {
	switch p.Names {
	case Prefixes:
		return "k" + strings.Repeat("0", i)
	case Long:
		return fmt.Sprintf("k%0*d", longName-1, i)
	}
	return fmt.Sprintf("k%d", i)
}

// KeyNames returns the names of all keys that clients lock, such as "k0" and "k1".
func (p *Params) KeyNames() []string {
	names := make([]string, p.Keys)
	for i := range names {
		names[i] = p.keyName(i)
	}
	return names
}

// Expectations returns the expectations of a lock for a workload, a fault and a deployment. With a single client, no violation
// is expected, because a violation requires several clients.
func Expectations(lock impls.Impl, w Workload, fault, deployment string, p Params) []histories.Expectation {
	var all []histories.Expectation
	for _, e := range lock.Expected(impls.Situation{Workload: w.Name, Special: w.Special, Fault: fault, Deployment: deployment, Processes: p.Processes}) {
		one := histories.Expectation{Property: e.Property, Because: e.Because}
		if e.Expected != histories.ToBeViolated || p.Clients > 1 {
			one.Expected = e.Expected
		}
		all = append(all, one)
	}
	return all
}

// Workload describes what a client does in one iteration.
type Workload struct {
	Name      string
	Doc       string        // description of the workload in one sentence
	Reentrant bool          // the workload runs only with re-entrant locks
	Guarded   bool          // clients read and write the guarded resource
	Fenced    bool          // the workload runs only with locks that issue fencing tokens
	Special   bool          // the lock is used in an unusual way, so general expectations do not apply
	Waits     bool          // clients mostly wait: performance is not measured, and trials may run in parallel
	Verdict   bool          // by default, trials run in parallel and their performance is not compared
	Figures   bool          // not run by default, because it differs from the workload "counter" only in its performance results
	Varied    bool          // run by explore, and otherwise only if selected by name, because it is not used to compare locks
	Paired    bool          // each even-numbered client also performs the operations of the next odd-numbered client
	Served    bool          // clients buy from an HTTP shop that uses the lock (internal/drive/shop); Iterate is nil
	Gated     bool          // a gate in front of the shop rejects buyers when everything is sold
	Usual     []string      // locks that the workload tests by default; nil: all suitable locks
	Check     Check         // how the resource checks fencing tokens; empty: Checking
	Adapt     func(*Params) // function that changes the parameters for the workload; nil: no change
	Iterate   func(context.Context, *Client)
}

// Adapted returns a copy of the parameters with the changes that the workload requires.
func (w Workload) Adapted(p Params) Params {
	if w.Adapt != nil {
		w.Adapt(&p)
	}
	return p
}

// Register returns a new resource for the workload, with all values 0.
func (w Workload) Register() *Register { return NewRegister(w.Checks()) }

// Checks returns how the resource checks fencing tokens.
func (w Workload) Checks() Check { return cmp.Or(w.Check, Checking) }

// All returns every workload.
func All() []Workload {
	return []Workload{counter(), inventory(), contend(), try(), alone(), reentrant(), longHold(), misuse(), writeFenced(), varied(),
		flashSale(), flashSaleGated()}
}
