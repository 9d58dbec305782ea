package run

import (
	"cmp"
	"fmt"
	"slices"

	"lockbench/checker"
	"lockbench/reports/format"
)

var overviewLegend = []string{
	"excludes: NO: two clients held at once; leased: only after a lease had ended; yes: never, in any trial",
	"crash: another client got the lock after its holder died; fair: Jain's index, 1 is equal shares",
}

// overview returns a heading and a row for each lock: what it did, and how many of its expectations were met. Fairness,
// goodput and waiting are those of one workload without a fault.
func (r *Results) overview() (cells [][]string, workload string) {
	label, workload := r.Run.labels(), r.commonWorkload()
	cells = [][]string{{"", "lock", "excludes", "crash", "fair", "goodput /s", "longest wait ms", "as expected"}}
	for _, seen := range grouped(r.Cells, func(o *Observation) [2]string { return [2]string{o.Lock, o.Deployment} }) {
		var tally Tally
		crash, worst := format.None, seen[0]
		for _, o := range seen {
			*tally.Of(o.Result)++
			if o.gravity() > worst.gravity() {
				worst = o
			}
			if o.Property == "recovery" && crash != "NO" {
				crash = cmp.Or(map[checker.Observed]string{checker.Held: "ok", checker.Violated: "NO"}[o.Observed], crash)
			}
		}
		e, met := exclusionOf(seen), fmt.Sprintf("%d of %d", tally.Pass+tally.XFail, tally.Expected())
		row := []string{[]string{"✓", "~", "✗"}[e], label(seen[0].Lock, seen[0].Deployment), []string{"yes", "leased", "NO"}[e], crash, format.None, format.None, format.None,
			met}
		if tally.Expected() == 0 {
			row[7] = "nothing expected"
		} else if worst.failed() {
			row[7] += ": " + worst.Result.String()
		}
		i := slices.IndexFunc(r.Measurements, func(m Measurement) bool {
			return m.Lock == seen[0].Lock && m.Deployment == seen[0].Deployment && m.Workload == workload && m.Fault == "none"
		})
		if i >= 0 && e != overlapped { // the figures of a lock that does not exclude mean nothing
			f := figuresIn(r.Measurements[i])
			row[4], row[5], row[6] = f.JainCell.Text, f.GoodputCell.Text, f.LongestCell.Text
		}
		cells = append(cells, row)
	}
	return cells, workload
}

func (o Observation) failed() bool {
	return o.Result == checker.Fail || o.Result == checker.XPass || o.Result == checker.Inconclusive
}
