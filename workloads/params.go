// Package workloads is what clients do with locks. A workload, a set of opened locks and a recorder go in;
// what comes out is in the record. Workloads drive and record; they never judge.
package workloads

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"lockbench/histories"
	"lockbench/impls"
)

// Params are a workload's parameters.
type Params struct {
	Clients   int           `json:"clients"`            // spread over the processes, client c to process c modulo Processes
	Processes int           `json:"processes"`          // locks that were opened: simulated processes, where they share this one
	Duration  time.Duration `json:"duration_ns"`        // no iteration starts after it; those under way are finished
	Grace     time.Duration `json:"grace_ns,omitempty"` // what is under way then may take so long; 0: the TTL and a second
	TTL       time.Duration `json:"ttl_ns"`             // the lease asked for
	Wait      time.Duration `json:"wait_ns,omitempty"`  // of workloads that wait; 0: until granted
	Hold      time.Duration `json:"hold_ns"`            // time inside the critical section
	Think     time.Duration `json:"think_ns"`           // mean time between two iterations of a client; uniform from 0 to twice that
	Keys      int           `json:"keys"`               // how many different locks there are
	Spread    Spread        `json:"distribution"`       // how clients choose among them
	Stock     int           `json:"stock,omitempty"`    // of each key, for sale in the workload inventory
	Seed      uint64        `json:"seed"`

	Arrivals Arrivals      `json:"arrivals,omitempty"`  // how iterations begin
	Rate     float64       `json:"rate,omitempty"`      // per second, of all clients together, where they are not closed
	Hiccup   time.Duration `json:"hiccup_ns,omitempty"` // the generator stands still for so long, once, soon after its beginning: a test of who measures

	Initial int `json:"initial,omitempty"` // the value that each guarded key starts with, spread over its segments
}

// Defaults are the parameters of the quick run. The TTL is long because a short one breaks correct locks
// on a machine that stalls; eight clients contend for one key.
func Defaults() Params {
	return Params{Clients: 8, Processes: 2, Duration: 400 * time.Millisecond, TTL: 5 * time.Second,
		Hold: time.Millisecond, Think: time.Millisecond, Keys: 1, Spread: One, Stock: 200, Seed: 1}
}

// Check tells, in one sentence, what is wrong with the parameters.
func (p Params) Check() error {
	switch {
	case p.Clients < 1 || p.Clients > 10_000:
		return fmt.Errorf("%d clients: want 1 to 10000", p.Clients)
	case p.Processes < 1 || p.Processes > p.Clients:
		return fmt.Errorf("%d processes: want at least 1, and no more than the %d clients", p.Processes, p.Clients)
	case p.Duration <= 0:
		return fmt.Errorf("duration %v: want more than 0", p.Duration)
	case p.TTL < 10*time.Millisecond:
		return fmt.Errorf("ttl %v: want at least 10ms; a promise shorter than its own clock slack says nothing", p.TTL)
	case p.Hold < 0 || p.Think < 0:
		return fmt.Errorf("hold %v, think %v: want 0 or more", p.Hold, p.Think)
	case p.Wait < 0:
		return fmt.Errorf("wait %v: want more than 0, or 0 to wait until granted; the workload try asks once", p.Wait)
	case p.Stock < 1 || p.Stock > 1_000_000:
		return fmt.Errorf("stock %d: want 1 to 1000000", p.Stock)
	case p.Keys < 1 || p.Keys > 100_000:
		return fmt.Errorf("%d keys: want 1 to 100000", p.Keys)
	case p.Keys > 1 && p.Spread == One:
		return fmt.Errorf("%d keys with distribution one: want uniform, zipf or own", p.Keys)
	case p.Arrivals != Closed && (p.Rate <= 0 || p.Rate > 1_000_000):
		return fmt.Errorf("arrivals %s at a rate of %v per second: want more than 0, up to 1000000", p.Arrivals, p.Rate)
	}
	return nil
}

// Spread is how clients choose among the keys.
type Spread uint8

const (
	One     Spread = iota // all on one key
	Uniform               // each key as likely as the other
	Zipf                  // few keys are hot: exponent 1.1
	Own                   // client c asks for key c modulo Keys: with as many keys as clients nobody contends
)

var spreadNames = []string{"one", "uniform", "zipf", "own"}

func (s Spread) String() string { return histories.NameOf(spreadNames, int(s)) }

// MarshalText gives the name used in flags and files.
func (s Spread) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText refuses unknown names.
func (s *Spread) UnmarshalText(text []byte) error {
	return histories.Parse(s, spreadNames, text, "distribution")
}

// wait is what a request for a lock says of a client that waits.
func (p *Params) wait() time.Duration {
	if p.Wait == 0 {
		return -1
	}
	return p.Wait
}

const zipfExponent = 1.1

// key chooses the key of a client's iteration, by its number.
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

func keyName(i int) string { return fmt.Sprintf("k%d", i) }

// KeyNames are all keys of a run.
func (p *Params) KeyNames() []string {
	names := make([]string, p.Keys)
	for i := range names {
		names[i] = keyName(i)
	}
	return names
}

// Expectations returns what is expected of a lock in a workload under a fault, as its histories state it. What is
// violated only between clients is unspecified for a single client.
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

// Workload is one thing that clients do over and over.
type Workload struct {
	Name      string
	Doc       string        // one sentence
	Reentrant bool          // only for locks that grant again to the owner that holds
	Guarded   bool          // reads and writes what the lock guards
	Fenced    bool          // only for locks that mint fencing tokens
	Special   bool          // takes the lock beyond what every use of it expects: expectations name it
	Waits     bool          // its clients mostly wait, and its figures are no measure: many trials of it may run side by side
	Verdict   bool          // unless it is named or all is wanted, it is run for its verdict: beside other trials, whatever its figures
	Figures   bool          // it is run if it is named or all is wanted: its verdicts add nothing to those of counter
	Paired    bool          // even clients play the odd ones too
	Served    bool          // clients are buyers of a shop over HTTP, and the lock is its services': internal/drive/shop drives them, and Iterate is nil
	Gated     bool          // the shop has a gate in front
	Usual     []string      // the locks that it is driven with unless both are named; nil: all that apply
	Check     Check         // of fencing tokens, by what is guarded; "": Checking
	Adapt     func(*Params) // what it needs of the parameters; nil: nothing
	Iterate   func(context.Context, *Client)
}

// Adapted are the parameters with which the workload is driven.
func (w Workload) Adapted(p Params) Params {
	if w.Adapt != nil {
		w.Adapt(&p)
	}
	return p
}

// Register is what the workload's lock guards, as it is before the first client comes.
func (w Workload) Register() *Register { return NewRegister(w.Checks()) }

// Checks is how what is guarded treats fencing tokens.
func (w Workload) Checks() Check { return cmp.Or(w.Check, Checking) }

// All is every workload.
func All() []Workload {
	return []Workload{counter(), inventory(), contend(), try(), alone(), reentrant(), longHold(), misuse(), writeFenced(),
		flashSale(), flashSaleGated()}
}
