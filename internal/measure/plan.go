// Package bench measures: it brings servers up, runs trials in randomised blocks, and leaves a folder from which
// reports/benchmark makes figures. What it measures is a suite; what makes the figures worth believing (floors, and the
// controls of the bench itself) it adds to each.
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
	"lockbench/reports/bench"
	"lockbench/workloads"
)

// The controls of every bench, and the lock that they are tried on.
const (
	reference = "set-px-lua"
	delay     = 5 * time.Millisecond   // that a network is given, and that must be found
	stall     = 100 * time.Millisecond // of a generator, which must be noticed
	controls  = bench.ControlSection
	pingPoint = "round-trip"
)

// Plan is a suite made ready: what is measured, and with what.
type Plan struct {
	bench.Plan
	Narrow    float64
	MinTrials int
	MaxTrials int
	locks     map[string]impls.Impl // by subject
	stores    []store
}

// store is servers that trials share.
type store struct{ name, deployment string }

func (s store) String() string {
	if s.deployment == "" || s.deployment == servers.Single {
		return s.name
	}
	return s.name + "@" + s.deployment
}

// ping is the subject that measures the store's round trip.
func (s store) ping() string { return "ping " + s.String() }

// NewPlan makes a suite ready. What cannot be had here is left out, and why is told; absent are the stores that are missing.
func NewPlan(s suites.Suite, how string, remote servers.Remote) (p *Plan, notes []string, absent []string, err error) {
	p = &Plan{Narrow: s.Narrow, MinTrials: min(fewest, s.Trials), MaxTrials: s.MaxTrials, locks: map[string]impls.Impl{}}
	p.Version, p.Name, p.Doc, p.Trials, p.Seed, p.BudgetNS = bench.Version, s.Name, s.Doc, s.Trials, s.Seed, int64(s.Budget)
	p.Servers = stores.Resolve(how, servers.Redis)
	p.Thresholds = s.Thresholds
	for i := range s.Sections {
		if err := p.section(&s.Sections[i], how, remote, &notes, &absent); err != nil {
			return nil, nil, nil, err
		}
	}
	if len(p.Pairs) == 0 {
		return p, notes, absent, nil
	}
	p.again()
	p.controls()
	p.pings()
	return p, notes, absent, nil
}

// section adds what a section measures.
func (p *Plan) section(s *suites.Section, how string, remote servers.Remote, notes, absent *[]string) error {
	cells, reasons, err := p.cells(s, how, remote)
	if err != nil {
		return err
	}
	for _, r := range reasons {
		if !slices.Contains(*notes, r.text) {
			*notes = append(*notes, r.text)
		}
		if r.store != "" && !slices.Contains(*absent, r.store) {
			*absent = append(*absent, r.store)
		}
	}
	for _, point := range s.Points() {
		at := len(p.Points)
		p.Points = append(p.Points, point)
		for _, c := range cells {
			p.pair(p.subject(c.subject), at)
		}
		for _, floor := range s.Floors {
			p.floor(floor, point, at)
		}
	}
	return nil
}

// cell is a subject and its lock.
type cell struct {
	subject bench.Subject
	lock    impls.Impl
}

type reason struct{ text, store string }

// cells are the section's subjects that can be had.
func (p *Plan) cells(s *suites.Section, how string, remote servers.Remote) (cells []cell, left []reason, err error) {
	load, ok := find(workloads.All(), s.Workload, func(w workloads.Workload) string { return w.Name })
	if !ok {
		return nil, nil, fmt.Errorf("unknown workload %q", s.Workload)
	}
	fault, ok := find(faults.All(), s.Fault, func(f faults.Fault) string { return f.Name })
	if !ok {
		return nil, nil, fmt.Errorf("unknown fault %q", s.Fault)
	}
	for _, l := range s.Locks {
		lock, ok := find(catalog.All(), l.Name, func(i impls.Impl) string { return i.Name })
		if !ok {
			return nil, nil, fmt.Errorf("unknown lock %q", l.Name)
		}
		plan := trial.Plan([]impls.Impl{lock}, []workloads.Workload{load}, []faults.Fault{fault})
		for i := range plan {
			plan[i].Deployment = l.Deployment
		}
		fits, reasons := trial.Fitting(plan, how, remote)
		for _, text := range reasons {
			store := ""
			if err := stores.Missing(lock.Store); err != nil && strings.HasPrefix(text, lock.Store+" is left out") {
				store = lock.Store
			}
			left = append(left, reason{text, store})
		}
		if len(fits) == 0 {
			continue
		}
		c := cell{lock: lock, subject: bench.Subject{Name: l.Subject(), Lock: lock.Name, Deployment: cmp.Or(l.Deployment, lock.Deployment),
			Params: l.Params, Role: bench.Lock, Store: lock.Store, Peer: lock.Peer, Doc: lock.Doc}}
		if lock.Control {
			c.subject.Defect = lock.Doc
		}
		p.locks[c.subject.Name] = lock
		cells = append(cells, c)
	}
	return cells, left, nil
}

func find[T any](all []T, name string, of func(T) string) (T, bool) {
	i := slices.IndexFunc(all, func(t T) bool { return of(t) == name })
	if i < 0 {
		var none T
		return none, false
	}
	return all[i], true
}

// subject is the number of a subject, which is added where it is new.
func (p *Plan) subject(s bench.Subject) int {
	i := slices.IndexFunc(p.Subjects, func(o bench.Subject) bool { return o.Name == s.Name })
	if i < 0 {
		i = len(p.Subjects)
		p.Subjects = append(p.Subjects, s)
		if s.Store != "" && !slices.Contains(p.stores, store{s.Store, s.Deployment}) {
			p.stores = append(p.stores, store{s.Store, s.Deployment})
		}
	}
	return i
}

func (p *Plan) pair(subject, point int) {
	if pair := (bench.Pair{Subject: subject, Point: point}); !slices.Contains(p.Pairs, pair) {
		p.Pairs = append(p.Pairs, pair)
	}
}

// floor adds what a section asked for beside locks. A round trip is measured of every store in any case. Under faults there
// is no floor: clients live in processes of their own.
func (p *Plan) floor(name string, point bench.Point, at int) {
	if point.Fault != faults.None().Name {
		return
	}
	switch name {
	case "none", "local-mutex":
		lock, _ := find(catalog.All(), name, func(i impls.Impl) string { return i.Name })
		p.locks[name] = lock
		p.pair(p.subject(bench.Subject{Name: name, Lock: name, Role: bench.Floor, Doc: lock.Doc}), at)
	case "bare":
		if !point.Contended() {
			p.pair(p.subject(bench.Subject{Name: name, Role: bench.Floor, Store: servers.Redis, Deployment: servers.Single,
				Doc: "SET NX PX and a compare-and-delete script in a loop of the same client library: not recorded, not judged, and no lock"}), at)
		}
	}
}

// again has the reference measured twice where it is measured at all, but where clients are many, so that it takes little.
func (p *Plan) again() {
	const few = 16
	lock, ok := p.locks[reference]
	if !ok {
		return
	}
	i := slices.IndexFunc(p.Subjects, func(s bench.Subject) bool { return s.Name == reference })
	s := p.Subjects[i]
	s.Name, s.Role, s.Doc = reference+" again", bench.Again, "the same lock a second time: nothing may tell the two apart"
	for _, pair := range slices.Clone(p.Pairs) {
		if pair.Subject == i && p.Points[pair.Point].Clients <= few {
			p.locks[s.Name] = lock
			p.pair(p.subject(s), pair.Point)
		}
	}
}

// controls adds those of the bench itself.
func (p *Plan) controls() {
	ref, _ := find(catalog.All(), reference, func(i impls.Impl) string { return i.Name })
	none, _ := find(catalog.All(), "none", func(i impls.Impl) string { return i.Name })
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
			p.pair(p.subject(s), point)
		}
	}
	alone := at("alone", bench.Point{Clients: 1, Processes: 1, Keys: 1, DurationNS: int64(400 * time.Millisecond)})
	crowd := at("crowd", bench.Point{Clients: 4, Processes: 2, Keys: 1, HoldNS: int64(time.Millisecond), DurationNS: int64(200 * time.Millisecond)})
	paced := at("generator", bench.Point{Clients: 4, Processes: 2, Keys: 4, Arrivals: bench.Constant, Rate: 400, DurationNS: int64(400 * time.Millisecond)})
	add(ref, bench.Subject{Name: reference, Role: bench.Lock}, alone, crowd)
	add(ref, bench.Subject{Name: reference + " again", Role: bench.Again, Doc: "the same lock a second time: nothing may tell the two apart"}, alone)
	add(ref, bench.Subject{Name: reference + " delayed", Role: bench.Delayed, Params: map[string]string{"delay": delay.String()},
		Doc: "the same lock behind a network that holds each answer up for " + delay.String()}, alone)
	add(none, bench.Subject{Name: "none among others", Role: bench.Control, Doc: "no lock at all: everybody is let in"}, crowd)
	add(none, bench.Subject{Name: "stalled generator", Role: bench.Stalled, Params: map[string]string{"stall": stall.String()},
		Doc: "nobody begins anything for " + stall.String() + ", as if the machine stood still"}, paced)
}

// pings adds a round trip of each store.
func (p *Plan) pings() {
	at := len(p.Points)
	p.Points = append(p.Points, bench.Point{ID: pingPoint, Section: controls, Workload: "ping", Clients: 1, Processes: 1, Keys: 1,
		Arrivals: bench.Closed, Fault: faults.None().Name, DurationNS: int64(pingFor)})
	for _, s := range p.stores {
		p.pair(p.subject(bench.Subject{Name: s.ping(), Role: bench.Floor, Store: s.name, Deployment: s.deployment,
			Doc: "the simplest question that " + s.String() + " answers, one at a time"}), at)
	}
}
