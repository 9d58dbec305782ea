package run

import (
	"cmp"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/reports/format"
	"lockbench/reports/html"
)

// StoreDoc is a store that locks of a run talked to, and what it was set to.
type StoreDoc struct {
	Name       string `json:"name"`
	Server     string `json:"server"`     // product, version and how it was brought up
	Durability string `json:"durability"` // what has become of a write when it is acknowledged
}

// Saw takes note of a store that a lock talked to.
func (e *Environment) Saw(s StoreDoc) {
	if slices.ContainsFunc(e.Stores, func(o StoreDoc) bool { return o.Name == s.Name }) {
		return
	}
	e.Stores = append(e.Stores, s)
	e.Server = strings.TrimPrefix(e.Server+", "+s.Server, ", ")
}

// storeRow is one store beside the others: what it is set to, how its locks did, and the one that stands for it.
type storeRow struct {
	StoreDoc
	Floor    cell         // the least median of a lock that nobody contends for
	Best     storeLock    // of those that nothing speaks against and that are no controls the one with the highest goodput; of all, where it has no such
	Bar      float64      // its goodput as a part of the highest
	Verdicts []html.Badge // how many of each kind, of all its locks
	Locks    []storeLock
}

// storeLock is one lock of a store: its floor alone, and its figures in the workload that most locks were driven
// with.
type storeLock struct {
	control                                                              bool // it is here for its defect
	Label, Standing                                                      string
	Floor, Cycles, Goodput, Contended, HandOff, Commands, Each, Recovery cell
}

const (
	floorWorkload = "alone"
	killed        = "holder-kill"
)

// stores returns a row for each store, in the order of the plan, if there are several; and the workload of the figures
// under contention.
func (r *Results) stores() (rows []storeRow, workload string) {
	if len(r.Run.Environment.Stores) < 2 {
		return nil, ""
	}
	workload = r.commonWorkload()
	label := r.Run.labels()
	highest := 0.0
	for _, doc := range r.Run.Environment.Stores {
		var tally Tally
		row := storeRow{StoreDoc: doc}
		measured := slices.DeleteFunc(slices.Clone(r.Measurements), func(m Measurement) bool { return m.Store != doc.Name || m.Scenario != "" })
		for _, of := range grouped(measured, func(m *Measurement) [2]string { return [2]string{m.Lock, m.Deployment} }) {
			line := storeLock{Label: label(of[0].Lock, of[0].Deployment), control: r.isControl(of[0].Lock)}
			for _, m := range of {
				line.take(m, workload)
			}
			row.Locks = append(row.Locks, line)
			for _, o := range r.Cells {
				if o.Scenario == "" && o.Lock == of[0].Lock && o.Deployment == of[0].Deployment {
					*tally.Of(o.Result)++
				}
			}
		}
		if len(row.Locks) == 0 {
			continue
		}
		for s := checker.Pass; s <= checker.Inconclusive; s++ {
			if b, n := BadgeOf(s, checker.NotApplicable), *tally.Of(s); n > 0 {
				b.Word = format.Count(n) + " " + b.Word
				row.Verdicts = append(row.Verdicts, b)
			}
		}
		row.choose()
		highest = max(highest, row.Best.Goodput.value)
		rows = append(rows, row)
	}
	for i := range rows {
		rows[i].Bar = rows[i].Best.Goodput.value / max(highest, 1e-9)
	}
	return rows, workload
}

// choose finds the lock that stands for the store, and its floor.
func (row *storeRow) choose() {
	sound := slices.DeleteFunc(slices.Clone(row.Locks), func(l storeLock) bool { return l.Standing != "" || l.control })
	if len(sound) == 0 {
		sound = row.Locks
	}
	row.Best = slices.MaxFunc(sound, func(a, b storeLock) int { return cmp.Compare(a.Goodput.value, b.Goodput.value) })
	row.Floor = cell{Text: format.None, Title: "no lock of it was driven alone"}
	for _, l := range sound {
		if v := l.Floor.value; v > 0 && (row.Floor.value == 0 || v < row.Floor.value) {
			row.Floor = cell{Text: l.Floor.Text, Title: "of " + l.Label, value: v}
		}
	}
}

func (r *Results) isControl(lock string) bool {
	return slices.ContainsFunc(r.Run.Locks, func(d LockDoc) bool { return d.Name == lock && d.Control })
}

// commonWorkload returns the one in which most locks contended without a fault.
func (r *Results) commonWorkload() string {
	count, most := map[string]int{}, ""
	for _, m := range r.Measurements {
		if !m.compared() || m.Contended.N == 0 || m.Ceiling == 0 {
			continue
		}
		if count[m.Workload]++; count[m.Workload] > count[most] {
			most = m.Workload
		}
	}
	return most
}

func (l *storeLock) take(m Measurement, workload string) {
	f := figuresIn(m)
	switch {
	case m.Fault == killed && m.Recovery != nil:
		l.Recovery = cell{Text: hundredths(m.Recovery.median()), Title: "of " + format.Plural(m.Recovery.N, "kill") + ", the longest " + hundredths(m.Recovery.Multiples[m.Recovery.N-1])}
	case m.Fault != "none":
	case m.Workload == floorWorkload:
		l.Floor = rankCell(m.Uncontended, 0.5)
		l.Cycles = cell{Text: format.Significant(m.Goodput.Median)}
		l.Each = f.CommandsCell
	case m.Workload == workload:
		l.Standing = m.Standing
		l.Goodput, l.HandOff, l.Commands = f.GoodputCell, f.HandOffCell, f.CommandsCell
		l.Contended = rankCell(m.Contended, 0.5)
	}
}

// Counted returns the counts in words and symbols: "✓ 93 kept, ◉ 13 caught".
func (row storeRow) Counted() string {
	var parts []string
	for _, v := range row.Verdicts {
		parts = append(parts, v.Symbol+" "+v.Word)
	}
	return strings.Join(parts, ", ")
}
