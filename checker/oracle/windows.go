package oracle

import (
	"cmp"
	"slices"

	"lockbench/checker/projection"
	"lockbench/histories"
)

const (
	windowSize = 16      // minimum number of operations in a window
	maxWaiting = 1 << 15 // maximum number of queued events
	free       = -1      // holder number which means that no client holds the mutex
)

// stream splits the history of a key into windows that Porcupine can check one by one. A window ends just before a
// release by the only holder, because the state of the mutex is certain then. An acquire belongs to the window in which
// it returns.
//
// Events are queued until no earlier event can be added.
type stream struct {
	size     int
	yield    func(w *window, must bool) (more bool)
	waiting  []instant
	enough   int // minimum queue length at which events are processed
	drained  int64
	n        int // number of holds added to the stream so far
	w        *window
	inside   []known // holds that have not ended
	ending   []known // holds that have ended but whose release has not returned
	early    map[*projection.Hold]*early
	over     bool // the search has stopped
	doubtful bool // the result is uncertain: an event was added too late
}

type known struct {
	id int
	pair
}

// early is a hold whose grant was queued before the hold had ended. Other holds are queued only when they have ended.
// Queuing a grant early limits the number of queued events.
type early struct {
	known
	leaving bool // whether the expected end of the hold has also been queued
}

// moment is a kind of event: the call of a release, or the return of an acquire or release. At equal times, calls come
// before returns.
type moment uint8

const (
	leaving moment = iota // the release was called
	granted               // the acquire returned
	left                  // the release returned
)

type instant struct {
	at   int64
	what moment
	known
}

func newStream(size int, yield func(*window, bool) bool) *stream {
	return &stream{size: size, yield: yield, w: &window{holder: free, searchAt: 4 * size}, early: map[*projection.Hold]*early{}, drained: -1}
}

func (s *stream) add(h *projection.Hold, p pair) {
	if s.over {
		return
	}
	e, ok := s.early[h]
	if ok {
		delete(s.early, h)
	} else {
		e = &early{known: s.granted(p)}
	}
	if e.leaving && e.endCall != p.endCall {
		s.doubtful = true // a renewal has postponed the end of the hold, but the previous end was already queued
		return
	}
	if e.leaving && e.endReturn == p.endReturn {
		return
	}
	e.pair = p
	if p.endCall >= int64(histories.Forever) {
		return
	}
	if !e.leaving {
		s.at(p.endCall, leaving, e.known)
	}
	s.at(p.endReturn, left, e.known)
}

func (s *stream) at(t int64, what moment, k known) {
	s.doubtful = s.doubtful || t < s.drained
	s.waiting = append(s.waiting, instant{t, what, k})
}

// advance processes the queued events whose order is final. Events after the grant of a current hold stay queued,
// because a hold is added only when it has ended. If more than maxWaiting events are queued, advance adds the grants of
// current holds early.
func (s *stream) advance(k *projection.Key, v *projection.View, now int64) {
	if s.over || len(s.waiting) < s.enough {
		return
	}
	s.drain(s.watermark(k, v, now))
	if len(s.waiting) > maxWaiting {
		s.takeIn(k, v, now)
		s.drain(s.watermark(k, v, now))
	}
	s.enough = 2*len(s.waiting) + 8*s.size
}

// watermark returns a lower bound on the times of events that are added later.
func (s *stream) watermark(k *projection.Key, v *projection.View, now int64) int64 {
	for _, holds := range [][]*projection.Hold{k.Live, k.Releasing} {
		for _, h := range holds {
			e, ok := s.early[h]
			switch {
			case !ok:
				now = min(now, int64(h.Granted))
			case !e.leaving:
				end, _ := v.End(h)
				now = min(now, int64(end))
			}
		}
	}
	return now
}

func (s *stream) takeIn(k *projection.Key, v *projection.View, now int64) {
	for _, h := range slices.Concat(k.Live, k.Releasing) {
		p, ok := pairOf(v, h)
		if !ok {
			continue
		}
		e, known := s.early[h]
		if !known {
			e = &early{known: s.granted(p)}
			s.early[h] = e
		}
		if p.endCall < now && !e.leaving {
			e.leaving, e.pair = true, p
			s.at(p.endCall, leaving, e.known)
			if p.endReturn < now {
				s.at(p.endReturn, left, e.known)
			}
		}
	}
}

func (s *stream) granted(p pair) known {
	k := known{s.n, p}
	s.n++
	s.at(p.acquireReturn, granted, k)
	return k
}

func (s *stream) finish() {
	s.drain(int64(histories.Forever) + 1)
	if !s.over {
		s.yield(s.w.withOpenEnds(s.ending), false)
	}
}

func (s *stream) drain(before int64) {
	slices.SortFunc(s.waiting, func(a, b instant) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.what, b.what), cmp.Compare(a.id, b.id))
	})
	n := 0
	for ; n < len(s.waiting) && s.waiting[n].at < before && !s.over; n++ {
		s.next(s.waiting[n])
	}
	s.waiting = slices.Delete(s.waiting, 0, n)
	s.drained = max(s.drained, before)
	if s.over {
		s.waiting = nil
	}
}

func (s *stream) next(e instant) {
	same := func(k known) bool { return k.id == e.id }
	switch e.what {
	case granted:
		s.w.acquire(e.id, e.pair)
		s.inside = append(s.inside, e.known)
		if len(s.inside) > 1 && len(s.w.acts) >= s.w.searchAt {
			// A window normally ends while only one client holds the key. This window is long and several clients hold
			// the key, so search it now for a violation.
			s.w.searchAt = 2 * len(s.w.acts)
			s.over = !s.yield(s.w.withOpenEnds(s.ending), true)
		}
	case leaving:
		if len(s.inside) == 1 && s.inside[0].id == e.id && len(s.w.acts) >= s.size {
			s.over = !s.yield(s.w.withOpenEnds(s.ending), false)
			s.ending = s.ending[:0]
			s.w = &window{acts: s.w.acts[:0], holder: e.id, from: e.endCall, searchAt: 4 * s.size}
		}
		s.inside = slices.DeleteFunc(s.inside, same)
		s.ending = append(s.ending, e.known)
	case left:
		if n := len(s.ending); n > 0 {
			s.ending = slices.DeleteFunc(s.ending, same)
			if len(s.ending) < n {
				s.w.end(e.id, e.pair, e.endReturn)
			}
		}
	}
}

// window is a part of the history of a key. The field holder is the number of the hold at the start of the window. It
// is -1 (the constant free) if no client held the key then.
type window struct {
	acts     []act
	holder   int
	from     int64
	searchAt int // if several clients hold the key, the window is searched for a violation when it has this many operations
}

type act struct {
	hold      int
	ends      bool
	call, ret int64
}

func (w *window) acquire(id int, p pair) {
	w.acts = append(w.acts, act{id, false, max(p.acquireCall, w.from), p.acquireReturn})
}

func (w *window) end(id int, p pair, ret int64) {
	w.acts = append(w.acts, act{id, true, max(p.endCall, w.from), ret})
}

// withOpenEnds returns a copy of the window with the releases that have been called but have not returned.
func (w *window) withOpenEnds(ending []known) *window {
	cut := *w
	cut.acts = slices.Clip(w.acts)
	for _, k := range ending {
		cut.end(k.id, k.pair, int64(histories.Forever))
	}
	return &cut
}
