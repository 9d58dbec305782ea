package run

import (
	"slices"
	"strings"

	"lockbench/reports/format"
)

// StoreDoc describes a store that the locks of a run used, and its settings.
type StoreDoc struct {
	Name       string `json:"name"`
	Server     string `json:"server"`     // store, version and how the store was run, such as "Redis 7.4.1, a child process"
	Durability string `json:"durability"` // where a write is stored when the store acknowledges it, such as in memory or on disk
}

// Saw adds a store to the environment of the run, unless the store is already listed.
func (e *Environment) Saw(s StoreDoc) {
	if slices.ContainsFunc(e.Stores, func(o StoreDoc) bool { return o.Name == s.Name }) {
		return
	}
	e.Stores = append(e.Stores, s)
	e.Server = strings.TrimPrefix(e.Server+", "+s.Server, ", ")
}

// storeRow holds the settings of one store and the performance of its locks.
type storeRow struct {
	StoreDoc
	Locks []storeLock
}

// storeLock holds the performance of one lock: without contention, and in the workload that most locks ran.
type storeLock struct {
	Label, Standing                                                         string
	Baseline, Cycles, Goodput, Contended, HandOff, Commands, Each, Recovery cell
}

const (
	baselineWorkload = "alone"
	killed           = "holder-kill"
)

// stores returns a row for each store, in the order of the run's plan. It returns nil if the run used fewer than two stores.
func (r *Results) stores() (rows []storeRow) {
	if len(r.Run.Environment.Stores) < 2 {
		return nil
	}
	workload, label := r.commonWorkload(), r.Run.labels()
	for _, doc := range r.Run.Environment.Stores {
		row := storeRow{StoreDoc: doc}
		measured := slices.DeleteFunc(slices.Clone(r.Measurements), func(m Measurement) bool { return m.Store != doc.Name || m.Scenario != "" })
		for _, of := range grouped(measured, func(m *Measurement) [2]string { return [2]string{m.Lock, m.Deployment} }) {
			line := storeLock{Label: label(of[0].Lock, of[0].Deployment)}
			for _, m := range of {
				line.addMeasurement(m, workload)
			}
			row.Locks = append(row.Locks, line)
		}
		if len(row.Locks) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

func (r *Results) isControl(lock string) bool {
	return slices.ContainsFunc(r.Run.Locks, func(d LockDoc) bool { return d.Name == lock && d.Control })
}

// commonWorkload returns the contended workload that most locks ran without a fault.
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

func (l *storeLock) addMeasurement(m Measurement, workload string) {
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
