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
	found := idle
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
			found = further(found, asking)
		case op.Kind == histories.Acquire && op.Outcome == histories.OK && !r.overBy(op, inject):
			found = further(found, held)
		case op.Kind == histories.Release && open:
			found = further(found, releasing)
		}
	}
	return found
}

// overBy reports whether a hold had come to its end, or was being given back, when a fault began.
func (r *Run) overBy(acquire, inject *histories.Op) bool {
	return slices.ContainsFunc(r.Ops, func(op histories.Op) bool {
		ends := op.Kind == histories.Release || op.Kind == histories.Lost || op.EndsClient()
		return ends && op.Client == acquire.Client && op.Call <= inject.Call && op.Call >= acquire.Call && op.Call != inject.Call &&
			(op.Hold == acquire.Hold || op.EndsClient())
	})
}

// further is the later of two in a hold; that somebody holds goes before that somebody gives back.
func further(a, b string) string {
	order := []string{idle, asking, releasing, held}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}
