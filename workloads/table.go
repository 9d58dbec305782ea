package workloads

import "context"

// Workload is one thing that clients do over and over.
type Workload struct {
	Name      string
	Doc       string        // one sentence
	Reentrant bool          // only for locks that grant again to the owner that holds
	Guarded   bool          // reads and writes what the lock guards
	Special   bool          // takes the lock beyond what every use of it expects: expectations name it
	Paired    bool          // even clients play the odd ones too
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

// All is every workload.
func All() []Workload {
	return []Workload{counter(), inventory(), contend(), try(), reentrant(), longHold(), misuse()}
}
