package serve

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"lockbench/reports/bench"
	"lockbench/reports/format"
	"lockbench/reports/run"
	"lockbench/reports/stats"
)

// comparePage is two folders of a kind beside one another, or the choice of them.
type comparePage struct {
	A, B    string
	Of      []group // what there is to choose from
	Problem string
	Bench   bool
	// of two runs
	Rows    []comparedRow
	Differs int
	// of two benches
	Metrics  []comparedMetric
	Withheld []string
	Notes    []string
}

// choice is what there is to choose from, and what was chosen.
type choice struct {
	Of     []group
	Chosen string
}

// Choice is one of the two.
func (p comparePage) Choice(chosen string) choice { return choice{p.Of, chosen} }

// group is what can be compared with one another.
type group struct {
	Name    string
	Folders []string
}

// comparedRow is one property of one cell in two runs.
type comparedRow struct {
	Key  cellKey
	Prop string
	A, B *run.Observation
	Word string // differs, only in A, only in B, same
}

// Lock and the like are for the page.
func (r comparedRow) Lock() string     { return r.Key.lock }
func (r comparedRow) On() string       { return r.Key.deployment }
func (r comparedRow) Workload() string { return r.Key.workload }
func (r comparedRow) Fault() string    { return r.Key.fault }
func (r comparedRow) Scenario() string { return r.Key.scenario }

type comparedMetric struct {
	Title, Better string
	Rows          []comparedFigure
}

type comparedFigure struct {
	Point, Subject, Base, New, Word, Change, Weight string
	Differs                                         bool
}

func (s *Server) compare(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	p := comparePage{A: q.Get("a"), B: q.Get("b")}
	if pick := q["pick"]; len(pick) > 0 && p.A == "" && p.B == "" {
		if len(pick) == 2 { // the list has the newest first: the older one is the base
			p.A, p.B = pick[1], pick[0]
		} else {
			p.Problem = fmt.Sprintf("Two folders are compared, and %s chosen.", map[bool]string{true: "one was", false: fmt.Sprint(len(pick), " were")}[len(pick) == 1])
		}
	}
	all, _, err := s.all()
	if err != nil {
		s.unreadable(w, "The folder", err)
		return
	}
	p.Of = groups(all)
	if p.A != "" || p.B != "" {
		if err := s.fillCompared(&p, all); err != nil {
			p.Problem = reason(err, s.dir)
		}
	}
	s.show(w, r, "compare", page{Title: "Side by side", Crumbs: []crumb{}, Content: p})
}

func groups(all []folder) []group {
	of := []group{{Name: "runs"}, {Name: "benches"}}
	for _, f := range all {
		switch {
		case f.Problem != "":
		case f.Kind == runKind:
			of[0].Folders = append(of[0].Folders, f.Name)
		case f.Kind == benchKind:
			of[1].Folders = append(of[1].Folders, f.Name)
		}
	}
	return slices.DeleteFunc(of, func(g group) bool { return len(g.Folders) == 0 })
}

// fillCompared compares what was chosen, if it can be.
func (s *Server) fillCompared(p *comparePage, all []folder) error {
	kinds := []kind{}
	for _, name := range []string{p.A, p.B} {
		i := slices.IndexFunc(all, func(f folder) bool { return f.Name == name && f.Problem == "" })
		if i < 0 {
			return fmt.Errorf("%q is no folder that can be compared: choose two of the list", clip(name))
		}
		kinds = append(kinds, all[i].Kind)
	}
	switch {
	case p.A == p.B:
		return fmt.Errorf("%s would be compared with itself: choose two", p.A)
	case kinds[0] != kinds[1]:
		return fmt.Errorf("%s is of a %s and %s of a %s: two of a kind can be compared", p.A, kinds[0], p.B, kinds[1])
	case kinds[0] == runKind:
		return s.compareRuns(p)
	case kinds[0] == benchKind:
		return s.compareBenches(p)
	}
	return fmt.Errorf("two pieces of advice have nothing in common that could be set side by side: open both")
}

func (s *Server) compareRuns(p *comparePage) error {
	type full struct {
		cellKey
		property string
	}
	rows, order := map[full]*comparedRow{}, []full{}
	for i, name := range []string{p.A, p.B} {
		results, err := s.results(name)
		if missing(err) {
			return fmt.Errorf("%s has no results yet: lockbench report makes them", name)
		}
		if err != nil {
			return err
		}
		for _, o := range results.Cells {
			k := full{keyOf(o), o.Property}
			if rows[k] == nil {
				rows[k] = &comparedRow{Key: k.cellKey, Prop: k.property}
				order = append(order, k)
			}
			if i == 0 {
				rows[k].A = &o
			} else {
				rows[k].B = &o
			}
		}
	}
	for _, k := range order {
		row := rows[k]
		row.Word = wordOf(row.A, row.B)
		if silent(row.A) && silent(row.B) {
			continue
		}
		if row.Word != "same" {
			p.Differs++
		}
		p.Rows = append(p.Rows, *row)
	}
	rank := map[string]int{"differs": 0, "only in A": 1, "only in B": 1, "same": 2}
	slices.SortStableFunc(p.Rows, func(a, b comparedRow) int { return cmp.Compare(rank[a.Word], rank[b.Word]) })
	return nil
}

func wordOf(a, b *run.Observation) string {
	switch {
	case b == nil:
		return "only in A"
	case a == nil:
		return "only in B"
	case a.Score != b.Score || a.Observed != b.Observed || a.Expected != b.Expected:
		return "differs"
	}
	return "same"
}

// silent tells whether a finding says nothing: nobody claimed it, and nothing was violated.
func silent(o *run.Observation) bool {
	return o == nil || scored(o.Score) == measured() && o.Violations == 0
}

// compareBenches is what lockbench compare does, with the metrics that it shows without being asked.
func (s *Server) compareBenches(p *comparePage) error {
	p.Bench = true
	var both []*bench.Results
	for _, name := range []string{p.A, p.B} {
		if err := s.contained(name); err != nil {
			return err
		}
		r, err := bench.Read(s.folderPath(name))
		if err != nil {
			return err
		}
		both = append(both, r)
	}
	metrics := bench.DefaultMetrics()
	c := bench.CompareRuns(both[0], both[1], metrics, false)
	p.Notes = c.Notes
	for _, why := range c.Withheld {
		p.Withheld = append(p.Withheld, reason(errors.New(why), s.dir))
	}
	for _, m := range metrics {
		one := comparedMetric{Title: m.Title, Better: map[int]string{+1: "more is better", -1: "less is better"}[m.Better]}
		if m.Unit != "" {
			one.Title += ", " + m.Unit
		}
		for _, row := range c.Rows {
			if row.Metric == m.Name {
				one.Rows = append(one.Rows, figureOf(row))
				if one.Rows[len(one.Rows)-1].Differs {
					p.Differs++
				}
			}
		}
		slices.SortStableFunc(one.Rows, func(a, b comparedFigure) int { // differing ones first
			return map[bool]int{true: 0, false: 1}[a.Differs] - map[bool]int{true: 0, false: 1}[b.Differs]
		})
		if len(one.Rows) > 0 {
			p.Metrics = append(p.Metrics, one)
		}
	}
	if len(c.Rows) == 0 && len(c.Withheld) == 0 {
		return fmt.Errorf("the two benches measured no lock under the same conditions: compare two of one suite")
	}
	return nil
}

func figureOf(row bench.Compared) comparedFigure {
	base, new := row.Estimates()
	f := comparedFigure{Point: row.Point, Subject: row.A, Base: estimate(base), New: estimate(new), Differs: row.Differs, Word: row.Verdict(),
		Weight: fmt.Sprintf("p %.3f, %s", row.Holm, plural(row.Pairs, "pair"))}
	if row.BaseUnsafe != nil {
		f.Base = "violated: " + row.BaseUnsafe.Property
	}
	if row.NewUnsafe != nil {
		f.New = "violated: " + row.NewUnsafe.Property
	}
	switch {
	case row.Unsafe():
		f.Differs, f.Word, f.Weight = true, "no comparison", "an unsafe lock's figures mean nothing"
	case !row.Differs:
		f.Word = "~ may be noise"
	}
	if row.Ratio > 0 && !row.Unsafe() {
		f.Change = fmt.Sprintf("× %s", short(row.Ratio))
		if row.Low != nil && row.High != nil {
			f.Change += fmt.Sprintf(" [%s, %s]", short(*row.Low), short(*row.High))
		}
	}
	return f
}

// estimate is a median with its interval, where there are trials enough.
func estimate(e stats.Estimate) string {
	if e.N == 0 {
		return "–"
	}
	if e.Low == nil || e.High == nil {
		return short(e.Median)
	}
	return fmt.Sprintf("%s [%s, %s]", short(e.Median), short(*e.Low), short(*e.High))
}

// short writes three digits, and whole numbers from a thousand on.
func short(v float64) string {
	if v >= 1000 || v <= -1000 {
		return format.Count(int(v))
	}
	return three(v)
}
