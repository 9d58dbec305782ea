package properties

import (
	"time"
)

// sightGap is the maximum time between two observations that show that a key stayed free.
const sightGap = 100 * time.Millisecond

// holdEntries learns which entries of a key the store has for every hold. In contrast to leftovers, they need not expire.
type holdEntries struct {
	backing entrySet // entries that were observed during a hold
	always  entrySet // entries that every observation during a hold contains
	absent  entrySet // entries that an observation at another time did not contain
}

// lock returns the entries that are present during every hold, and absent at some other time.
func (e *holdEntries) lock() entrySet { return e.always & e.absent }

// learn learns from an observation. held reports whether it lies within a hold.
func (e *holdEntries) learn(o *sighting, held bool) {
	switch {
	case held && e.backing == 0:
		e.backing, e.always = o.present, o.present
	case held:
		e.backing |= o.present
		e.always &= o.present
	case e.backing != 0:
		e.absent |= ^o.present
	}
}

// seenFree finds out for how long the observations of a key have shown without a gap that it is free since its last release.
type seenFree struct {
	sightings
	entries holdEntries
	until   time.Duration // call of the last observation that showed the key free without a gap since the release
	left    entrySet      // entries that these observations contain
	broken  bool          // whether an observation since the release was late or had the entry of a hold
}

// released handles the return of a release, after which the key is free.
func (s *seenFree) released(at time.Duration) { s.until, s.left, s.broken = at, 0, false }

// observed handles an observation.
func (s *seenFree) observed(o *sighting, held bool) {
	s.entries.learn(o, held)
	if o.call < s.until || s.broken {
		return
	}
	if o.present&s.entries.lock() != 0 || o.call-s.until > sightGap {
		s.broken = true
		return
	}
	s.until, s.left = o.call, s.left|o.present
}
