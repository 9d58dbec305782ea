package run

import (
	"fmt"
	"slices"

	"lockbench/checker"
	"lockbench/reports/format"
)

// exclusion classifies a lock by whether two clients ever held it at once, from best to worst.
type exclusion int

const (
	excluded    exclusion = iota // no two holds overlapped
	unsettled                    // none overlapped, but the trials do not settle it everywhere, or nowhere
	withinLease                  // holds overlapped, but only after a lease had ended
	overlapped                   // promised holds overlapped, or holds of a lock that promises no end
)

// exclusionLooks has the symbol, the word and the terminal's colour codes of each class.
var exclusionLooks = [...]struct{ symbol, word, codes string }{
	excluded: {"✓", "yes", "32"}, unsettled: {"?", "?", "33"}, withinLease: {"~", "leased", "33"}, overlapped: {"✗", "NO", "31"},
}

var overviewLegend = []string{
	"excludes: NO: two clients held at once; leased: only after a lease had ended; yes: never, in any trial; ?: not settled",
	"crash: another client got the lock after its holder died; fair: Jain's index, 1 is equal shares",
}

// exclusionOf classifies one lock by all of its observations. An unknown is no evidence that a lock excludes.
func exclusionOf(seen []Observation) exclusion {
	worst, held := excluded, false
	for _, cell := range grouped(seen, func(o *Observation) [3]string { return [3]string{o.Scenario, o.Workload, o.Fault} }) {
		promised, lived := observedOf(cell, "lease-exclusion"), observedOf(cell, "mutual-exclusion")
		switch {
		case promised == checker.Violated || lived == checker.Violated && promised != checker.Held:
			worst = overlapped
		case lived == checker.Violated:
			worst = max(worst, withinLease)
		case lived == checker.Undecided:
			worst = max(worst, unsettled)
		}
		held = held || lived == checker.Held
	}
	if !held {
		return max(worst, unsettled)
	}
	return worst
}

// observedOf returns what was observed of a property in one cell.
func observedOf(cell []Observation, property string) checker.Observed {
	if i := slices.IndexFunc(cell, func(o Observation) bool { return o.Property == property }); i >= 0 {
		return cell[i].Observed
	}
	return checker.NotApplicable
}

// overview returns a row for each lock below a heading, and the class of each lock. Fairness, goodput and waiting are those
// of one workload without a fault.
func (r *Results) overview() (cells [][]string, classes []exclusion, workload string) {
	label, workload := r.Run.labels(), r.commonWorkload()
	cells = [][]string{{"", "lock", "excludes", "crash", "fair", "goodput /s", "longest wait ms", "as expected"}}
	for _, seen := range r.byLock() {
		class := exclusionOf(seen)
		look, jain, goodput, longest := exclusionLooks[class], format.None, format.None, format.None
		i := slices.IndexFunc(r.Measurements, func(m Measurement) bool {
			return m.Lock == seen[0].Lock && m.Deployment == seen[0].Deployment && m.Workload == workload && m.Fault == "none"
		})
		if i >= 0 && class != overlapped { // the figures of a lock that does not exclude mean nothing
			f := figuresIn(r.Measurements[i])
			jain, goodput, longest = f.JainCell.Text, f.GoodputCell.Text, f.LongestCell.Text
		}
		cells = append(cells, []string{look.symbol, label(seen[0].Lock, seen[0].Deployment), look.word, crash(seen), jain, goodput, longest, asExpected(seen)})
		classes = append(classes, class)
	}
	return cells, classes, workload
}

// crash says whether another client got the lock after its holder was gone: the worst of all trials.
func crash(seen []Observation) string {
	worst := checker.NotApplicable
	for _, o := range seen {
		if o.Property == "recovery" && gravity(o.Observed) > gravity(worst) {
			worst = o.Observed
		}
	}
	return map[checker.Observed]string{checker.NotApplicable: format.None, checker.Held: "ok", checker.Undecided: "?", checker.Violated: "NO"}[worst]
}

// asExpected counts the expectations that were met, and names the worst result if not all were.
func asExpected(seen []Observation) string {
	var tally Tally
	worst := seen[0]
	for _, o := range seen {
		*tally.Of(o.Result)++
		if o.gravity() > worst.gravity() {
			worst = o
		}
	}
	switch text := fmt.Sprintf("%d of %d", tally.Pass+tally.XFail, tally.Expected()); {
	case tally.Expected() == 0:
		return "nothing expected"
	case worst.failed():
		return text + ": " + worst.Result.String()
	default:
		return text
	}
}

func (o Observation) failed() bool {
	return o.Result == checker.Fail || o.Result == checker.XPass || o.Result == checker.Inconclusive
}
