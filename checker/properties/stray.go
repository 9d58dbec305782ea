package properties

import (
	"maps"
	"math/bits"
	"time"

	"lockbench/checker/projection"
	"lockbench/histories"
)

// strays finds entries that a refused acquire left although other clients request the key, or that an abandoned acquire left if the
// lock states that it cleans up. An entry is left if it appeared while no hold or unknown acquire explained it, each acquire that may
// have written it was refused or abandoned, and it is still there afterwards. Acquires that were called after the entry appeared did
// not write it, because its content is the same.
//
// Like a leftover, it must be an entry that every observation during a hold contains, and that is absent at some other time.
type strays struct {
	open    map[int32]bool   // clients with an outstanding acquire
	current map[int64]*stray // entry at the last observation, by number
	before  time.Duration    // call of the last observation
	busy    time.Duration    // time until which a hold or an acquire with an unknown outcome may explain an entry
	recent  histories.Op     // last refused acquire

	cleansUp bool // whether the lock removes what an abandoned acquire left

	holdEntries
	found []leftover
}

// stray is an entry of the store and the acquires that may have written it.
type stray struct {
	seen      histories.Op   // first observation of this content
	open      map[int32]bool // clients whose acquires were outstanding then, and still are
	refused   histories.Op   // last of these acquires that was refused
	explained bool           // another operation may have written the entry, or it was already found
}

// acquire handles the call or the return of an acquire.
func (s *strays) acquire(ev histories.Event, unknownUntil func(time.Duration) time.Duration) {
	op := ev.Op
	if !ev.Return {
		if s.open == nil {
			s.open, s.current = map[int32]bool{}, map[int64]*stray{}
		}
		s.open[op.Client] = true
		return
	}
	switch {
	case !s.open[op.Client]: // the lock itself chose the key, so the history does not show which acquires are outstanding
		s.busy = histories.Forever
	case op.Outcome == histories.Refused || s.abandoned(op):
		s.recent = *op
	case op.Outcome == histories.Unknown:
		s.busy = max(s.busy, unknownUntil(op.Return))
	default:
		s.busy = max(s.busy, op.Return)
	}
	delete(s.open, op.Client)
	for _, e := range s.current {
		switch {
		case e.open[op.Client] && (op.Outcome == histories.Refused || s.abandoned(op)):
			e.refused = *op
		case e.open[op.Client] || op.Outcome == histories.OK:
			e.explained = true
		}
		delete(e.open, op.Client)
	}
}

// abandoned reports whether an acquire with an unknown outcome reached its timeout or was cancelled, so that the lock must remove
// what it left.
func (s *strays) abandoned(op *histories.Op) bool {
	return s.cleansUp && op.Outcome == histories.Unknown && op.Wait > 0 && op.Return-op.Call >= op.Wait
}

// handleClientEnd handles a fault that ends a client. Its outstanding acquire may have written an entry, and its process may renew
// a hold.
func (s *strays) handleClientEnd() { s.busy = histories.Forever }

// observed handles an observation. held reports whether it lies within a hold.
func (s *strays) observed(k *projection.Key, o sighting, held bool, f *Facts) {
	s.learn(&o, held)
	for number := range s.current {
		if o.present&single(number) == 0 {
			delete(s.current, number)
		}
	}
	for i := range o.entries {
		e := &o.entries[i]
		was := s.current[e.Fence]
		switch {
		case was == nil || was.seen.Value != e.Value:
			s.appeared(k, e)
		case !was.explained && len(was.open) == 0 && was.refused.Kind != 0 && o.call >= s.due(was, f) && len(s.found) < maxEntries:
			was.explained = true
			s.found = append(s.found, leftover{was.refused, *e, bit(e)})
		}
	}
	s.before = o.call
}

// due returns the time from which an entry counts as left. A lock has a third of its lease to clean up after an abandoned acquire,
// from the end of the faults on.
func (s *strays) due(e *stray, f *Facts) time.Duration {
	if e.refused.Outcome == histories.Refused {
		return e.refused.Return + cleanupTime
	}
	settled := f.settled()
	if settled == histories.Forever {
		return settled
	}
	return max(e.refused.Return, settled) + f.Header.TTL.D()/3 + f.Slack + cleanupTime
}

// appeared records an entry whose content was not in the store at the previous observation.
func (s *strays) appeared(k *projection.Key, e *histories.Op) {
	if s.current == nil {
		return // no acquire was called
	}
	n := &stray{seen: *e, open: maps.Clone(s.open)}
	n.explained = s.before == 0 || s.busy > s.before || len(k.Live)+len(k.Releasing) > 0
	if s.recent.Return >= s.before {
		n.refused = s.recent
	}
	s.current[e.Fence] = n
}

// closed handles the end of a hold, which the store may keep until the given time. An entry that appears after its last observation
// has another content, so a hold whose release removed it explains none.
func (s *strays) closed(kept time.Duration) { s.busy = max(s.busy, kept) }

// certain returns the entries that certainly belong to a hold. If a hold has several entries, one of them shows nothing.
func (s *strays) certain() (all []leftover) {
	for _, f := range s.found {
		if f.present&s.lock() != 0 && bits.OnesCount64(uint64(s.backing)) == 1 {
			all = append(all, f)
		}
	}
	return all
}
