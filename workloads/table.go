package workloads

import (
	"cmp"
	"context"
)

// Workload is one thing that clients do over and over.
type Workload struct {
	Name      string
	Doc       string        // one sentence
	Reentrant bool          // only for locks that grant again to the owner that holds
	Guarded   bool          // reads and writes what the lock guards
	Fenced    bool          // only for locks that mint fencing tokens
	Special   bool          // takes the lock beyond what every use of it expects: expectations name it
	Waits     bool          // its clients mostly wait, and its figures are no measure: trials of it may run side by side
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
