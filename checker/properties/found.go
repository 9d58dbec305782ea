package properties

import (
	"cmp"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/histories"
)

type found struct {
	violations int
	witness    *checker.Witness
}

// first counts a violation and reports whether it is the first, whose witness is wanted.
func (f *found) first() bool {
	f.violations++
	return f.violations == 1
}

// reason is why a history without a violation does not show that a property holds.
type reason struct {
	applies  bool
	observed checker.Observed
	why      string
}

// finding returns what was found: violated, or the first reason that applies, or else held.
func (f *found) finding(evidence string, reasons ...reason) checker.Finding {
	out := checker.Finding{Observed: checker.Held, Evidence: evidence, Violations: f.violations}
	if f.violations > 0 {
		out.Observed, out.Witness = checker.Violated, f.witness
		return out
	}
	for _, r := range reasons {
		if r.applies {
			out.Observed, out.Why = r.observed, r.why
			break
		}
	}
	return out
}

// witnessOf returns a witness with its operations in order of their calls.
func witnessOf(key string, from, to time.Duration, story string, ops ...histories.Op) *checker.Witness {
	slices.SortStableFunc(ops, func(a, b histories.Op) int { return cmp.Compare(a.Call, b.Call) })
	return &checker.Witness{Key: key, From: from, To: to, Story: story, Ops: ops}
}
