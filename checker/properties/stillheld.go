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
// The meaning of the entries of a key may become known only later. Therefore false refusals are counted at the end of the
// history.
type stillHeld struct {
	sightings
	leftovers
	strays   strays
	contents map[int32]content // the latest observed hold of each client
	alike    bool              // holds of two clients had the same content
	own      bool              // two holds of one client had the same content
	differ   bool              // two holds of one client had different contents
	refused  *refusal          // refused release that has not been compared with the store
	false    []refusal         // refused releases after which the store had an entry of the hold
}

// content holds the hashes of the entries that the store had for a hold, by the number of the entry.
type content struct {
	hold   int64
	values map[int64]int64
}

// refusal is a refused release of a hold whose first release had an unknown outcome.
type refusal struct {
	hold    *projection.Hold
	release histories.Op
	request bool         // the client has requested the key again
	seen    histories.Op // entry of the hold that the store had afterwards
	left    entrySet     // all entries of the hold that the store had afterwards
	leased  entrySet     // those that expire with the lease of the hold
}

// handleReturn handles the return of a release.
func (s *stillHeld) handleReturn(k *projection.Key, op *histories.Op) {
	h := k.Last
	if op.Outcome == histories.Refused && h != nil && h.Number() == op.Hold && h.Acquire.Client == op.Client &&
		h.Release.Call < op.Call && h.Release.Outcome == histories.Unknown && h.Promised && op.Return < h.Until {
		s.refused = &refusal{hold: h, release: *op}
	}
}

// requested handles the call and the return of an acquire.
func (s *stillHeld) requested(ev histories.Event, unknownUntil func(time.Duration) time.Duration) {
	s.acquire(ev, unknownUntil)
	s.strays.acquire(ev, unknownUntil)
	if s.refused != nil && s.refused.release.Client == ev.Op.Client {
		s.refused.request = true
	}
}

// observed handles an observation of the store.
func (s *stillHeld) observed(k *projection.Key, o sighting, f *Facts) {
	s.strays.observed(k, o, slices.ContainsFunc(k.Live, o.insideHold), f)
	if s.learn(k, o) {
		s.leftovers.free(o, s.occupied.until)
		return
	}
	for _, h := range k.Live {
		if o.insideHold(h) {
			s.leftovers.held(o)
			s.recordContent(h, o)
		}
	}
	r := s.refused
	if r == nil || o.call < r.release.Return {
		return
	}
	s.refused = nil
	had := s.contents[r.release.Client]
	for i := range o.entries {
		e := &o.entries[i]
		if value, ok := had.values[e.Fence]; ok && value == e.Value && had.hold == r.hold.Number() {
			r.left |= bit(e)
			r.seen = *e
			if e.Validity != histories.Unbounded && o.call+e.Validity <= r.hold.Until+2*f.Slack { // Until is a lower bound
				r.leased |= bit(e)
			}
		}
	}
	if r.left != 0 {
		s.false = append(s.false, *r)
	}
}

// recordContent records the content of a hold's entries, and compares it with the content of other holds.
func (s *stillHeld) recordContent(h *projection.Hold, o sighting) {
	if s.contents == nil {
		s.contents = map[int32]content{}
	}
	c := content{hold: h.Number(), values: map[int64]int64{}}
	for i := range o.entries {
		c.values[o.entries[i].Fence] = o.entries[i].Value
	}
	for client, other := range s.contents {
		for number, value := range c.values {
			was, known := other.values[number]
			switch same := known && was == value; {
			case client != h.Acquire.Client:
				s.alike = s.alike || same
			case other.hold != c.hold:
				s.own = s.own || same
				s.differ = s.differ || known && !same
			}
		}
	}
	s.contents[h.Acquire.Client] = c
}

// wrongRefusals returns the releases that were certainly refused falsely. The content of an entry must identify its hold.
// Entries that stay after a hold, such as a counter, do not count.
func (s *stillHeld) wrongRefusals() []refusal {
	if s.alike || len(s.contents) < 2 {
		return nil // a later holder may have the same content
	}
	return slices.DeleteFunc(s.false, func(r refusal) bool {
		return r.request && (s.own || !s.differ) || r.left&(s.cleared|r.leased)&^s.passive == 0
	})
}
