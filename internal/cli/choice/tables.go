// Package choice parses flag values: names of locks, workloads and faults, and addresses of servers. Its main types are Table and
// Servers.
package choice

import (
	"slices"

	"lockbench/checker/properties"
	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/scenarios"
	"lockbench/internal/drive/trial"
	"lockbench/internal/measure/suites"
	"lockbench/internal/world/stores"
	"lockbench/workloads"
)

// LocksUsage is the help text of the flag --locks.
const LocksUsage = "locks, or lock@deployment"

// Table lists the values, such as locks, that a flag can select by name.
type Table[T any] struct {
	What     string // noun for one entry, such as "lock"
	All      func() []T
	Describe func(T) (name, doc string)
}

// Tables of the names that flags accept.
var (
	Locks      = Table[impls.Impl]{"lock", catalog.Known, describeLock}
	Workloads  = Table[workloads.Workload]{"workload", workloads.All, func(w workloads.Workload) (string, string) { return w.Name, w.Doc }}
	Faults     = Table[faults.Fault]{"fault", faults.All, func(f faults.Fault) (string, string) { return f.Name, f.Doc }}
	Properties = Table[properties.Property]{"property", properties.All, func(p properties.Property) (string, string) { return p.Name, p.Doc }}
	Scenarios  = Table[scenarios.Scenario]{"scenario", scenarios.All, func(s scenarios.Scenario) (string, string) { return s.Name, s.Doc }}
	Suites     = Table[suites.Suite]{"suite", suites.Shipped, func(s suites.Suite) (string, string) { return s.Name, s.Doc }}
)

func describeLock(l impls.Impl) (name, doc string) {
	if l.ThirdParty {
		l.Doc = "third-party: " + l.Doc
	}
	return l.Name, l.Doc
}

// Names returns the names, in the table's order.
func (t Table[T]) Names() []string {
	var names []string
	t.Each(func(name, _ string) { names = append(names, name) })
	return names
}

// Each calls the function visit with the name and description of every entry, in the table's order.
func (t Table[T]) Each(visit func(name, doc string)) {
	for _, one := range t.All() {
		visit(t.Describe(one))
	}
}

// Choose returns the named entries, in the table's order. Without names it returns all entries.
func (t Table[T]) Choose(wanted ...string) ([]T, error) {
	known := t.Names()
	for _, w := range wanted {
		if err := OneOf(t.What, w, known); err != nil {
			return nil, err
		}
	}
	if len(wanted) == 0 {
		return t.All(), nil
	}
	return slices.DeleteFunc(slices.Clone(t.All()), func(one T) bool {
		name, _ := t.Describe(one)
		return !slices.Contains(wanted, name)
	}), nil
}

// One returns the entry with the given name.
func (t Table[T]) One(name string) (one T, err error) {
	chosen, err := t.Choose(name)
	if err == nil {
		one = chosen[0]
	}
	return one, err
}

// Deployed returns an error if a lock does not support a deployment.
func Deployed(lock impls.Impl, on string) error {
	if known := stores.Deployments(lock.Store); len(known) > 0 && !slices.Contains(known, on) {
		return console.Unknown("deployment", on, known)
	}
	if err := trial.Deployed(lock, on); err != nil {
		return console.Usage(err, "without @ a lock runs on its usual deployment")
	}
	return nil
}

// OneOf returns an error if a name is not in the list of known names.
func OneOf(what, name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	return console.Unknown(what, name, known)
}
