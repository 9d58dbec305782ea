package run

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/reports/charts"
	"lockbench/reports/format"
	"lockbench/reports/html"
	"lockbench/reports/stats"
)

// Recovery is how long it took, over the trials of a cell, from the end of a client to the next grant of what it
// had.
type Recovery struct {
	N         int       `json:"n"`
	TTLNS     int64     `json:"ttl_ns"`    // the lease that was asked for: the unit
	BoundNS   int64     `json:"bound_ns"`  // what is longer violates recovery: the lock's own bound, its longest back-off and 500 ms
	Multiples []float64 `json:"multiples"` // of the TTL, in rising order
}

// recoveryOf gathers what the trials measured; nil where nothing was, or where there is no lease to measure by.
func recoveryOf(trials []*trialRead) *Recovery {
	r := &Recovery{TTLNS: int64(trials[0].header.TTL), BoundNS: int64(trials[0].verdict.Bound)}
	if r.TTLNS <= 0 {
		return nil
	}
	for _, t := range trials {
		for _, took := range t.verdict.Recoveries {
			r.Multiples = append(r.Multiples, math.Round(1e4*float64(took)/float64(r.TTLNS))/1e4)
		}
	}
	if r.N = len(r.Multiples); r.N == 0 {
		return nil
	}
	slices.Sort(r.Multiples)
	return r
}

func (r *Recovery) median() float64 { return stats.Median(r.Multiples) }

// bound is in multiples of the TTL.
func (r *Recovery) bound() float64 { return float64(r.BoundNS) / float64(r.TTLNS) }

// recoveryRow is a cell's recoveries as they are shown, in multiples of the TTL.
type recoveryRow struct {
	Label, Where            string
	N                       int
	Min, Median, Max, Bound string
	Drawing                 template.HTML
}

// recoveries are the rows of the cells in which something recovered.
func (r *Results) recoveries() []recoveryRow {
	label := r.Run.labels()
	var rows []recoveryRow
	for _, m := range r.Measurements {
		if m.Recovery == nil {
			continue
		}
		row := recoveryRow{Label: label(m.Lock, m.Deployment), Where: m.Where(), N: m.Recovery.N, Min: hundredths(m.Recovery.Multiples[0]),
			Median: hundredths(m.Recovery.median()), Max: hundredths(m.Recovery.Multiples[m.Recovery.N-1]), Bound: hundredths(m.Recovery.bound())}
		row.Drawing = m.Recovery.histogram().SVG(charts.Head{ID: "recovery-" + format.Count(len(rows)+1),
			Title: fmt.Sprintf("%d recoveries of %s, %s, in multiples of the TTL", row.N, row.Label, row.Where),
			Desc:  fmt.Sprintf("%s to %s, median %s; the bound is %s", row.Min, row.Max, row.Median, row.Bound)})
		rows = append(rows, row)
	}
	return rows
}

const (
	binWidth = 0.25 // of a bar, in multiples of the TTL
	mostBins = 40   // beyond them the last bar is of all that is longer
)

// histogram counts how many recoveries took how long, from nothing to the bound or to the longest.
func (r *Recovery) histogram() charts.Histogram {
	h := charts.Histogram{Width: binWidth, Bound: r.bound()}
	h.Counts = make([]int, min(mostBins, 1+int(max(r.bound(), r.Multiples[r.N-1])/binWidth)))
	for _, v := range r.Multiples {
		h.Counts[min(len(h.Counts)-1, int(v/binWidth))]++
	}
	h.Title = func(bin int) string {
		return fmt.Sprintf("%s to %s x TTL: %s", hundredths(float64(bin)*binWidth), hundredths(float64(bin+1)*binWidth), format.Count(h.Counts[bin]))
	}
	return h
}

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

// stores are the rows, in the order of the plan, where there is more than one store; and the workload that the
// figures under contention are of.
func (r *Results) stores() (rows []storeRow, workload string) {
	if len(r.Run.Environment.Stores) < 2 {
		return nil, ""
	}
	workload = r.commonWorkload()
	label := r.Run.labels()
	highest := 0.0
	for _, doc := range r.Run.Environment.Stores {
		row, scores := storeRow{StoreDoc: doc}, map[checker.Score]int{}
		measured := slices.DeleteFunc(slices.Clone(r.Measurements), func(m Measurement) bool { return m.Store != doc.Name || m.Scenario != "" })
		for _, of := range grouped(measured, func(m *Measurement) [2]string { return [2]string{m.Lock, m.Deployment} }) {
			line := storeLock{Label: label(of[0].Lock, of[0].Deployment), control: r.isControl(of[0].Lock)}
			for _, m := range of {
				line.take(m, workload)
			}
			row.Locks = append(row.Locks, line)
			for _, o := range r.Cells {
				if o.Scenario == "" && o.Lock == of[0].Lock && o.Deployment == of[0].Deployment {
					scores[o.Score]++
				}
			}
		}
		if len(row.Locks) == 0 {
			continue
		}
		for s := checker.Kept; s <= checker.LeftUndecided; s++ {
			if b := badgeOf(s); scores[s] > 0 {
				b.Word = format.Count(scores[s]) + " " + b.Word
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
	row.Floor = cell{Text: format.None, Title: "no lock of it was driven alone"}
	row.Best = slices.MaxFunc(sound, func(a, b storeLock) int { return cmp.Compare(a.Goodput.value, b.Goodput.value) })
	alone := slices.DeleteFunc(slices.Clone(sound), func(l storeLock) bool { return l.Floor.value == 0 })
	if len(alone) > 0 {
		least := slices.MinFunc(alone, func(a, b storeLock) int { return cmp.Compare(a.Floor.value, b.Floor.value) })
		row.Floor = cell{Text: least.Floor.Text, Title: "of " + least.Label}
	}
}

func (r *Results) isControl(lock string) bool {
	return slices.ContainsFunc(r.Run.Locks, func(d LockDoc) bool { return d.Name == lock && d.Control })
}

// commonWorkload is the one with which most locks contended without a fault.
func (r *Results) commonWorkload() string {
	count := map[string]int{}
	most := ""
	for _, m := range r.Measurements {
		if m.Fault == "none" && m.Contended.N > 0 && m.Ceiling > 0 {
			count[m.Workload]++
			if count[m.Workload] > count[most] {
				most = m.Workload
			}
		}
	}
	return most
}

// take takes over what one measurement has to say.
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
