package serve

import (
	"maps"
	"slices"
	"sync"
	"time"

	"lockbench/histories"
)

// mostNear is how many operations are kept about what was looked at last. A history has to be read from its beginning; what
// lies about a window is where somebody goes next who zooms and pans, and is shown from memory.
const mostNear = 100_000

// near is a part of one history, as it was replayed, with all that had begun before it.
type near struct {
	file     string
	stamp    stamp
	from, to time.Duration
	toTheEnd bool // nothing comes after it
	before   *tracker
	calls    []histories.Op // that had not returned when it begins
	events   []keptEvent
}

type keptEvent struct {
	op       histories.Op
	returned bool
}

// neighbourhood keeps one part of one history at a time.
type neighbourhood struct {
	mu   sync.Mutex
	kept *near
}

func (n *neighbourhood) get(file string, now stamp, v view) *near {
	n.mu.Lock()
	defer n.mu.Unlock()
	if k := n.kept; k != nil && k.file == file && k.stamp == now && k.from <= v.From && v.To <= k.to {
		return k
	}
	return nil
}

func (n *neighbourhood) put(k *near) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.kept = k
}

// replay visits what is kept. It tells whether that was all that the visitor wanted to see.
func (n *near) replay(visit func(histories.Event) error) (complete bool) {
	for i := range n.calls {
		op := n.calls[i]
		if visit(histories.Event{Op: &op}) != nil {
			return true
		}
	}
	for i := range n.events {
		op := n.events[i].op
		if visit(histories.Event{Op: &op, Return: n.events[i].returned}) != nil {
			return true
		}
	}
	return n.toTheEnd
}

// keeper keeps a part of a history while it is replayed.
type keeper struct {
	near
	open map[openID]histories.Op
	full bool
}

// keeperFor chooses what is kept about a window: as many slices to its sides as there is room for.
func (o *overview) keeperFor(file string, now stamp, v view, room int) *keeper {
	k := &keeper{near: near{file: file, stamp: now}, open: map[openID]histories.Op{}}
	first, last := int(v.From/o.Width), min(int(v.To/o.Width), buckets-1)
	for i := first; i <= last; i++ {
		room -= o.Buckets[i].Ops
	}
	if k.full = room < 0; k.full {
		return k
	}
	for grown := true; grown; {
		grown = false
		if first > 0 && o.Buckets[first-1].Ops <= room {
			first, grown = first-1, true
			room -= o.Buckets[first].Ops
		}
		if last < buckets-1 && o.Buckets[last+1].Ops <= room {
			last, grown = last+1, true
			room -= o.Buckets[last].Ops
		}
	}
	k.from, k.to = time.Duration(first)*o.Width, time.Duration(last+1)*o.Width
	return k
}

// event sees each event before the tracker does.
func (k *keeper) event(e histories.Event, now *tracker) {
	if k.full {
		return
	}
	at, op := e.Time(), e.Op
	if k.before == nil && at >= k.from {
		k.before, k.calls = now.clone(), slices.Collect(maps.Values(k.open))
	}
	switch {
	case k.before != nil && len(k.events) < 3*mostNear: // an operation is two events; the slices are told by returns alone
		k.events = append(k.events, keptEvent{*op, e.Return})
	case k.before != nil:
		k.full, k.events = true, nil
	case e.Return:
		delete(k.open, openID{op.Client, op.Call})
	default:
		k.open[openID{op.Client, op.Call}] = *op
	}
}

// clone is the same state for another to go on from.
func (k *tracker) clone() *tracker {
	c := newTracker(nil, nil)
	c.at = k.at
	for key, holds := range k.byKey {
		for _, t := range holds {
			same := *t
			c.byKey[key] = append(c.byKey[key], &same)
			c.open[holdID{t.Acquire.Client, t.Acquire.Hold}] = &same
		}
	}
	for key, o := range k.both {
		same := *o
		same.Parts, same.Clients = slices.Clone(o.Parts), slices.Clone(o.Clients)
		c.both[key] = &same
	}
	return c
}
