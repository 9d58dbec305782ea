// Package scenarios is the warnings of the articles on distributed locks, each acted out: which locks, under
// which fault, show what is warned of, and which do not.
package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/workloads"
)

// Scenario acts out one warning.
type Scenario struct {
	Name    string
	Warning string // the articles', in one line
	Doc     string // what happens, in one paragraph
	Parts   []Part
}

// Part is what a scenario shows with some locks.
type Part struct {
	Locks    string // names, with spaces; lock@deployment where it is not the usual one
	Fault    string // "": none
	Workload string // "": counter
}

// Cells are the trials that a scenario takes. An unknown name is a fault of the table, and an error.
func (s Scenario) Cells() ([]trial.Cell, error) {
	var cells []trial.Cell
	for _, p := range s.Parts {
		for _, name := range strings.Fields(p.Locks) {
			c, err := p.cell(name)
			if err != nil {
				return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
			}
			c.Scenario = s.Name
			cells = append(cells, c)
		}
	}
	return cells, nil
}

func (p Part) cell(lock string) (c trial.Cell, err error) {
	lock, c.Deployment, _ = strings.Cut(lock, "@")
	fault, workload := p.Fault, p.Workload
	if fault == "" {
		fault = "none"
	}
	if workload == "" {
		workload = "counter"
	}
	if c.Lock, err = named(catalog.All(), lock, func(l impls.Impl) string { return l.Name }); err != nil {
		return c, err
	}
	if c.Fault, err = named(faults.All(), fault, func(f faults.Fault) string { return f.Name }); err != nil {
		return c, err
	}
	c.Workload, err = named(workloads.All(), workload, func(w workloads.Workload) string { return w.Name })
	return c, err
}

func named[T any](all []T, name string, nameOf func(T) string) (T, error) {
	i := slices.IndexFunc(all, func(t T) bool { return nameOf(t) == name })
	if i < 0 {
		var zero T
		return zero, fmt.Errorf("there is no %q", name)
	}
	return all[i], nil
}
