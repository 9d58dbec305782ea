// Package workloads drives clients that use locks. A Workload, opened locks and a recorder go in (see Drive); a history
// comes out. Workloads never judge.
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

// Params holds a workload's parameters.
type Params struct {
	Clients   int           `json:"clients"`            // client c belongs to process c modulo Processes
	Processes int           `json:"processes"`          // opened locks: simulated processes if they share this one
	Duration  time.Duration `json:"duration_ns"`        // time in which iterations start
	Grace     time.Duration `json:"grace_ns,omitempty"` // time to finish iterations that have begun; 0: the TTL + 1 s
	TTL       time.Duration `json:"ttl_ns"`             // the requested lease
	Wait      time.Duration `json:"wait_ns,omitempty"`  // timeout of an acquire, in workloads that wait; 0: until granted
	Hold      time.Duration `json:"hold_ns"`            // time in the critical section
	Think     time.Duration `json:"think_ns"`           // mean delay between two iterations of a client; uniform from 0 to twice that
	Keys      int           `json:"keys"`               // number of different locks
	Spread    Spread        `json:"distribution"`       // distribution of clients over the keys
	Stock     int           `json:"stock,omitempty"`    // stock of each key, in the workload inventory
	Seed      uint64        `json:"seed"`

	Arrivals Arrivals      `json:"arrivals,omitempty"`  // starts of iterations
	Rate     float64       `json:"rate,omitempty"`      // iterations per second of all clients together, unless arrivals are closed
	Hiccup   time.Duration `json:"hiccup_ns,omitempty"` // the generator pauses once for so long, soon after its start: a test of the measurement

	Initial int `json:"initial,omitempty"` // initial value of each guarded key, spread over its segments
}

// Defaults returns the parameters of the quick run. The TTL is long because a machine's pause beyond it would violate the
// expectations of correct locks; eight clients contend for one key.
func Defaults() Params {
	return Params{Clients: 8, Processes: 2, Duration: 400 * time.Millisecond, TTL: 5 * time.Second,
		Hold: time.Millisecond, Think: time.Millisecond, Keys: 1, Spread: One, Stock: 200, Seed: 1}
}

// Check returns an error in one sentence if the parameters are invalid.
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
	One     Spread = iota // all clients on one key
	Uniform               // each key is equally likely
	Zipf                  // few keys are hot: exponent 1.1
	Own                   // client c uses key c modulo Keys: no contention if there are as many keys as clients
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

func keyName(i int) string { return fmt.Sprintf("k%d", i) }

// KeyNames returns all keys of a run.
func (p *Params) KeyNames() []string {
	names := make([]string, p.Keys)
	for i := range names {
		names[i] = keyName(i)
	}
	return names
}

// Expectations returns the expectations of a lock in a workload under a fault, as its histories state them. A property that
// only several clients can violate is unspecified for a single client.
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

// Workload is one kind of iteration, which clients repeat.
type Workload struct {
	Name      string
	Doc       string        // one sentence
	Reentrant bool          // only for re-entrant locks
	Guarded   bool          // reads and writes the guarded resource
	Fenced    bool          // only for locks that mint fencing tokens
	Special   bool          // goes beyond ordinary use: only expectations that name it apply
	Waits     bool          // clients mostly wait: no figures, and trials may run side by side
	Verdict   bool          // by default only judged: trials run beside others, so their figures are not compared
	Figures   bool          // by default not run: only its figures differ from those of counter
	Paired    bool          // each even client drives the next odd one as well
	Served    bool          // clients are buyers of an HTTP shop whose services hold the lock; internal/drive/shop drives them, and Iterate is nil
	Gated     bool          // the shop has a gate in front
	Usual     []string      // the default locks; nil: all that apply
	Check     Check         // check of fencing tokens by the resource; "": Checking
	Adapt     func(*Params) // adapts the parameters; nil: no change
	Iterate   func(context.Context, *Client)
}

// Adapted returns the parameters with which the workload runs.
func (w Workload) Adapted(p Params) Params {
	if w.Adapt != nil {
		w.Adapt(&p)
	}
	return p
}

// Register returns the resource in its initial state.
func (w Workload) Register() *Register { return NewRegister(w.Checks()) }

// Checks returns how the resource checks fencing tokens.
func (w Workload) Checks() Check { return cmp.Or(w.Check, Checking) }

// All returns every workload.
func All() []Workload {
	return []Workload{counter(), inventory(), contend(), try(), alone(), reentrant(), longHold(), misuse(), writeFenced(),
		flashSale(), flashSaleGated()}
}
