package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/reports/format"
	"lockbench/reports/html"
)

// exclusion states whether two clients held a lock at once. The values go from best to worst.
type exclusion int

const (
	excluded    exclusion = iota // no two holds overlapped
	unsettled                    // no overlap was found, but some trials are undecided
	withinLease                  // holds overlapped, but only after a lease had expired
	overlapped                   // holds overlapped, and an expired lease does not explain this
)

// look holds the symbol, word and colour that represent a result of a lock.
type look struct {
	Symbol, Word string
	Tone         html.Tone
}

var exclusionLooks = [...]look{
	excluded: {"✓", "yes", html.Good}, unsettled: {"?", "unsettled", html.Unsure}, withinLease: {"~", "leased", html.Unsure}, overlapped: {"✗", "NO", html.Bad},
}

var toneCodes = map[html.Tone]string{html.Good: "32", html.Unsure: "33", html.Bad: "31"} // colour codes of a terminal

// exclusionOf returns the worst exclusion result of a lock over all workloads and faults. If mutual exclusion was not shown to
// hold under any of them, the result is the constant unsettled or worse.
func exclusionOf(seen []Observation) exclusion {
	worst, held := excluded, false
	for _, cell := range grouped(seen, func(o *Observation) [3]string { return [3]string{o.Scenario, o.Workload, o.Fault} }) {
		promised, lived := observedOf(cell, "lease-exclusion"), observedOf(cell, "mutual-exclusion")
		switch {
		case promised == checker.Violated || lived == checker.Violated && promised != checker.Held:
			worst = overlapped
		case lived == checker.Violated:
			worst = max(worst, withinLease)
		case lived == checker.Undecided && observedOf(cell, "recovery") != checker.Violated: // if recovery is violated, there is no second grant, and exclusion need not be decided
			worst = max(worst, unsettled)
		}
		held = held || lived == checker.Held
	}
	if !held {
		return max(worst, unsettled)
	}
	return worst
}

// observedOf returns the worst result observed for a property.
func observedOf(seen []Observation, property string) checker.Observed {
	worst := checker.NotApplicable
	for _, o := range seen {
		if o.Property == property && gravity(o.Observed) > gravity(worst) {
			worst = o.Observed
		}
	}
	return worst
}

// overview holds a table with one row per lock: exclusion, recovery, fairness and performance.
type overview struct {
	Faults   []faultColumn
	Workload string // workload in which performance was measured
	Rows     []overviewRow
}

// faultColumn is a column of the overview. It stands for one fault, or for all faults if the run has many.
type faultColumn struct {
	Title, Doc string
	faults     []string
}

// overviewRow holds the row of one lock in the overview table. Its fields Goodput and Longest are measured in one workload
// without a fault.
type overviewRow struct {
	ID, Label        string
	KnownBroken      bool
	Class            exclusion
	Excludes         look
	Faults           []look
	Fair             look
	Goodput, Longest cell
	Expected         string
	Unexpected       bool // whether at least one expectation was not met
	starves, stuck   bool
}

// Overall returns the symbol, word and colour of the whole row. The row is green only if the lock excludes, recovers from
// every fault and starves no client. A known-broken lock is never green, because its defect may need a fault that was not
// injected.
func (row overviewRow) Overall() look {
	if row.Class == excluded && (row.starves || row.stuck || row.KnownBroken) {
		return look{"~", "yes", html.Unsure}
	}
	return row.Excludes
}

const mostFaultColumns = 5

// faultColumns returns a column for each fault of the run, or one column for all faults if there are many.
func (r *Results) faultColumns() []faultColumn {
	short := map[string]string{"holder-kill": "crash", "process-pause": "pause", "holder-stall": "stall"}
	var columns []faultColumn
	var all []string
	for _, o := range r.Cells {
		if o.Fault != "none" && !slices.Contains(all, o.Fault) {
			all = append(all, o.Fault)
			columns = append(columns, faultColumn{cmp.Or(short[o.Fault], o.Fault), "under the fault " + o.Fault, []string{o.Fault}})
		}
	}
	if len(columns) > mostFaultColumns {
		return []faultColumn{{"faults", "the worst under the faults " + strings.Join(all, ", "), all}}
	}
	return columns
}

// overview returns the overview table, with the locks in the order of the run's plan.
func (r *Results) overview() overview {
	label := r.Run.labels()
	view := overview{Faults: r.faultColumns(), Workload: r.commonWorkload()}
	for i, seen := range r.byLock() {
		lock, deployment := seen[0].Lock, seen[0].Deployment
		row := overviewRow{ID: fmt.Sprintf("lock-%d", i+1), Label: label(lock, deployment), KnownBroken: r.isControl(lock), Class: exclusionOf(seen)}
		row.Excludes = exclusionLooks[row.Class]
		for _, column := range view.Faults {
			row.addFault(column, seen)
		}
		row.expect(seen)
		row.Fair, row.Goodput.Text, row.Longest.Text = look{Word: format.None}, format.None, format.None
		m := slices.IndexFunc(r.Measurements, func(m Measurement) bool {
			return m.Lock == lock && m.Deployment == deployment && m.Workload == view.Workload && m.Fault == "none"
		})
		if m >= 0 && row.Class != overlapped { // performance is not compared for a lock that does not exclude
			row.measured(r.Measurements[m])
		}
		view.Rows = append(view.Rows, row)
	}
	return view
}

// addFault adds a cell to the row: the worst result of the lock under the faults of the column.
func (row *overviewRow) addFault(column faultColumn, seen []Observation) {
	seen = slices.DeleteFunc(slices.Clone(seen), func(o Observation) bool { return !slices.Contains(column.faults, o.Fault) })
	class, recovery := exclusionOf(seen), observedOf(seen, "recovery")
	answer := exclusionLooks[class]
	switch {
	case len(seen) == 0:
		answer = look{Word: format.None}
	case class == overlapped:
	case recovery == checker.Violated:
		answer, row.stuck = look{"✗", "stuck", html.Unsure}, true
	case class == excluded && recovery == checker.Undecided:
		answer = exclusionLooks[unsettled]
	case class == excluded:
		answer.Word = "ok"
	}
	row.Faults = append(row.Faults, answer)
}

func (row *overviewRow) measured(m Measurement) {
	f := figuresIn(m)
	row.Goodput, row.Longest = f.GoodputCell, f.LongestCell
	row.Fair = look{Word: f.JainCell.Text}
	for _, t := range m.Trials {
		row.starves = row.starves || t.Sections > 0 && t.MinShare == 0
	}
	if row.starves {
		row.Fair = look{"✗", "starves", html.Unsure}
	}
}

// expect sets the field Expected to the number of met expectations, such as "5 of 6". If an expectation was not met,
// the text also contains the worst result.
func (row *overviewRow) expect(seen []Observation) {
	var tally Tally
	worst := seen[0]
	for _, o := range seen {
		*tally.Of(o.Result)++
		if o.gravity() > worst.gravity() {
			worst = o
		}
	}
	row.Expected, row.Unexpected = fmt.Sprintf("%d of %d", tally.Pass+tally.XFail, tally.Expected()), worst.failed()
	if tally.Expected() == 0 {
		row.Expected = "nothing expected"
	} else if row.Unexpected {
		row.Expected += ": " + worst.Result.String()
	}
}

func (o Observation) failed() bool {
	return o.Result == checker.Fail || o.Result == checker.XPass || o.Result == checker.Inconclusive
}

// Ranked returns the rows from best to worst. Rows of the same colour are sorted by exclusion, with known-broken locks last.
func (view overview) Ranked() []overviewRow {
	rank := func(row overviewRow) int {
		n := 8*slices.Index([]html.Tone{html.Good, html.Unsure, html.Bad}, row.Overall().Tone) + int(row.Class)
		if row.KnownBroken {
			n += 4
		}
		return n
	}
	rows := slices.Clone(view.Rows)
	slices.SortStableFunc(rows, func(a, b overviewRow) int { return rank(a) - rank(b) })
	return rows
}

// Keys returns the legend of the overview: one group of entries for each kind of column.
func (view overview) Keys() [][]html.Key {
	key := func(l look, means string) html.Key {
		return html.Key{Badge: html.Badge{Class: string(l.Tone), Symbol: l.Symbol, Word: l.Word}, Means: means}
	}
	all := [][]html.Key{{
		key(exclusionLooks[excluded], "no two clients held it at once, in any trial"), key(exclusionLooks[withinLease], "only after a lease had ended"),
		key(exclusionLooks[overlapped], "two clients held it at once"), key(exclusionLooks[unsettled], "the trials do not settle it"),
	}}
	if len(view.Faults) > 0 {
		all = append(all, []html.Key{key(look{"✓", "ok", html.Good}, "excluded under the fault"), key(look{"✗", "stuck", html.Unsure}, "no other client got it within the bound"),
			key(look{Word: format.None}, "not tried")})
	}
	if view.Workload != "" {
		all = append(all, []html.Key{key(look{Word: "fair"}, "Jain's index, 1 is equal shares"), key(look{"✗", "starves", html.Unsure}, "a client got nothing")})
	}
	return all
}

// text writes the overview and its legend for the terminal.
func (view overview) text(t *format.Lines) {
	head := []string{"", "lock", "excludes"}
	for _, f := range view.Faults {
		head = append(head, f.Title)
	}
	if view.Workload != "" {
		head = append(head, "fair", "goodput /s", "longest wait ms")
	}
	cells, rows, known := [][]string{append(head, "as expected")}, view.Ranked(), false
	for _, row := range rows {
		if row.KnownBroken {
			known, row.Label = true, row.Label+" *"
		}
		line := []string{row.Overall().Symbol, row.Label, row.Excludes.Word}
		for _, f := range row.Faults {
			line = append(line, f.Word)
		}
		if view.Workload != "" {
			line = append(line, row.Fair.Word, row.Goodput.Text, row.Longest.Text)
		}
		cells = append(cells, append(line, row.Expected))
	}
	t.PaintedColumns(cells, func(row, column int) string {
		if row == 0 || column != 0 && column != 2 {
			return ""
		}
		return toneCodes[rows[row-1].Overall().Tone]
	})
	for _, keys := range view.Keys() {
		var parts []string
		for _, k := range keys {
			parts = append(parts, k.Word+": "+k.Means)
		}
		t.Hang("  ", strings.Join(parts, "; "))
	}
	if known {
		t.Add("  *: known-broken; its defect may need a fault or a workload that was not run")
	}
	if view.Workload != "" {
		t.Add("  figures: workload " + view.Workload + ", no fault, short trials: lockbench bench measures")
	}
	t.Add("")
}
