package explore

import (
	"slices"

	"lockbench/histories"
)

// What a fault can meet: its victim at that moment; of what befalls no client, the lock.
const (
	idle      = "idle"      // it does nothing with the lock; the lock is free and nobody asks
	asking    = "asking"    // it asks; the lock is free and somebody asks
	held      = "held"      // it holds; somebody holds
	releasing = "releasing" // it gives the lock back; somebody does, and nobody holds
)

// States are what faults can meet, in the order of a hold.
func States() []string { return []string{idle, asking, held, releasing} }

// Meeting is a fault that took effect, and what it met.
type Meeting struct {
	Fault string `json:"fault"`
	State string `json:"state"`
}

// met are the faults that took effect, in their order.
func (r *Run) met() []Meeting {
	var all []Meeting
	for i := range r.Ops {
		if op := &r.Ops[i]; op.Kind == histories.Inject && op.Outcome == histories.OK {
			all = append(all, Meeting{op.Fault, r.state(op)})
		}
	}
	return all
}

// state is what clients do as a fault begins: its victim, or whoever is furthest.
func (r *Run) state(inject *histories.Op) string {
	at := inject.Call
	found := map[string]bool{}
	for i := range r.Ops {
		op := &r.Ops[i]
		if op.Call > at {
			break
		}
		if int(op.Client) >= r.Params.Clients || inject.Client != histories.Harness && op.Client != inject.Client {
			continue
		}
		open := op.Return == histories.StillOpen || op.Return >= at
		switch {
		case op.Kind == histories.Acquire && open:
			found[asking] = true
		case op.Kind == histories.Acquire && op.Outcome == histories.OK && !r.overBy(op, inject):
			found[held] = true
		case op.Kind == histories.Release && open:
			found[releasing] = true
		}
	}
	for _, state := range []string{held, releasing, asking} {
		if found[state] {
			return state
		}
	}
	return idle
}

// overBy reports whether a hold had come to its end, or was being given back, when a fault began.
func (r *Run) overBy(acquire, inject *histories.Op) bool {
	return slices.ContainsFunc(r.Ops, func(op histories.Op) bool {
		ends := op.EndsClient() || op.Hold == acquire.Hold && (op.Kind == histories.Release || op.Kind == histories.Lost)
		return ends && op.Client == acquire.Client && acquire.Call <= op.Call && op.Call < inject.Call
	})
}
