package run

import (
	"fmt"
	"slices"

	"lockbench/checker"
	"lockbench/histories"
)

// Why the speed of a lock may be no merit of it.
const (
	notALock     = "not a lock: shown as a floor"
	insideAtOnce = "two clients were inside at once: its speed is no merit"
	controlOf    = "a control: its promises overlapped in %s, as expected"
	splitKeys    = "its keys are split: as many hold at once, and nothing here compares with that"
)

// setStandings marks the measurements of what does not exclude: where two clients were inside at once in
// that cell or in the same workload without a fault, and everywhere where a lock whose algorithm was
// expected to be wrong was seen to be (its promises overlapped; that a client outlived its lease is no
// fault of the algorithm).
func setStandings(r *Results) {
	for i := range r.Measurements {
		m := &r.Measurements[i]
		for _, o := range r.Cells {
			if o.Lock == m.Lock && o.Deployment == m.Deployment && o.Scenario == m.Scenario && o.Observed == checker.Violated {
				m.Standing = worse(m.Standing, standing(m, &o))
			}
		}
		if m.Standing == "" && m.Keys >= 2*fewestKeys(r, m) {
			m.Standing = splitKeys
		}
	}
}

// fewestKeys is the least number of keys that a lock was asked for in the same workload. By chance a few of
// many keys may not come up; a lock that splits its keys has several times as many.
func fewestKeys(r *Results, m *Measurement) int {
	fewest := m.Keys
	for _, other := range r.Measurements {
		if other.Workload == m.Workload && other.Keys > 0 {
			fewest = min(fewest, other.Keys)
		}
	}
	return max(1, fewest)
}

func standing(m *Measurement, o *Observation) string {
	here := o.Workload == m.Workload && (o.Fault == m.Fault || o.Fault == "none")
	control := o.Expected == histories.Breaks && o.Fault == "none" // no lease survives every fault
	switch {
	case o.Property == "mutual-exclusion" && here && control:
		return notALock
	case o.Property == "mutual-exclusion" && here:
		return insideAtOnce
	case o.Property == "lease-exclusion" && control:
		return fmt.Sprintf(controlOf, o.Workload)
	}
	return ""
}

// worse prefers what happened in the very place, and of that what was expected; else the first.
func worse(a, b string) string {
	rank := func(s string) int { return slices.Index([]string{"", insideAtOnce, notALock}, s) }
	if ra, rb := rank(a), rank(b); ra == 0 || rb > max(ra, 0) {
		return b
	}
	return a
}
