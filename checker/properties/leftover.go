package properties

import (
	"math/bits"
	"time"

	"lockbench/histories"
)

// cleanupTime is the time that a lock has for removing an entry after its answer. A lock with several servers may answer
// before all of them have.
const cleanupTime = 100 * time.Millisecond

// leftovers finds entries of a hold that the store has although certainly no client holds the key: each acquire was granted
// and its hold has ended, or was refused. A refused acquire must leave nothing.
//
// Only entries that expire count, because a lock may leave other entries after a hold that expired. Those that are present in
// every hold and absent at some other time back a hold. This excludes counters and queues. If a hold has several entries, for
// example one on each server, most of them must be left.
type leftovers struct {
	backing entrySet // entries that were observed during a hold
	always  entrySet // entries that every observation during a hold contains
	absent  entrySet // entries that an observation between two holds, or after the last one, did not contain
	refused histories.Op
	ended   bool // whether a fault ended a client that held the key; its process may still renew the hold
	found   []leftover
}

type leftover struct {
	refused, seen histories.Op // last refused acquire, and one entry of the store
	present       entrySet
}

// expiring returns the entries of an observation that expire.
func (o *sighting) expiring() (all entrySet) {
	for i := range o.entries {
		if e := &o.entries[i]; e.Validity != histories.Unbounded {
			all |= bit(e)
		}
	}
	return all
}

// held learns from an observation during a hold.
func (l *leftovers) held(o sighting) {
	present := o.expiring()
	if l.backing == 0 {
		l.always = present
	}
	l.backing |= present
	l.always &= present
}

// free learns from an observation while no client held the key. since is the time of the last operation that may have changed
// the entries.
func (l *leftovers) free(o sighting, since time.Duration) {
	if l.backing == 0 {
		return // an entry may be absent only because the lock was not used yet
	}
	present := o.expiring()
	l.absent |= ^present
	if certain := o.call >= since+cleanupTime && !l.ended; certain && present != 0 && l.refused.Kind != 0 && len(l.found) < maxEntries {
		l.found = append(l.found, leftover{l.refused, o.entries[0], present})
	}
}

// certain returns the leftovers whose entries certainly belong to a hold.
func (l *leftovers) certain() (all []leftover) {
	lock := l.always & l.absent
	for _, f := range l.found {
		most := 2*bits.OnesCount64(uint64(f.present&l.backing)) > bits.OnesCount64(uint64(l.backing))
		if lock != 0 && f.present&lock == lock && most {
			all = append(all, f)
		}
	}
	return all
}
