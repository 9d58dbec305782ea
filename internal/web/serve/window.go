package serve

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"lockbench/histories"
	"lockbench/reports/run"
)

// window holds the part of a history that a view selects, with its operations and holds.
type window struct {
	view
	Ops      []histories.Op // first operations in the displayed period, sorted by call time; Count is the number of all operations in the period
	Count    int
	Holds    []run.Hold
	Overlaps []*overlap // first overlaps of holds in the displayed period; OverlapCount is the number of all overlaps in the period
	Clients  []clientShare
	Warnings []string

	OverlapCount int

	merged map[int32][]run.Hold
	bars   int
	shares map[int32]*clientShare
	open   map[openID]histories.Op
	beyond int // number of events read after the end of the displayed period
}

// clientShare summarises the operations of one client in the window. The page shows the summary as text, for readers
// who cannot see the drawing.
type clientShare struct {
	Client   int32
	Ops      int
	Grants   int
	Held     time.Duration
	Overlaps int // number of holds that overlapped a hold of another client
}

type openID struct {
	client int32
	call   time.Duration
}

// Crowded reports whether the window has too many operations to draw each of them.
func (w *window) Crowded() bool { return w.Count > len(w.Ops) }

// windowOf reads the part of a history that a view selects. It continues after this part until all operations and
// holds of the part have ended, or mostBeyond events were read.
func (s *Server) windowOf(ctx context.Context, file string, v view) (w *window, err error) {
	w = &window{view: v, merged: map[int32][]run.Hold{}, shares: map[int32]*clientShare{}, open: map[openID]histories.Op{}}
	if _, w.Warnings, err = s.follow(ctx, file, w); err != nil {
		return nil, err
	}
	for _, op := range w.open { // add the operations that never returned
		w.add(op)
	}
	w.settle()
	return w, nil
}

func (w *window) event(e histories.Event, k *tracker) error {
	if e.Time() > w.To {
		if w.beyond++; w.beyond > mostBeyond || len(w.open) == 0 && !k.heldSince(w.To) {
			return errEnough
		}
	}
	op := e.Op
	if !w.matches(op.Client, op.Key) || op.Call > w.To {
		return nil
	}
	id := openID{op.Client, op.Call}
	if !e.Return {
		open := *op
		open.Return, open.Outcome, open.Error = histories.StillOpen, histories.Unknown, ""
		w.open[id] = open
		return nil
	}
	delete(w.open, id)
	if op.Return >= w.From {
		w.add(*op)
	}
	return nil
}

func (w *window) add(op histories.Op) {
	w.Count++
	if len(w.Ops) < mostOps {
		w.Ops = append(w.Ops, op)
	}
	w.share(op.Client).Ops++
}

func (w *window) share(client int32) *clientShare {
	if w.shares[client] == nil {
		w.shares[client] = &clientShare{Client: client}
	}
	return w.shares[client]
}

// addHold adds a hold of a client to the window, if the view includes the hold. It also adds the hold to the
// list of merged holds. In this list, two holds of a client are merged if the gap between them is too short to draw.
// The page shows the merged holds if the window has too many operations or holds.
func (w *window) addHold(t run.Hold) {
	end := t.End
	if !t.Ended {
		end = histories.Forever
	}
	a := t.Acquire
	if !w.matches(a.Client, a.Key) || a.Return > w.To || end < w.From {
		return
	}
	c := w.share(a.Client)
	c.Grants++
	c.Held += min(end, w.To) - max(a.Return, w.From)
	if len(w.Holds) <= mostOps {
		w.Holds = append(w.Holds, t)
	}
	all := w.merged[a.Client]
	near := (w.To - w.From) / resolution
	if n := len(all); n > 0 && all[n-1].Ended && a.Return-all[n-1].End < near {
		last := &all[n-1]
		last.End, last.Ended, last.Count = max(last.End, end), t.Ended, max(last.Count, 1)+1
		return
	}
	if w.bars++; w.bars <= mostBars {
		w.merged[a.Client] = append(all, t)
	}
}

func (w *window) addOverlap(o *overlap) {
	wanted := slices.ContainsFunc(o.Clients, func(c int32) bool { return w.matches(c, o.Key) })
	if o.From > w.To || o.To < w.From || !wanted {
		return
	}
	w.OverlapCount++
	for _, part := range o.Parts {
		if w.matches(part.Client, o.Key) && part.From <= w.To && part.To >= w.From {
			w.share(part.Client).Overlaps++
		}
	}
	if len(w.Overlaps) < mostHatch {
		w.Overlaps = append(w.Overlaps, o)
	}
}

func (w *window) settle() {
	slices.SortStableFunc(w.Ops, func(a, b histories.Op) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Client, b.Client))
	})
	slices.SortFunc(w.Overlaps, func(a, b *overlap) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Key, b.Key)) })
	for _, client := range slices.Sorted(maps.Keys(w.shares)) {
		w.Clients = append(w.Clients, *w.shares[client])
	}
	if w.Crowded() || len(w.Holds) > mostOps {
		w.Holds = nil
		for _, c := range w.Clients {
			for _, h := range w.merged[c.Client] {
				h.Acquire.Validity = 0 // leases are not drawn if there are too many holds
				w.Holds = append(w.Holds, h)
			}
		}
	}
	slices.SortFunc(w.Holds, func(a, b run.Hold) int {
		return cmp.Or(cmp.Compare(a.Acquire.Return, b.Acquire.Return), cmp.Compare(a.Acquire.Client, b.Acquire.Client))
	})
}
