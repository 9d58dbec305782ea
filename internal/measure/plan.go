// Package measure runs a bench. NewPlan adds self-checks and round-trip measurements to a suite and returns a Plan. Bench
// starts the servers and runs the trials of the plan in random order. It writes the folder that package reports/bench reads.
package measure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/internal/measure/suites"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/internal/yamlfile"
	"lockbench/reports/bench"
	"lockbench/reports/format"
	"lockbench/workloads"
)

// Parameters of the self-checks that every bench includes.
const (
	reference = "set-px-lua"
	delay     = 5 * time.Millisecond   // network delay that a self-check adds; the bench must measure the delay
	stall     = 100 * time.Millisecond // pause of the load generator that a self-check causes; the bench must detect the pause
	controls  = bench.ControlSection
	pingPoint = "round-trip"
)

// Plan is a suite prepared for running, with its locks and stores. The embedded bench.Plan is the part that is stored
// in the report.
type Plan struct {
	bench.Plan
	Narrow    float64
	MinTrials int
	MaxTrials int
	Absent    []string              // names of stores that are missing on this machine
	locks     map[string]impls.Impl // locks by their names in the report
	stores    []store
}

// store identifies a group of servers by the name of their store, such as redis, and by their deployment. Trials with the
// same store and deployment share these servers.
type store struct{ name, deployment string }

func (s store) String() string {
	if s.deployment == "" || s.deployment == servers.Single {
		return s.name
	}
	return s.name + "@" + s.deployment
}

// NewPlan returns the plan of a suite. It leaves out locks that cannot run here, and adds a note for each of them.
func NewPlan(s suites.Suite, how string, remote servers.Remote) (*Plan, error) {
	p := &Plan{Narrow: s.Narrow, MinTrials: min(fewest, s.Trials), MaxTrials: s.MaxTrials, locks: map[string]impls.Impl{}}
	p.Version, p.Name, p.Doc, p.Trials, p.Seed, p.BudgetNS = bench.Version, s.Name, s.Doc, s.Trials, s.Seed, int64(s.Budget)
	p.Servers = stores.Resolve(how, servers.Redis)
	p.Thresholds = s.Thresholds
	for i := range s.Sections {
		if err := p.section(&s.Sections[i], how, remote); err != nil {
			return nil, err
		}
	}
	if len(p.Pairs) > 0 {
		p.addSelfCheck()
		p.controls()
		p.pings()
	}
	return p, nil
}

// CheckSufficient returns an error if there are too few trials for the self-checks, or if the budget is too small. The
// error names sufficient values.
func (p *Plan) CheckSufficient() error {
	if p.Trials < fewest {
		return fmt.Errorf("%s cannot suffice: the controls need at least %d trials", format.Plural(p.Trials, "trial"), fewest)
	}
	var block time.Duration
	for _, pair := range p.Pairs {
		block += time.Duration(p.Points[pair.Point].DurationNS) + trialOverhead
	}
	if budget := time.Duration(p.BudgetNS); budget > 0 && budget < fewest*block {
		const step = 10 * time.Second
		enough := (fewest*block*5/4 + step - 1).Truncate(step)
		return fmt.Errorf("a budget of %s cannot suffice: %d blocks of %d trials take at least %s; want --budget %s",
			yamlfile.Spelt(budget), fewest, len(p.Pairs), yamlfile.Spelt((fewest * block).Round(time.Second)), yamlfile.Spelt(enough))
	}
	return nil
}

func (p *Plan) section(s *suites.Section, how string, remote servers.Remote) error {
	subjects, err := p.subjects(s, how, remote)
	if err != nil {
		return err
	}
	for _, point := range s.Points() {
		at := len(p.Points)
		p.Points = append(p.Points, point)
		for _, subject := range subjects {
			p.pair(subject, at)
		}
		for _, name := range s.Baselines {
			p.baseline(name, point, at)
		}
	}
	return nil
}

// subjects returns the section's locks that can run here, and adds a note for each lock that is left out.
func (p *Plan) subjects(s *suites.Section, how string, remote servers.Remote) ([]bench.Subject, error) {
	load, fault, err := workloadAndFault(s.Workload, s.Fault)
	if err != nil {
		return nil, err
	}
	var all []bench.Subject
	for _, l := range s.Locks {
		lock, ok := lockNamed(l.Name)
		if !ok {
			return nil, fmt.Errorf("unknown lock %q", l.Name)
		}
		plan := trial.Plan([]impls.Impl{lock}, []workloads.Workload{load}, []faults.Fault{fault})
		for i := range plan {
			plan[i].Deployment = l.Deployment
		}
		if why := fault.NotFor(lock); why != "" {
			p.Notes = appendUnique(p.Notes, fmt.Sprintf("%s is skipped for %s: %s", fault.Name, lock.Name, why))
		}
		fits, reasons := trial.Fitting(plan, how, remote)
		for _, text := range reasons {
			p.Notes = appendUnique(p.Notes, text)
			if stores.Missing(lock.Store) != nil && strings.HasPrefix(text, lock.Store+" is left out") {
				p.Absent = appendUnique(p.Absent, lock.Store)
			}
		}
		if len(fits) == 0 {
			continue
		}
		subject := bench.Subject{Name: l.Subject(), Lock: lock.Name, Deployment: cmp.Or(l.Deployment, lock.Deployment),
			Params: l.Params, Role: bench.Lock, Store: lock.Store, ThirdParty: lock.ThirdParty, Doc: lock.Doc}
		if lock.Control {
			subject.Defect = lock.Doc
		}
		p.locks[subject.Name] = lock
		all = append(all, subject)
	}
	return all, nil
}

func appendUnique[T comparable](all []T, v T) []T {
	if slices.Contains(all, v) {
		return all
	}
	return append(all, v)
}

func workloadAndFault(workload, fault string) (w workloads.Workload, f faults.Fault, err error) {
	w, ok := find(workloads.All(), workload, func(w workloads.Workload) string { return w.Name })
	if !ok {
		return w, f, fmt.Errorf("unknown workload %q", workload)
	}
	if f, ok = find(faults.All(), fault, func(f faults.Fault) string { return f.Name }); !ok {
		return w, f, fmt.Errorf("unknown fault %q", fault)
	}
	return w, f, nil
}

func lockNamed(name string) (impls.Impl, bool) {
	return find(catalog.All(), name, func(i impls.Impl) string { return i.Name })
}

func find[T any](all []T, name string, of func(T) string) (T, bool) {
	i := slices.IndexFunc(all, func(v T) bool { return of(v) == name })
	if i < 0 {
		return *new(T), false
	}
	return all[i], true
}

// subject returns the index of a lock or baseline in the plan, after adding it if necessary.
func (p *Plan) subject(s bench.Subject) int {
	i := slices.IndexFunc(p.Subjects, func(o bench.Subject) bool { return o.Name == s.Name })
	if i < 0 {
		i = len(p.Subjects)
		p.Subjects = append(p.Subjects, s)
		if s.Store != "" {
			p.stores = appendUnique(p.stores, store{s.Store, s.Deployment})
		}
	}
	return i
}

func (p *Plan) pair(s bench.Subject, point int) {
	p.Pairs = appendUnique(p.Pairs, bench.Pair{Subject: p.subject(s), Point: point})
}

// baseline adds a baseline to the plan under one set of conditions. It adds nothing under a fault, because clients then
// run in separate processes.
func (p *Plan) baseline(name string, point bench.Point, at int) {
	if point.Fault != faults.None().Name {
		return
	}
	switch name {
	case "none", "local-mutex":
		lock, _ := lockNamed(name)
		p.locks[name] = lock
		p.pair(bench.Subject{Name: name, Lock: name, Role: bench.Baseline, Doc: lock.Doc}, at)
	case "bare":
		if !point.Contended() {
			p.pair(bench.Subject{Name: name, Role: bench.Baseline, Store: servers.Redis, Deployment: servers.Single,
				Doc: "SET NX PX and a compare-and-delete script in a loop: not recorded, not judged, and no lock"}, at)
		}
	}
}

// addSelfCheck adds a self-check to the plan. The reference lock is measured a second time, under another name,
// with at most 16 clients. The two results must agree.
func (p *Plan) addSelfCheck() {
	const few = 16
	lock, ok := p.locks[reference]
	if !ok {
		return
	}
	i := slices.IndexFunc(p.Subjects, func(s bench.Subject) bool { return s.Name == reference })
	s := p.Subjects[i]
	s.Name, s.Role, s.Doc = reference+" again", bench.Again, "the same lock a second time: the two must not differ"
	for _, pair := range slices.Clone(p.Pairs) {
		if pair.Subject == i && p.Points[pair.Point].Clients <= few {
			p.locks[s.Name] = lock
			p.pair(s, pair.Point)
		}
	}
}

func (p *Plan) controls() {
	ref, _ := lockNamed(reference)
	none, _ := lockNamed("none")
	at := func(id string, shape bench.Point) int {
		shape.ID, shape.Section, shape.Workload, shape.Fault = controls+"-"+id, controls, "contend", faults.None().Name
		shape.TTLNS, shape.Arrivals = int64(10*time.Second), cmp.Or(shape.Arrivals, bench.Closed)
		p.Points = append(p.Points, shape)
		return len(p.Points) - 1
	}
	add := func(lock impls.Impl, s bench.Subject, points ...int) {
		s.Lock, s.Store, s.Deployment, s.Doc = lock.Name, lock.Store, lock.Deployment, cmp.Or(s.Doc, lock.Doc)
		p.locks[s.Name] = lock
		for _, point := range points {
			p.pair(s, point)
		}
	}
	alone := at("alone", bench.Point{Clients: 1, Processes: 1, Keys: 1, DurationNS: int64(400 * time.Millisecond)})
	crowd := at("crowd", bench.Point{Clients: 4, Processes: 2, Keys: 1, HoldNS: int64(time.Millisecond), DurationNS: int64(200 * time.Millisecond)})
	paced := at("generator", bench.Point{Clients: 4, Processes: 2, Keys: 4, Arrivals: bench.Constant, Rate: 400, DurationNS: int64(400 * time.Millisecond)})
	add(ref, bench.Subject{Name: reference, Role: bench.Lock}, alone, crowd)
	add(ref, bench.Subject{Name: reference + " again", Role: bench.Again, Doc: "the same lock a second time: the two must not differ"}, alone)
	add(ref, bench.Subject{Name: reference + " delayed", Role: bench.Delayed, Params: map[string]string{"delay": delay.String()},
		Doc: "the same lock behind a network that delays each answer by " + delay.String()}, alone)
	add(none, bench.Subject{Name: "none among others", Role: bench.Control, Doc: "no lock at all"}, crowd)
	add(none, bench.Subject{Name: "stalled generator", Role: bench.Stalled, Params: map[string]string{"stall": stall.String()},
		Doc: "no client begins an iteration for " + stall.String()}, paced)
}

func (p *Plan) pings() {
	at := len(p.Points)
	p.Points = append(p.Points, bench.Point{ID: pingPoint, Section: controls, Workload: "ping", Clients: 1, Processes: 1, Keys: 1,
		Arrivals: bench.Closed, Fault: faults.None().Name, DurationNS: int64(pingFor)})
	for _, s := range p.stores {
		p.pair(bench.Subject{Name: "ping " + s.String(), Role: bench.Baseline, Store: s.name, Deployment: s.deployment,
			Doc: "the simplest command of " + s.String() + ", one at a time"}, at)
	}
}
