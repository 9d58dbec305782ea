package properties

import (
	"time"

	"lockbench/checker/projection"
	"lockbench/histories"
)

// sighting is one observation of a key: all operations of the kind Seen with the same call.
type sighting struct {
	entries     []histories.Op // one for each entry of the store that belongs to the key
	present     entrySet
	call, reply time.Duration
}

// maxEntries is the maximum number of entries of a key that are distinguished. Package observe numbers them from 1.
const maxEntries = 64

// entrySet is a set of entries of a key, by number.
type entrySet uint64

// single returns the set that contains only the entry with this number. Entries whose numbers are out of range share a bit
// with other entries.
func single(number int64) entrySet { return 1 << (uint64(number) % maxEntries) }

// bit returns the set that contains only the entry of the operation.
func bit(op *histories.Op) entrySet { return single(op.Fence) }

// sightings collects the observations of one key, and learns which entries of the store back its holds. An entry backs
// no hold if its content stays the same when a hold ends. An example is a counter of fencing tokens.
type sightings struct {
	pending  sighting
	inHold   map[int64]int64 // content of each entry at the last observation during a hold, by entry number; nil if an acquire has returned since
	passive  entrySet        // entries that back no hold
	active   entrySet        // entries whose content changed at the end of a hold
	backing  entrySet        // entries seen during a hold
	cleared  entrySet        // entries that a hold had, and that were gone or different when the key was free
	occupied occupation
}

// add adds an operation to the current observation. If the observation is now complete, add returns the observation and
// true.
func (s *sightings) add(op *histories.Op) (sighting, bool) {
	p := &s.pending
	if p.call != op.Call || len(p.entries) == 0 {
		*p = sighting{call: op.Call}
	}
	p.entries, p.reply = append(p.entries, *op), op.Return
	if len(p.entries) < op.Sightings() {
		return sighting{}, false
	}
	done := *p
	s.pending = sighting{}
	if op.Depth == 0 {
		done.entries = nil
	}
	for i := range done.entries {
		done.present |= bit(&done.entries[i])
	}
	return done, true
}

// acquire handles the call or the return of an acquire.
func (s *sightings) acquire(ev histories.Event, unknownUntil func(time.Duration) time.Duration) {
	s.occupied.event(ev, unknownUntil)
	if ev.Return {
		s.inHold = nil // the acquire may have changed a counter
	}
}

// late returns the time until which the store may have a hold because it executed a request after its client had stopped waiting, or
// 0. The operation is an observation, before which a delayed acquire may have been delivered, or a renewal that was answered after
// the loss of its hold was reported.
func (s *sightings) late(k *projection.Key, op *histories.Op, f *Facts) (until time.Duration) {
	switch op.Kind {
	case histories.Seen:
		until = f.deliveredHold()
	case histories.Renew:
		until = f.renewedHold(k.Last, op)
	}
	s.occupied.until = max(s.occupied.until, until)
	return until
}

// learn learns from a complete observation which entries back holds. free reports whether certainly no client held the
// key during the observation.
func (s *sightings) learn(k *projection.Key, o sighting) (free bool) {
	if s.occupied.free(k, o.call) {
		s.freed(o)
		return true
	}
	for _, h := range k.Live {
		if o.insideHold(h) {
			s.recordContents(o)
		}
	}
	return false
}

// insideHold reports whether an observation lies within a promised hold. Later events may still show that the hold
// ended earlier.
func (o *sighting) insideHold(h *projection.Hold) bool {
	return h.Granted <= o.call && h.Promised && h.StatedAt(o.call) > o.reply
}

// recordContents stores the content of each entry that was observed during a hold.
func (s *sightings) recordContents(o sighting) {
	s.inHold = map[int64]int64{}
	for i := range o.entries {
		s.inHold[o.entries[i].Fence] = o.entries[i].Value
		s.backing |= bit(&o.entries[i])
	}
}

// freed learns from an observation while no client held the key. It compares the content of each entry with the content
// during the last hold.
func (s *sightings) freed(o sighting) {
	for number := range s.inHold {
		s.cleared |= single(number) &^ o.present
	}
	for i := range o.entries {
		e := &o.entries[i]
		value, known := s.inHold[e.Fence]
		switch {
		case !known:
		case value == e.Value && s.active&bit(e) == 0:
			s.passive |= bit(e)
		default:
			s.active |= bit(e)
			s.cleared |= bit(e)
			s.passive &^= bit(e)
		}
	}
}

// occupation records until when a client may hold a key although the history shows no hold. This happens, for example,
// after an acquire with an unknown outcome.
type occupation struct {
	open  map[int32]bool // clients with an outstanding acquire
	extra map[int32]bool // clients with an acquire of unknown outcome: their next release may only release a nested hold
	until time.Duration  // time until which an operation on the key may have an effect
}

// event updates the occupation at the call or the return of an acquire. unknownUntil returns the latest end of a hold
// that an unanswered acquire may have started.
func (o *occupation) event(ev histories.Event, unknownUntil func(time.Duration) time.Duration) {
	op := ev.Op
	if o.open == nil {
		o.open, o.extra = map[int32]bool{}, map[int32]bool{}
	}
	if !ev.Return {
		o.open[op.Client] = true
		return
	}
	if !o.open[op.Client] { // the lock itself chose the key, so the history shows acquires of this key only when they return
		o.until = histories.Forever
	}
	delete(o.open, op.Client)
	o.until = max(o.until, op.Return)
	if op.Outcome == histories.Unknown {
		o.extra[op.Client] = true
		o.until = max(o.until, unknownUntil(op.Return))
	}
}

// handleClientEnd handles a fault that ends a client at the given time.
func (o *occupation) handleClientEnd(client int32, at time.Duration, unknownUntil func(time.Duration) time.Duration) {
	if o.open[client] {
		delete(o.open, client)
		o.until = max(o.until, unknownUntil(at))
	}
}

// closed handles the end of a hold. It returns the time until which the store may keep the hold, or 0 if its release removed it. A
// release after an acquire of unknown outcome, or after an inner release of unknown outcome, may have left a hold, and set its lease
// again.
func (o *occupation) closed(h *projection.Hold, f *Facts) (kept time.Duration) {
	released := h.Release.Kind != 0 && h.Release.Outcome == histories.OK
	switch {
	case released && !o.extra[h.Acquire.Client] && !h.Unsure:
		o.until = max(o.until, h.Closed)
		return 0
	case f.Header.SilentRenewals:
		kept = histories.Forever
	case released:
		kept = f.unknownHold(h.Closed)
	default: // until the store has certainly noticed that the lease expired
		kept = min(histories.Forever-f.lateness(), max(h.Over, h.End)) + f.lateness()
		if h.Fault != nil {
			kept = max(kept, f.unknownHold(h.End)) // a renewal that the fault interrupted is not reported
		}
	}
	delete(o.extra, h.Acquire.Client)
	o.until = max(o.until, kept)
	return kept
}

// free reports whether certainly no client held the key from a given time until now.
func (o *occupation) free(k *projection.Key, from time.Duration) bool {
	return len(o.open) == 0 && len(k.Live)+len(k.Releasing) == 0 && o.until <= from
}
