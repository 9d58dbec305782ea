package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"lockbench/histories"
)

// The oracle judges the two views of exclusion once more, by Porcupine's search for a linearization, from
// the same holds and nothing else of the monitor's. Each hold is two operations on a mutex that knows its
// owner: the acquire, anywhere in [call, return], and the end, anywhere from the end on. Histories of up to
// wholeLimit operations per key are searched whole; longer ones in windows, since the search's time grows
// with the square of the length.
const (
	wholeLimit   = 1000
	windowSize   = 16
	searchBudget = 5 * time.Second // per key and view; what takes longer is undecided
)

// pair is a hold, as the oracle sees it.
type pair struct{ acquireCall, acquireReturn, endCall, endReturn int64 }

type oracle struct {
	views []view
	pairs []perKey[[]pair] // by view
	keys  []*key
}

func newOracle(views ...view) *oracle {
	return &oracle{views: views, pairs: make([]perKey[[]pair], len(views))}
}

// add takes a hold that is closed.
func (o *oracle) add(k *key, h *hold) {
	if k.index >= len(o.keys) {
		o.keys = append(o.keys, make([]*key, k.index+1-len(o.keys))...)
	}
	o.keys[k.index] = k
	for v := range o.views {
		end, ok := o.views[v].end(h)
		if !ok || end <= h.granted { // unknown, or it was over before it was received
			continue
		}
		p := pair{int64(h.acquire.Call), int64(h.granted), int64(end), int64(h.closed)}
		if end < h.end { // a lease that ran out did so by itself
			p.endReturn = p.endCall
		}
		pairs := o.pairs[v].of(k)
		*pairs = append(*pairs, p)
	}
}

// judge searches every key in both views and compares with what the monitors found.
func (o *oracle) judge(monitors ...*exclusion) Oracle {
	start := time.Now()
	var out Oracle
	for v := range o.views {
		for i, pairs := range o.pairs[v] {
			if len(pairs) == 0 {
				continue
			}
			out.Keys++
			out.Pairs += len(pairs)
			legal, windows := search(pairs)
			out.Windows += windows
			name := o.keys[i].name
			violated := monitors[v].violated[name]
			switch {
			case legal == porcupine.Unknown:
				out.Undecided++
			case violated != (legal == porcupine.Illegal):
				out.Disagreements = append(out.Disagreements, fmt.Sprintf("%s of key %s: the monitor says %s, Porcupine says %s",
					o.views[v].property, name, map[bool]Observed{true: Violated, false: Held}[violated], legal))
			}
		}
	}
	out.Took = time.Since(start)
	return out
}

// search runs Porcupine over one key's holds, whole or window by window, and counts the windows.
func search(pairs []pair) (porcupine.CheckResult, int) {
	deadline := time.Now().Add(searchBudget)
	if 2*len(pairs) <= wholeLimit {
		w := window{holder: free}
		for i, p := range pairs {
			w.acquire(i, p, p.acquireCall)
			w.end(i, p, p.endReturn)
		}
		return w.check(deadline), 0
	}
	result, windows := porcupine.Ok, 0
	eachWindow(pairs, func(w *window) bool {
		windows++
		switch r := w.check(deadline); {
		case r == porcupine.Illegal:
			result = r
			return false
		case r == porcupine.Unknown:
			result = r
		}
		return true
	})
	return result, windows
}

// eachWindow cuts a key's history just before the end of a hold that is alone at that time. There the
// mutex is held by that hold for certain, whatever the search would choose, so the pieces can be searched
// one by one: an acquire belongs to the window in which it returns, and cannot have taken effect before
// the window began; an end that is still open at the cut took effect before it.
func eachWindow(pairs []pair, yield func(*window) bool) {
	w := &window{holder: free, patience: 4 * windowSize}
	inside := map[int]bool{} // holds granted and not ended
	ending := map[int]bool{} // holds ended, whose end has not returned
	for _, e := range ends(pairs) {
		i, p := e.pair, pairs[e.pair]
		switch e.what {
		case granted:
			w.acquire(i, p, max(p.acquireCall, w.from))
			inside[i] = true
			if len(inside) > 1 && len(w.ops) >= w.patience {
				// Several holds at once leave no place to cut. Either that is a violation already, or
				// Porcupine disagrees and the caller will hear of it at the next cut.
				if w.patience = 2 * len(w.ops); !yield(w.withOpenEnds(pairs, ending)) {
					return
				}
			}
		case leaving:
			if len(inside) == 1 && len(w.ops) >= windowSize {
				if !yield(w.withOpenEnds(pairs, ending)) {
					return
				}
				clear(ending)
				w = &window{holder: i, from: p.endCall, patience: 4 * windowSize}
			}
			delete(inside, i)
			ending[i] = true
		case left:
			if ending[i] {
				delete(ending, i)
				w.end(i, p, p.endReturn)
			}
		}
	}
	yield(w.withOpenEnds(pairs, ending))
}

// window is a piece of a key's history, and who held the mutex when it began.
type window struct {
	ops      []porcupine.Operation
	holder   int
	from     int64
	patience int // length from which a window that cannot be cut is looked at all the same
}

const free = -1

type action struct {
	hold int
	ends bool
}

func (w *window) acquire(i int, p pair, call int64) {
	w.ops = append(w.ops, porcupine.Operation{ClientId: i, Input: action{hold: i}, Call: call, Return: p.acquireReturn})
}

func (w *window) end(i int, p pair, ret int64) {
	w.ops = append(w.ops, porcupine.Operation{ClientId: i, Input: action{i, true}, Call: max(p.endCall, w.from), Return: ret})
}

// withOpenEnds is the window up to now, with the ends that are still open.
func (w *window) withOpenEnds(pairs []pair, ending map[int]bool) *window {
	cut := *w
	cut.ops = slices.Clone(w.ops)
	for i := range ending {
		cut.end(i, pairs[i], int64(histories.Forever))
	}
	return &cut
}

// check asks Porcupine.
func (w *window) check(deadline time.Time) porcupine.CheckResult {
	left := time.Until(deadline)
	if left <= 0 {
		return porcupine.Unknown
	}
	return porcupine.CheckOperationsTimeout(mutexModel(w.holder), w.ops, left)
}

// mutexModel is the model: its state is the hold that has it.
func mutexModel(holder int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return holder },
		Step: func(state, input, _ any) (bool, any) {
			holder, a := state.(int), input.(action)
			if a.ends {
				return holder == a.hold, free
			}
			return holder == free, a.hold
		},
	}
}

// what happens to a pair, in the order in which it does at one instant: calls before returns.
type moment uint8

const (
	leaving moment = iota // the end is called
	granted               // the acquire returned
	left                  // the end returned
)

type instant struct {
	at   int64
	what moment
	pair int
}

func ends(pairs []pair) []instant {
	out := make([]instant, 0, 3*len(pairs))
	for i, p := range pairs {
		out = append(out, instant{p.acquireReturn, granted, i})
		if p.endCall < int64(histories.Forever) {
			out = append(out, instant{p.endCall, leaving, i}, instant{p.endReturn, left, i})
		}
	}
	slices.SortFunc(out, func(a, b instant) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.what, b.what), cmp.Compare(a.pair, b.pair))
	})
	return out
}
