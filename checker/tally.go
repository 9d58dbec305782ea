package checker

import "lockbench/histories"

// tally counts what gives a finding its weight.
type tally struct {
	*Counts
}

func (t *tally) event(k *key, ev histories.Event) {
	op := ev.Op
	if !ev.Return {
		return
	}
	if op.Outcome == histories.Unknown && !op.Kind.SelfStarted() {
		t.Unknown++
	}
	if op.Kind == histories.Acquire && op.Outcome == histories.Refused {
		t.Refused++
	}
}

func (t *tally) change(k *key, h *hold, c change) {
	switch c {
	case began:
		t.Grants++
		if l := k.last; l != nil && l.acquire.Client != h.acquire.Client && h.acquire.Call <= l.end && h.granted > l.end {
			t.HandOffs++
		}
		for _, o := range k.live {
			if o != h && o.until < h.granted {
				t.Takeovers++
				break
			}
		}
	case nested:
		t.Grants++
	case ended:
		if h.until < h.end {
			t.Expiries++
		}
	}
}
