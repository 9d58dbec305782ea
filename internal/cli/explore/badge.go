package explore

import (
	"path/filepath"

	"lockbench/internal/simulate/explore"
	"lockbench/reports/matrix"
	"lockbench/reports/run"
)

// Searched returns how often a search checked each property of a lock that was expected to hold.
func Searched(l *explore.LockResult) []matrix.Searched {
	var all []matrix.Searched
	for _, p := range l.Properties {
		all = append(all, matrix.Searched{Property: p.Property, Checked: p.Expected, Violated: p.Fails, Shown: l.Shown(p.Property)})
	}
	return all
}

// badge writes the badge of a user's lock to the result folder. Built-in locks have no badge.
func (x *exploration) badge(result *explore.Result, interrupted bool) error {
	if !x.worker.Given() || len(result.Locks) != 1 {
		return nil
	}
	var own matrix.Result
	for _, s := range Searched(result.Locks[0]) {
		own.AddSearched(s)
	}
	text, err := own.Badge(!interrupted && !result.Locks[0].Inconclusive())
	if err != nil {
		return err
	}
	return run.WriteFile(filepath.Join(x.dir, matrix.BadgeName), text)
}
