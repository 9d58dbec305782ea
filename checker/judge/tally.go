package judge

import (
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// maxBands is the maximum number of faults that a verdict lists with their start and end. Further faults are counted,
// but not listed.
const maxBands = 1000

type tally struct {
	*checker.Counts
	lost      map[int32]histories.Op // last reported loss of a hold, by client; deleted after the report proved false
	bands     []checker.Band
	fresh     func(*histories.Op) bool // reports whether an operation belongs to the epilogue
	settled   int                      // number of acquires and releases of the workload that have returned
	unsettled int                      // number of these acquires and releases with an unknown outcome
	injected  bool                     // whether at least one fault was verified
	first     time.Duration            // call time of the first verified fault
}

func (t *tally) event(k *projection.Key, ev histories.Event) {
	op := ev.Op
	if !ev.Return {
		return
	}
	if op.Outcome == histories.Unknown && !op.Kind.SelfStarted() {
		t.Unknown++
	}
	if !t.fresh(op) && op.Client != histories.Harness && (op.Kind == histories.Acquire || op.Kind == histories.Release) {
		if t.settled++; op.Outcome == histories.Unknown {
			t.unsettled++
		}
	}
	switch {
	case op.Kind == histories.Acquire && op.Outcome == histories.Refused:
		t.Refused++
	case op.Kind == histories.Lost:
		t.Losses++
		t.lost[op.Client] = *op
	case op.Kind == histories.Probe && op.Outcome == histories.OK && op.Value == histories.ProbeMine:
		if l, ok := t.lost[op.Client]; ok && l.Hold != 0 && l.Hold == op.Hold && op.Call >= l.Return {
			t.FalseLosses++
			delete(t.lost, op.Client)
		}
	case op.Stale():
		t.Stale++
	}
}

// fault records the start or the end of a fault. A heal operation ends the latest fault with the same name and client.
func (t *tally) fault(ev histories.Event) {
	op := ev.Op
	switch {
	case op.Kind == histories.Heal:
		for i := len(t.bands) - 1; i >= 0; i-- {
			if b := &t.bands[i]; bandOf(b, op) && b.To == histories.StillOpen {
				b.To = op.Return
				return
			}
		}
	case !ev.Return:
		if len(t.bands) < maxBands {
			t.bands = append(t.bands, checker.Band{Name: op.Fault, Client: op.Client, From: op.Call, To: histories.StillOpen})
		}
	case op.Outcome == histories.OK:
		if t.Faults++; !t.injected || op.Call < t.first {
			t.injected, t.first = true, op.Call
		}
		for i := range t.bands {
			if b := &t.bands[i]; bandOf(b, op) && b.From == op.Call {
				b.Effective = true
			}
		}
	}
}

func bandOf(b *checker.Band, op *histories.Op) bool {
	return b.Name == op.Fault && b.Client == op.Client
}

func (t *tally) change(k *projection.Key, h *projection.Hold, c projection.Change) {
	switch c {
	case projection.Began:
		t.Grants++
		if l := k.Last; l != nil && l.Acquire.Client != h.Acquire.Client && h.Acquire.Call <= l.End && h.Granted > l.End {
			t.HandOffs++
		}
		for _, o := range k.Live {
			if o != h && o.Until < h.Granted {
				t.Takeovers++
				break
			}
		}
	case projection.Nested:
		t.Grants++
	case projection.Ended:
		if h.Until < h.End {
			t.Expiries++
		}
	}
}
