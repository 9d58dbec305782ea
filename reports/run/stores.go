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

// StoreDoc is a store that locks of a run used, and its settings.
type StoreDoc struct {
	Name       string `json:"name"`
	Server     string `json:"server"`     // product, version and how it was brought up
	Durability string `json:"durability"` // what an acknowledged write survives
}

// Saw records a store that a lock used.
func (e *Environment) Saw(s StoreDoc) {
	if slices.ContainsFunc(e.Stores, func(o StoreDoc) bool { return o.Name == s.Name }) {
		return
	}
	e.Stores = append(e.Stores, s)
	e.Server = strings.TrimPrefix(e.Server+", "+s.Server, ", ")
}

// storeRow is one store beside the others: its settings, and how its locks did.
type storeRow struct {
	StoreDoc
	Baseline cell         // the lowest median of an uncontended lock
	Goodput  string       // of the locks that excluded: the range, and how many there are
	Verdicts []html.Badge // how many of each kind, of all its locks
	Locks    []storeLock
}

// storeLock is one lock of a store: its figures without contention, and those in the workload that most locks ran.
type storeLock struct {
	control                                                                 bool // known-broken
	Label, Standing                                                         string
	Baseline, Cycles, Goodput, Contended, HandOff, Commands, Each, Recovery cell
}

const (
	baselineWorkload = "alone"
	killed           = "holder-kill"
)

// stores returns a row for each store, in the order of the plan, if there are several.
func (r *Results) stores() (rows []storeRow) {
	if len(r.Run.Environment.Stores) < 2 {
		return nil
	}
	workload, label := r.commonWorkload(), r.Run.labels()
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
		row.summarise()
		rows = append(rows, row)
	}
	return rows
}

// summarise sets the figures of the store from its locks that excluded and are not known to be broken.
func (row *storeRow) summarise() {
	row.Baseline, row.Goodput = cell{Text: format.None, Title: "none of its locks ran without contention"}, format.None
	var goodputs []cell
	for _, l := range row.Locks {
		if l.Standing != "" || l.control {
			continue
		}
		if v := l.Baseline.value; v > 0 && (row.Baseline.value == 0 || v < row.Baseline.value) {
			row.Baseline = cell{Text: l.Baseline.Text, Title: "of " + l.Label, value: v}
		}
		if l.Goodput.value > 0 {
			goodputs = append(goodputs, l.Goodput)
		}
	}
	if len(goodputs) == 0 {
		return
	}
	slices.SortStableFunc(goodputs, func(a, b cell) int { return cmp.Compare(a.value, b.value) })
	row.Goodput = goodputs[0].Text
	if n := len(goodputs); n > 1 {
		row.Goodput += fmt.Sprintf(" to %s (%d locks)", goodputs[n-1].Text, n)
	} else {
		row.Goodput += " (1 lock)"
	}
}

func (r *Results) isControl(lock string) bool {
	return slices.ContainsFunc(r.Run.Locks, func(d LockDoc) bool { return d.Name == lock && d.Control })
}

// commonWorkload returns the workload in which most locks contended without a fault.
func (r *Results) commonWorkload() string {
	count, most := map[string]int{}, ""
	for _, m := range r.Measurements {
		if m.Fault != "none" || m.Contended.N == 0 || m.Ceiling == 0 {
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
	case m.Workload == baselineWorkload:
		l.Baseline = rankCell(m.Uncontended, 0.5)
		l.Cycles = cell{Text: format.Significant(m.Goodput.Median)}
		l.Each = f.CommandsCell
	case m.Workload == workload:
		l.Standing = m.Standing
		l.Goodput, l.HandOff, l.Commands = f.GoodputCell, f.HandOffCell, f.CommandsCell
		l.Contended = rankCell(m.Contended, 0.5)
	}
}

// Counted returns the results of all locks of a store in words and symbols: "✓ 93 pass, ◉ 13 xfail".
func (row storeRow) Counted() string {
	var parts []string
	for _, v := range row.Verdicts {
		parts = append(parts, v.Symbol+" "+v.Word)
	}
	return strings.Join(parts, ", ")
}
