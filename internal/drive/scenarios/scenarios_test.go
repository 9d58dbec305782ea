package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
)

// cells returns the trial configurations of all scenarios.
func cells(t *testing.T) []trial.Cell {
	t.Helper()
	var all []trial.Cell
	for _, s := range All() {
		of, err := s.Cells()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, of...)
	}
	return all
}

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All() {
		if seen[s.Name] || s.Name == "" || strings.ContainsAny(s.Name, " /") {
			t.Errorf("duplicate or invalid name %q", s.Name)
		}
		seen[s.Name] = true
		if s.Warning == "" || strings.HasSuffix(s.Warning, ".") || strings.Contains(s.Warning, "\n") {
			t.Errorf("%s: want a warning in one line, without a full stop: %q", s.Name, s.Warning)
		}
		if !strings.HasSuffix(s.Doc, ".") {
			t.Errorf("%s: want a paragraph: %q", s.Name, s.Doc)
		}
		if of, err := s.Cells(); err != nil || len(of) == 0 {
			t.Errorf("%s has %d cells: %v", s.Name, len(of), err)
		}
	}
	if len(seen) < 16 {
		t.Errorf("%d scenarios, want at least 16", len(seen))
	}
}

func TestUnknownNames(t *testing.T) {
	for _, p := range []Part{{Locks: "excalibur"}, {Locks: "setnx", Fault: "flood"}, {Locks: "setnx", Workload: "sleep"}} {
		if _, err := (Scenario{Name: "test", Parts: []Part{p}}).Cells(); err == nil || !strings.HasPrefix(err.Error(), "scenario test: unknown name ") {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// TestCells checks that each trial configuration has a unique folder, a fault that applies to its lock, and an expectation.
func TestCells(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range cells(t) {
		if seen[c.Dir()] {
			t.Errorf("two cells have the folder %s", c.Dir())
		}
		seen[c.Dir()] = true
		if only := c.Fault.Only; only != nil && only(c.Lock) != "" {
			t.Errorf("%s: the fault does not apply: %s", c, only(c.Lock))
		}
		if len(c.Lock.Expected(situation(c))) == 0 {
			t.Errorf("no expectation of %s in %s", c, c.Scenario)
		}
	}
}

// situation returns the workload, fault and deployment of a trial configuration as an impls.Situation.
func situation(c trial.Cell) impls.Situation {
	return impls.Situation{Workload: c.Workload.Name, Special: c.Workload.Special, Fault: c.Fault.Name, Deployment: c.On(), Processes: 2}
}

// TestEveryFaultIsShown checks that the scenarios cover every fault of lockbench's own locks, every expected violation, and every expectation that is
// specific to a deployment.
func TestEveryFaultIsShown(t *testing.T) {
	acted, shown := map[string]bool{}, map[string]bool{}
	for _, c := range cells(t) {
		acted[c.Fault.Name] = true
		for _, e := range c.Lock.Expected(situation(c)) {
			shown[expectationText(c.Lock, e)] = true
		}
	}
	for _, f := range faults.All() {
		if !acted[f.Name] && !f.Workers {
			t.Errorf("no scenario has the fault %s", f.Name)
		}
	}
	missing := map[string]bool{}
	for _, l := range catalog.Own() {
		for _, e := range l.Expect {
			if movedAway(l, e) {
				continue
			}
			if (e.Expected == histories.ToBeViolated || e.Deployment != "") && e.Fault != "none" && !shown[expectationText(l, e)] {
				missing[expectationText(l, e)] = true
			}
		}
	}
	for _, m := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("no scenario shows that %s", m)
	}
}

// movedAway reports whether an expectation is about the usual deployment of a lock, and its fault uses another deployment in place of
// that one. No scenario can then show the expectation, but explore checks it.
func movedAway(l impls.Impl, e impls.Expectation) bool {
	i := slices.IndexFunc(faults.All(), func(f faults.Fault) bool { return f.Name == e.Fault })
	if i < 0 || e.Deployment != l.Deployment {
		return false
	}
	on := faults.All()[i].On
	return on != nil && on(l.Deployment) != l.Deployment
}

func expectationText(l impls.Impl, e impls.Expectation) string {
	return fmt.Sprintf("of %s %s %s under %s %s %s", l.Name, e.Property, e.Expected, e.Fault, e.Workload, e.Deployment)
}
