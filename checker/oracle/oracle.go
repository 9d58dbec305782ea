// Package oracle checks exclusion a second time, with the linearizability checker Porcupine. It compares the results
// with those of package properties. The main type is Oracle.
package oracle

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/anishathalye/porcupine"

	"lockbench/checker"
	"lockbench/checker/projection"
)

// The check treats each hold as two operations on a mutex: an acquire and a release. Porcupine takes quadratic time, so
// a key with more than wholeLimit operations is checked in parts (windows).
//
// The first sampleFrom operations are checked completely. Later windows are checked with probability 1/sampleEvery, or
// always if Oracle.full is set. If another checker has found a violation on a key, all windows are checked until
// Porcupine finds one too.
const (
	wholeLimit   = 1000
	sampleFrom   = 100_000
	sampleEvery  = 16
	searchBudget = 5 * time.Second // maximum search time per key; a longer search is undecided
	fullBudget   = 10 * time.Minute
)

type pair struct{ acquireCall, acquireReturn, endCall, endReturn int64 }

// Oracle checks with Porcupine whether holds exclude each other. Call Add for each hold that has ended, then Judge.
type Oracle struct {
	views    []projection.View
	monitors []Monitor // monitor of each view, by index of the view; may contain nil
	keys     []projection.PerKey[searched]
	full     bool
	Whole    int // maximum number of operations that are checked at once
	Window   int // minimum number of operations in a window, which is a part of a longer history
	random   *rand.Rand
	ops      int // number of operations checked in windows so far
}

type searched struct {
	key     *projection.Key
	pairs   []pair  // all holds of a short history; nil if the history is long
	stream  *stream // checker for a long history, in parts; nil if the history is short
	held    int
	result  porcupine.CheckResult
	windows int
	skipped int
	took    time.Duration
}

// New returns an Oracle, which uses Porcupine to check that holds do not overlap. Each view defines when a hold ends.
// The Oracle checks a history once per view. If full is false, it checks only a random sample of a long history. The
// parameter seed determines the sample.
func New(full bool, seed uint64, views ...projection.View) *Oracle {
	return &Oracle{views: views, keys: make([]projection.PerKey[searched], len(views)), monitors: make([]Monitor, len(views)),
		full: full, Whole: wholeLimit, Window: windowSize, random: rand.New(rand.NewPCG(seed, 0))}
}

// Monitor checks one property independently of Porcupine. Violated reports whether the property is violated on a key.
type Monitor interface {
	Monitors() (property string)
	Violated(key string) bool
}

// Watch adds a Monitor, which checks a property independently. Judge compares its verdicts with those of Porcupine for
// the same property.
func (o *Oracle) Watch(x Monitor) {
	for v := range o.views {
		if o.views[v].Property == x.Monitors() {
			o.monitors[v] = x
		}
	}
}

// Add adds a hold. It must not be called before the hold's release has returned, unless the client or the history has
// ended.
func (o *Oracle) Add(k *projection.Key, h *projection.Hold) {
	for v := range o.views {
		s := o.keys[v].Of(k)
		if p, ok := pairOf(&o.views[v], h); ok {
			s.key = k
			s.held++
			o.take(v, s, h, p)
		}
	}
}

// pairOf returns the times of the acquire and of the end of a hold. ok is false if the end is unknown or is not after
// the grant.
func pairOf(w *projection.View, h *projection.Hold) (pair, bool) {
	end, ok := w.End(h)
	if !ok || end <= h.Granted {
		return pair{}, false
	}
	p := pair{int64(h.Acquire.Call), int64(h.Granted), int64(end), int64(h.Closed)}
	if end < h.End { // the lease expired before the release
		p.endReturn = p.endCall
	}
	return p, true
}

func (o *Oracle) take(v int, s *searched, h *projection.Hold, p pair) {
	if s.stream == nil && 2*len(s.pairs) < o.Whole {
		s.pairs = append(s.pairs, p)
		return
	}
	if s.stream == nil {
		s.stream = newStream(o.Window, func(w *window, must bool) bool { return o.checkWindow(v, s, w, must) })
		for _, earlier := range s.pairs {
			s.stream.add(nil, earlier)
		}
		s.pairs = nil
	}
	s.stream.add(h, p)
	now := h.Closed
	if h.Fault != nil { // a fault has ended the hold, so Closed is not set
		now = h.End
	}
	s.stream.advance(s.key, &o.views[v], int64(now))
}

// checkWindow checks one window of the history of a key with Porcupine. If the Oracle checks only a
// random sample, checkWindow may skip the window, unless must is set. It returns false if it finds a violation, and
// otherwise true.
func (o *Oracle) checkWindow(v int, s *searched, w *window, must bool) bool {
	if !o.full && !must && o.ops > sampleFrom && !o.violated(v, s) && o.random.IntN(sampleEvery) > 0 {
		s.skipped++
		return true
	}
	s.windows++
	o.ops += len(w.acts)
	switch r := o.search(s, w); r {
	case porcupine.Illegal:
		s.result = r
		return false
	case porcupine.Unknown:
		s.result = r
	}
	return true
}

func (o *Oracle) search(s *searched, w *window) porcupine.CheckResult {
	budget := searchBudget
	if o.full {
		budget = fullBudget
	}
	if s.took >= budget {
		return porcupine.Unknown
	}
	ops := make([]porcupine.Operation, len(w.acts))
	for i, a := range w.acts {
		ops[i] = porcupine.Operation{ClientId: a.hold, Input: step{a.hold, a.ends}, Call: a.call, Return: a.ret}
	}
	start := time.Now()
	r := porcupine.CheckOperationsTimeout(mutexModel(w.holder), ops, budget-s.took)
	s.took += time.Since(start)
	return r
}

func (o *Oracle) violated(v int, s *searched) bool {
	return o.monitors[v] != nil && o.monitors[v].Violated(s.key.Name)
}

// Judge finishes the checks by Porcupine and returns their results. These include each key on which Porcupine and a
// Monitor disagree.
func (o *Oracle) Judge() checker.Oracle {
	var out checker.Oracle
	for v := range o.views {
		keys, held := 0, 0 // numbers of keys and holds checked in this view
		for i := range o.keys[v] {
			s := &o.keys[v][i]
			if s.held == 0 {
				continue
			}
			o.finish(s)
			keys++
			held += s.held
			out.Windows += s.windows
			out.Skipped += s.skipped
			out.Took += s.took
			violated := o.violated(v, s)
			switch {
			case s.result == porcupine.Unknown || s.stream != nil && s.stream.doubtful:
				out.Undecided++
			case violated != (s.result == porcupine.Illegal):
				out.Disagreements = append(out.Disagreements, fmt.Sprintf("%s of key %s: the monitor says %s, Porcupine says %s",
					o.views[v].Property, s.key.Name, map[bool]checker.Observed{true: checker.Violated, false: checker.Held}[violated], s.result))
			}
		}
		out.Keys, out.Pairs = max(out.Keys, keys), max(out.Pairs, held)
	}
	return out
}

func (o *Oracle) finish(s *searched) {
	if s.stream != nil {
		s.stream.finish()
		s.result = cmp.Or(s.result, porcupine.Ok)
		return
	}
	w := &window{holder: free}
	for i, p := range s.pairs {
		w.acquire(i, p)
		w.end(i, p, p.endReturn)
	}
	s.result = o.search(s, w)
}

type step struct {
	hold int
	ends bool
}

func mutexModel(holder int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return holder },
		Step: func(state, input, _ any) (bool, any) {
			holder, a := state.(int), input.(step)
			if a.ends {
				return holder == a.hold, free
			}
			return holder == free, a.hold
		},
	}
}
