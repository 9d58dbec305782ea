// Package faults is what goes wrong during a trial. A fault is chosen by its name; the table All has
// those there are.
package faults

// Fault is one thing that goes wrong.
type Fault struct {
	Name string
	Doc  string // one sentence
}

// All is every fault.
func All() []Fault {
	return []Fault{{Name: "none", Doc: "nothing is injected: what a lock is worth on a good day"}}
}
