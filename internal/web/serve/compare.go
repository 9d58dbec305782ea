package serve

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"lockbench/checker"
	"lockbench/reports/bench"
	"lockbench/reports/format"
	"lockbench/reports/run"
)

// comparePage holds the comparison of two folders. If fewer than two folders are chosen, it only holds the form to
// choose them.
type comparePage struct {
	A, B     string
	Of       []group // folders that the user can choose from: a group of runs and a group of benchmarks
	Problem  string
	Tables   []comparedTable
	Withheld []string
	Notes    []string
}

type group struct {
	Name    string
	Folders []string
}

// comparedTable holds the rows of a table that differ between the two folders. Folded holds the other rows: equal
// rows, and rows that only one folder has.
type comparedTable struct {
	Title, Status string
	Head          []string
	Rows          []comparedRow
	Folded        []comparedTable
}

type comparedRow struct {
	Differs bool
	Cells   []comparedCell
}

type comparedCell struct {
	State state
	Text  string
	Small string
}

// settle moves the rows without a difference to Folded, and sets the status text.
func (t *comparedTable) settle(noun string) {
	all := t.Rows
	t.Rows = slices.DeleteFunc(slices.Clone(all), func(r comparedRow) bool { return !r.Differs })
	same := slices.DeleteFunc(slices.Clone(all), func(r comparedRow) bool { return r.Differs })
	switch {
	case len(all) == 0:
		t.Status = "A and B share no " + noun + "."
	case len(t.Rows) == 0:
		t.Status = "Nothing differs in " + format.Plural(len(all), "shared "+noun) + "."
	default:
		t.Status = fmt.Sprintf("%d of %s differ.", len(t.Rows), format.Plural(len(all), "shared "+noun))
	}
	if len(same) > 0 {
		t.Folded = append(t.Folded, comparedTable{Title: format.Plural(len(same), noun) + " the same in both", Head: t.Head, Rows: same})
	}
}

func (s *Server) compare(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	p := comparePage{A: q.Get("a"), B: q.Get("b")}
	if pick := q["pick"]; len(pick) > 0 && p.A == "" && p.B == "" {
		switch len(pick) {
		case 2: // the list is sorted from newest to oldest, and the older folder is the base of the comparison
			p.A, p.B = pick[1], pick[0]
		case 1:
			p.Problem = "Choose two folders to compare: one was chosen."
		default:
			p.Problem = fmt.Sprintf("Choose two folders to compare: %d were chosen.", len(pick))
		}
	}
	all, _, err := s.newestFolders()
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
	s.show(w, r, "compare", page{Title: "Compare", Content: p})
}

func groups(all []folder) (of []group) {
	for i, k := range []kind{runKind, benchKind} {
		g := group{Name: []string{"runs", "benches"}[i]}
		for _, f := range all {
			if f.Kind == k && f.Problem == "" {
				g.Folders = append(g.Folders, f.Name)
			}
		}
		of = append(of, g)
	}
	return slices.DeleteFunc(of, func(g group) bool { return len(g.Folders) == 0 })
}

func (s *Server) fillCompared(p *comparePage, all []folder) error {
	kinds := []kind{}
	for _, name := range []string{p.A, p.B} {
		i := slices.IndexFunc(all, func(f folder) bool { return f.Name == name && f.Problem == "" })
		if i < 0 {
			return fmt.Errorf("%q is not a readable folder: choose two from the list", clip(name))
		}
		kinds = append(kinds, all[i].Kind)
	}
	switch {
	case p.A == p.B:
		return fmt.Errorf("%s is both A and B: choose two different folders", p.A)
	case kinds[0] != kinds[1]:
		return fmt.Errorf("%s is of a %s and %s of a %s: choose two of the same kind", p.A, kinds[0], p.B, kinds[1])
	case kinds[0] == runKind:
		return s.compareRuns(p)
	case kinds[0] == benchKind:
		return s.compareBenches(p)
	}
	return errors.New("advice cannot be compared: open both")
}

func (s *Server) compareRuns(p *comparePage) error {
	type full struct {
		cellKey
		property string
	}
	found, keys := [2]map[full]*run.Observation{{}, {}}, []full{}
	for i, name := range []string{p.A, p.B} {
		results, err := s.results(name)
		switch {
		case missing(err):
			return fmt.Errorf("%s has no results yet: lockbench report writes them", name)
		case err != nil:
			return err
		}
		for _, o := range results.Cells {
			k := full{keyOf(o), o.Property}
			if found[0][k] == nil {
				keys = append(keys, k)
			}
			found[i][k] = &o
		}
	}
	head := []string{"lock", "workload", "fault", "property", "in A", "in B"}
	t := comparedTable{Title: "Checks of cells in both", Head: head}
	only := [2]comparedTable{{Head: head}, {Head: head}}
	for _, k := range keys {
		a, b := found[0][k], found[1][k]
		row := comparedRow{Cells: []comparedCell{{Text: k.lock, Small: k.deployment}, {Text: k.workload, Small: k.scenario},
			{Text: k.fault}, {Text: k.property}, observationCell(a), observationCell(b)}}
		switch {
		case silent(a) && silent(b):
		case b == nil:
			only[0].Rows = append(only[0].Rows, row)
		case a == nil:
			only[1].Rows = append(only[1].Rows, row)
		default:
			row.Differs = a.Result != b.Result || a.Observed != b.Observed || a.Expected != b.Expected
			t.Rows = append(t.Rows, row)
		}
	}
	t.settle("check")
	for i, o := range only {
		if o.Title = format.Plural(len(o.Rows), "check") + " only in " + "AB"[i:i+1]; len(o.Rows) > 0 {
			t.Folded = append(t.Folded, o)
		}
	}
	p.Tables = []comparedTable{t}
	return nil
}

func observationCell(o *run.Observation) comparedCell {
	if o == nil {
		return comparedCell{Small: "none"}
	}
	c := comparedCell{State: stateOf(o.Result, o.Observed), Text: o.Observed.String(), Small: o.Weight}
	if o.Violations > 0 {
		c.Text += ", " + format.Plural(o.Violations, "violation")
	}
	return c
}

// silent reports whether o needs no attention: o is nil, or the check has no expectation and found no violation.
func silent(o *run.Observation) bool {
	return o == nil || o.Result == checker.NoExpectation && o.Violations == 0
}

// compareBenches compares two benchmarks by the default metrics, like the command lockbench compare.
func (s *Server) compareBenches(p *comparePage) error {
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
	c := bench.CompareRuns(both[0], both[1], bench.DefaultMetrics(), false)
	if len(c.Rows) == 0 && len(c.Withheld) == 0 {
		return errors.New("the two benches measured no lock under the same conditions: compare two of one suite")
	}
	p.Notes = c.Notes
	for _, why := range c.Withheld {
		p.Withheld = append(p.Withheld, reason(errors.New(why), s.dir))
	}
	for _, of := range c.Tables(bench.DefaultMetrics()) {
		t := comparedTable{Title: of.Title, Head: of.Head}
		for _, from := range of.Rows {
			row := comparedRow{Differs: from.Differs}
			for _, text := range from.Cells {
				row.Cells = append(row.Cells, comparedCell{Text: text})
			}
			t.Rows = append(t.Rows, row)
		}
		t.settle("row")
		p.Tables = append(p.Tables, t)
	}
	return nil
}
