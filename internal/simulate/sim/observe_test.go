package sim

import (
	"slices"
	"testing"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
)

// TestObserve checks that a trial records the key of a hold with the lease that the holder was promised, and its absence when
// no client holds it.
func TestObserve(t *testing.T) {
	locks, all := catalog.OnRedis(), faults.All()
	lock := locks[slices.IndexFunc(locks, func(l impls.Impl) bool { return l.Name == "set-px-lua" })]
	none := all[slices.IndexFunc(all, func(f faults.Fault) bool { return f.Name == "none" })]
	trial := faultTrial(lock, none, counter(t), "single")
	trial.Params.Clients, trial.Params.Processes, trial.Params.Hold, trial.Params.Think = 1, 1, trial.Params.TTL/4, trial.Params.TTL/4
	r, err := trial.Record()
	if err != nil {
		t.Fatal(err)
	}
	var held histories.Op
	within, absent := 0, 0
	for _, line := range r.Lines {
		switch op := line.Op; {
		case op.Kind == histories.Acquire && op.Client == 0:
			held = op
		case op.Kind == histories.Seen && op.Depth == 0:
			absent++
		case op.Kind == histories.Seen:
			within++
			if left := held.Call + held.Validity - op.Call; op.Validity > trial.Params.TTL || held.Return < op.Call && op.Validity < left {
				t.Errorf("at %v the lease was %v, and %v of the promise was left", op.Call, op.Validity, left)
			}
		}
	}
	if within == 0 || absent == 0 {
		t.Errorf("%d observations of a held key, %d of a free one", within, absent)
	}
}
