package properties

import (
	"time"

	"lockbench/checker"
)

// answerTime plus the longest back-off of a lock is the time within which the lock must grant a free key, or return
// after a timeout.
const answerTime = 500 * time.Millisecond

// maxOverruns is the maximum number of stored overruns of one monitor. Further overruns are not counted.
const maxOverruns = 1 << 16

// timed is the monitor of a property with a time limit. A pause of lockbench itself, or a slow read of the store by
// lockbench, extends each limit by twice its length. The clients and the store may have been slow one after the other. The
// length is known only at the end of the history, so overruns are stored until then. The witness shows the longest overrun.
type timed struct {
	monitor
	overruns []time.Duration
	worst    time.Duration
}

// overrun records that a limit was exceeded by the given time. It reports whether this is the worst overrun so far.
func (t *timed) overrun(by time.Duration) bool {
	if by <= 0 {
		return false
	}
	if len(t.overruns) < maxOverruns {
		t.overruns = append(t.overruns, by)
	}
	worst := by > t.worst
	t.worst = max(t.worst, by)
	return worst
}

// finding counts each overrun as a violation, unless a pause or a slow read of lockbench explains it. It then returns the result of
// monitor.finding.
func (t *timed) finding(evidence string, reasons ...reason) checker.Finding {
	for _, by := range t.overruns {
		if by > 2*max(t.Stall, t.SlowestRead) {
			t.violations++
		}
	}
	return t.monitor.finding(evidence, reasons...)
}

// outstanding lists the acquires of a key that have not returned.
type outstanding []asked

func (o *outstanding) add(client int32, hold int64, call time.Duration) {
	*o = append(*o, asked{client, hold, call})
}

// remove removes and returns the acquire of a client. It returns false if the client has no outstanding acquire.
func (o *outstanding) remove(client int32) (asked, bool) {
	for i, a := range *o {
		if a.client == client {
			*o = append((*o)[:i], (*o)[i+1:]...)
			return a, true
		}
	}
	return asked{}, false
}
