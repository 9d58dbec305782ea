package suites

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/samber/lo"

	"lockbench/internal/suggest"
	"lockbench/internal/yamlfile"
	"lockbench/reports/bench"
)

type reader struct{ *yamlfile.File }

// sense checks that the values of a suite are consistent with each other.
func (r reader) sense(s *Suite, limits []limit) {
	if s.MaxTrials < s.Trials {
		r.Wrong("max_trials", "max_trials: %d is less than trials, %d", s.MaxTrials, s.Trials)
	}
	points := lo.SumBy(s.Sections, func(c Section) int { return len(c.Clients) * len(c.Keys) * len(c.Hold) * max(1, len(c.Rate)) })
	if points > maxPoints {
		r.Wrong("sections", "sections: they make %d points (want at most %d)", points, maxPoints)
		return
	}
	r.sections(s)
	for i, l := range limits {
		r.limit(place("thresholds", i), s, l)
	}
}

func place(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

func (r reader) sections(s *Suite) {
	names, ids, setUp := map[string]bool{}, map[string]bool{}, map[string]Lock{}
	for i, c := range s.Sections {
		n := place("sections", i)
		if names[c.Name] {
			r.Wrong(n+".name", "name: another section is called %s", c.Name)
			continue
		}
		names[c.Name] = true
		r.rate(n, c)
		r.subjects(n, c, setUp)
		for _, p := range c.Points() {
			if ids[p.ID] {
				r.Wrong(n, "two points of %s are the same: %s", c.Name, p.ID)
			}
			ids[p.ID] = true
		}
	}
}

// rate checks that a section sets a rate if its arrivals are open. With closed arrivals, each client waits for its previous
// acquire, and the section must not set a rate.
func (r reader) rate(n string, c Section) {
	switch closed := c.Arrivals == bench.Closed; {
	case closed && len(c.Rate) > 0:
		r.Wrong(n+".rate", "rate: closed arrivals have none (want arrivals: constant, poisson or burst beside it)")
	case !closed && len(c.Rate) == 0:
		r.Wrong(n+".arrivals", "arrivals: %s needs a rate (want rate: so many per second, of all clients together)", c.Arrivals)
	}
}

// subjects checks the locks and baselines of a suite's section (parameter c). The section must list at least one lock or
// baseline. A name must stand for the same lock in all sections.
func (r reader) subjects(n string, c Section, setUp map[string]Lock) {
	if len(c.Locks)+len(c.Baselines) == 0 {
		r.Wrong(n, "the section %s has neither locks nor baselines: want one of them", c.Name)
	}
	here := map[string]bool{}
	for i, name := range c.Baselines {
		here[name] = true
		if _, lock := setUp[name]; lock {
			r.Wrong(place(n+".baselines", i), "baselines: %s is the name of another subject", name)
		}
	}
	for i, l := range c.Locks {
		n, name := place(n+".locks", i), l.Subject()
		if other, known := setUp[name]; known && !reflect.DeepEqual(other, l) {
			r.Wrong(n, "locks: %s has other parameters in another section (want another name, in as)", name)
		} else if here[name] {
			r.Wrong(n, "locks: %s comes twice", name)
		} else if slices.Contains(Baselines(), name) {
			r.Wrong(n, "locks: %s is the name of a baseline (want it in baselines, or another name, in as)", name)
		}
		here[name], setUp[name] = true, l
	}
}

// limit checks that a threshold applies to at least one measurement. Otherwise the threshold could never fail.
func (r reader) limit(n string, s *Suite, l limit) {
	r.bounds(n, l)
	within := lo.Filter(s.Sections, func(c Section, _ int) bool { return l.Section == "" || c.Name == l.Section })
	if len(within) == 0 {
		sections := lo.Map(s.Sections, func(c Section, _ int) string { return c.Name })
		r.Wrong(n+".section", "section: the suite has no %s%s", l.Section, suggest.Meant(l.Section, sections))
		return
	}
	where := lo.Ternary(l.Section == "", "the suite", "the section "+l.Section)
	all, _ := measured(within)
	with := lo.Filter(within, func(c Section, _ int) bool { return slices.Contains(c.names(), l.Lock) })
	if len(with) == 0 {
		r.Wrong(n+".lock", "lock: %s is not measured in %s%s", l.Lock, where, suggest.Meant(l.Lock, all))
		return
	}
	names, clients := measured(with)
	for i, to := range l.To {
		if !slices.Contains(names, to) {
			r.Wrong(place(n+".ratio_to", i), "ratio_to: %s is not measured beside %s in %s%s", to, l.Lock, where, suggest.Meant(to, names))
		}
	}
	for i, c := range l.Clients {
		if !slices.Contains(clients, c) {
			want := strings.Join(lo.Map(clients, func(n, _ int) string { return strconv.Itoa(n) }), ", ")
			r.Wrong(place(n+".clients", i), "clients: %s is not measured at %d in %s (want %s)", l.Lock, c, where, want)
		}
	}
}

func measured(in []Section) (names []string, clients []int) {
	names = lo.FlatMap(in, func(c Section, _ int) []string { return c.names() })
	clients = lo.Uniq(lo.FlatMap(in, func(c Section, _ int) []int { return c.Clients }))
	slices.Sort(clients)
	return names, clients
}

// bounds checks that a threshold sets exactly one limit.
func (r reader) bounds(n string, l limit) {
	switch {
	case l.Min == nil && l.Max == nil:
		r.Wrong(n, "the threshold of %s has neither min nor max", l.Lock)
	case l.Min != nil && l.Max != nil && *l.Min > *l.Max:
		r.Wrong(n+".min", "min: %s is more than max, %s", yamlfile.Plainly(*l.Min), yamlfile.Plainly(*l.Max))
	}
	if l.ToBaseline && len(l.To) > 0 {
		r.Wrong(n+".ratio_to_baseline", "ratio_to_baseline: ratio_to is there already (want one of them)")
	}
	if i := slices.Index(l.To, l.Lock); i >= 0 {
		r.Wrong(place(n+".ratio_to", i), "ratio_to: %s is the subject itself", l.Lock)
	}
}

func (s *Section) names() []string {
	return append(slices.Clone(s.Baselines), lo.Map(s.Locks, func(l Lock, _ int) string { return l.Subject() })...)
}
