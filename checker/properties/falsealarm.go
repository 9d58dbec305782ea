package properties

import (
	"lockbench/checker/projection"
	"lockbench/histories"
)

// falseAlarms finds reports of a loss that was none. Without a fault, a lock reports a loss only at about the end of the lease.
// A report is false if more than a third of the lease was left and the release then succeeded.
type falseAlarms struct {
	told  map[int32]histories.Op // early report of the client's last lost hold
	found []falseAlarm
}

type falseAlarm struct{ told, release histories.Op }

// lost handles a report of a loss, after it has ended the hold.
func (x *falseAlarms) lost(k *projection.Key, op *histories.Op) {
	h := k.Last
	if op.Value == histories.Told && h != nil && h.Number() == op.Hold && h.Promised && op.Call+h.Given/3 < h.Until {
		if x.told == nil {
			x.told = map[int32]histories.Op{}
		}
		x.told[op.Client] = *op
	}
}

// released handles the return of a release.
func (x *falseAlarms) released(op *histories.Op, calm bool) {
	if told, ok := x.told[op.Client]; ok && told.Hold == op.Hold && op.Outcome == histories.OK && calm {
		x.found = append(x.found, falseAlarm{told, *op})
	}
}
