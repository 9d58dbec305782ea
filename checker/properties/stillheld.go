package properties

import (
	"slices"
	"time"

	"lockbench/checker/projection"
	"lockbench/histories"
)

// stillHeld checks the answer to a release that was repeated after an unknown outcome. The answer "not held" is false if the
// store has the entry of the hold afterwards.
//
// Which entries of the store back the holds of a key may become known only later, so that false refusals are counted at the
// end of the history.
type stillHeld struct {
	sightings
	contents map[int32]content // what the latest observed hold of each client had in the store
	alike    bool              // the content of two clients was the same, so it does not identify the holder
	refused  *refusal          // refused release whose answer has not been compared with the store
	false    []refusal         // refused releases after which the store had an entry of the hold
}

// content maps the numbers of entries to hashes of what they contain.
type content map[int64]int64

// refusal is a refused release of a hold whose first release had an unknown outcome.
type refusal struct {
	hold    *projection.Hold
	release histories.Op
	seen    histories.Op // entry of the hold that the store had afterwards
	left    entrySet     // all such entries
}

// returned handles the return of a release.
func (s *stillHeld) returned(k *projection.Key, op *histories.Op) {
	h := k.Last
	if op.Outcome == histories.Refused && h != nil && h.Number() == op.Hold && h.Acquire.Client == op.Client &&
		h.Release.Call < op.Call && h.Release.Outcome == histories.Unknown && h.Promised && op.Return < h.Until {
		s.refused = &refusal{hold: h, release: *op}
	}
}

// requested handles the call and the return of an acquire. A client that requests the key again may be granted an entry with
// the same content.
func (s *stillHeld) requested(ev histories.Event, unknownUntil func(time.Duration) time.Duration) {
	s.acquire(ev, unknownUntil)
	if s.refused != nil && s.refused.release.Client == ev.Op.Client {
		s.refused = nil
	}
}

// observed handles an observation of the store.
func (s *stillHeld) observed(k *projection.Key, o sighting) {
	if s.learn(k, o) {
		return
	}
	for _, h := range k.Live {
		if o.within(h) {
			s.holds(h, o)
		}
	}
	r := s.refused
	if r == nil || o.call < r.release.Return {
		return
	}
	had := s.contents[r.release.Client]
	for i := range o.entries {
		e := &o.entries[i]
		if value, ok := had[e.Fence]; ok && value == e.Value {
			r.left |= bit(e)
			r.seen = *e
		}
	}
	if r.left != 0 {
		s.false = append(s.false, *r)
	}
	s.refused = nil
}

// holds records the content of a hold's entries, and compares it with that of other clients.
func (s *stillHeld) holds(h *projection.Hold, o sighting) {
	if s.contents == nil {
		s.contents = map[int32]content{}
	}
	c := content{}
	for i := range o.entries {
		c[o.entries[i].Fence] = o.entries[i].Value
	}
	for client, other := range s.contents {
		for number, value := range c {
			s.alike = s.alike || client != h.Acquire.Client && other[number] == value
		}
	}
	s.contents[h.Acquire.Client] = c
}

// answers returns the refused releases that were answered wrongly.
func (s *stillHeld) answers() []refusal {
	if s.alike || len(s.contents) < 2 {
		return nil // a later holder may have the same content
	}
	return slices.DeleteFunc(s.false, func(r refusal) bool { return r.left&s.cleared&^s.passive == 0 })
}
