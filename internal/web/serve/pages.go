package serve

import (
	"net/http"
	"path"
	"strings"

	"lockbench/checker"
	"lockbench/reports/bench"
	"lockbench/reports/run"
	"lockbench/reports/selection"
)

// listPage is all folders, or those that a filter lets through.
type listPage struct {
	Dir     string
	Filter  string
	Folders []folder
	Of      int // how many there are
	More    int // how many were left out
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	all, more, err := s.all()
	if err != nil {
		s.unreadable(w, "The folder", err)
		return
	}
	l := listPage{Dir: path.Base(strings.ReplaceAll(s.dir, `\`, "/")), Filter: strings.TrimSpace(r.URL.Query().Get("q")), Of: len(all), More: more}
	if len(l.Filter) > 200 {
		l.Filter = l.Filter[:200]
	}
	p := page{Title: "Runs"}
	for _, f := range all {
		p.Refresh = p.Refresh || f.Running()
		if passes(f, l.Filter) {
			l.Folders = append(l.Folders, f)
		}
	}
	p.Content = l
	s.show(w, r, "list", p)
}

// passes tells whether all words of a filter are in what is said of a folder.
func passes(f folder, filter string) bool {
	words := f.words()
	for _, word := range strings.Fields(strings.ToLower(filter)) {
		if !strings.Contains(words, word) {
			return false
		}
	}
	return true
}

// folderPage shows one folder, as what it is.
func (s *Server) folderPage(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	k, known := kind(""), false
	if folderName(name) {
		k, known = s.kindOf(name)
	}
	if !known {
		s.fail(w, http.StatusNotFound, "There is no such folder of a run, a bench or an advice.", "The list has all that there are.")
		return
	}
	f := s.folder(name, k)
	if f.Problem != "" {
		s.fail(w, http.StatusUnprocessableEntity, "The folder "+name+" cannot be read: "+f.Problem+".",
			"If a newer lockbench wrote it, use that one; if it was cut short, lockbench report makes what can be made of it.")
		return
	}
	p := page{Title: name, Refresh: f.Running(), Crumbs: []crumb{}}
	var err error
	switch k {
	case runKind:
		p.Content, err = s.runPage(f)
	case benchKind:
		p.Content, err = s.benchPage(f)
	case adviceKind:
		p.Content, err = s.advicePage(f)
	}
	if err != nil {
		s.unreadable(w, "The folder "+name, err)
		return
	}
	s.show(w, r, string(k), p)
}

// cell is one cell of a run with what was found of it.
type cell struct {
	run.Cell
	States []state
	Rows   []run.Observation
	Trials []trialLink
	Gap    string
}

type runPage struct {
	folder
	Manifest run.Manifest
	Cells    []cell
	Reports  []string
	Others   []string // to be compared with
	Results  bool
}

// runPage is a run: its cells with their verdicts, as the plan has them, and what there is of each.
func (s *Server) runPage(f folder) (runPage, error) {
	m, err := s.manifest(f.Name)
	if err != nil {
		return runPage{}, err
	}
	p := runPage{folder: f, Manifest: m, Reports: s.reportsOf(f.Name), Others: s.others(f)}
	results, err := s.results(f.Name)
	if err != nil && !missing(err) {
		return p, err
	}
	p.Results = err == nil
	if f.Progress != nil && (f.Progress.Alive || !p.Results) {
		return p, nil // its cells stand in Progress
	}
	found, gaps := map[cellKey][]run.Observation{}, map[string]string{}
	for _, o := range results.Cells {
		k := keyOf(o)
		found[k] = append(found[k], o)
	}
	for _, g := range results.Gaps {
		gaps[g.Dir] = g.Reason
	}
	states := map[string]run.Trial{}
	for _, t := range results.Trials {
		states[t.Dir] = t
	}
	for _, c := range m.Plan {
		one := cell{Cell: c, Rows: found[cellKey{c.Lock, c.Deployment, c.Workload, c.Fault, c.Scenario}], Trials: s.trialsOf(f.Name, c.Dir), Gap: gaps[c.Dir]}
		for i, t := range one.Trials {
			if one.Trials[i].State == running() || states[t.Dir].State == run.NotJudged {
				one.Trials[i].State = state{"score-undecided", "?", "not judged"}
			}
		}
		one.States = gravest(one.Rows)
		p.Cells = append(p.Cells, one)
	}
	return p, nil
}

type cellKey struct{ lock, deployment, workload, fault, scenario string }

func keyOf(o run.Observation) cellKey {
	return cellKey{o.Lock, o.Deployment, o.Workload, o.Fault, o.Scenario}
}

// results is results.json of a run.
func (s *Server) results(name string) (*run.Results, error) {
	r := &run.Results{}
	return r, s.read(path.Join(name, run.ResultsName), r)
}

// reportsOf are the pages that were made of a folder, for people.
func (s *Server) reportsOf(name string) (pages []string) {
	for _, file := range []string{"report/index.html", "index.html", "advice.html", "report/report.md", "advice.md", run.ResultsName, adviceName} {
		if _, _, err := s.place(path.Join(name, file)); err == nil {
			pages = append(pages, file)
		}
	}
	return pages
}

// others are the folders of the same kind.
func (s *Server) others(f folder) (names []string) {
	all, _, err := s.all()
	if err != nil {
		return nil
	}
	for _, other := range all {
		if other.Kind == f.Kind && other.Name != f.Name && other.Problem == "" && !other.Running() {
			names = append(names, other.Name)
		}
	}
	return names
}

type benchRow struct {
	bench.Row
	Role   bench.Role
	State  state
	Dir    string
	Trials []trialLink
}

type benchPage struct {
	folder
	Plan     *bench.Plan
	Withheld []string
	Checks   []bench.Check
	Rows     []benchRow
	Reports  []string
	Others   []string
}

// benchPage is a bench: its rows, without figures where one of its controls failed.
func (s *Server) benchPage(f folder) (benchPage, error) {
	plan, err := s.plan(f.Name)
	if err != nil {
		return benchPage{}, err
	}
	p := benchPage{folder: f, Plan: plan, Reports: s.reportsOf(f.Name), Others: s.others(f)}
	if f.Running() {
		return p, nil // its rows stand in Progress
	}
	var results bench.Results
	if err := s.read(path.Join(f.Name, bench.ResultsName), &results); err != nil && !missing(err) {
		return p, err
	}
	p.Withheld, p.Checks = results.Withheld, results.Checks
	for _, row := range results.Rows {
		subject, _ := plan.Subject(row.Subject)
		dir := path.Join(row.Point, row.Subject)
		one := benchRow{Row: row, Role: subject.Role, Dir: dir, Trials: s.trialsOf(f.Name, dir), State: measured()}
		if u := row.Unsafe; u != nil {
			one.State = broken()
			if u.Expected {
				one.State = state{"score-caught", "◉", "caught"}
			}
		}
		p.Rows = append(p.Rows, one)
	}
	return p, nil
}

type advicePage struct {
	folder
	Advice  *selection.Report
	Reports []string
	s       *Server
}

func (s *Server) advicePage(f folder) (advicePage, error) {
	r, err := s.advice(f.Name)
	return advicePage{folder: f, Advice: r, Reports: s.reportsOf(f.Name), s: s}, err
}

// Link is a source's folder as it can be shown here; empty where it lies elsewhere.
func (p advicePage) Link(source string) string {
	name := path.Join(p.Name, source)
	if _, known := p.s.kindOf(name); folderName(name) && known {
		return name
	}
	return ""
}

// gravest are the states of a cell's verdicts, each once, the gravest first.
func gravest(rows []run.Observation) (states []state) {
	var seen [6]bool
	for _, o := range rows {
		if int(o.Score) < len(seen) {
			seen[o.Score] = true
		}
	}
	for _, score := range scoresByGravity() {
		if seen[score] && (score != checker.Measured || len(states) == 0) {
			states = append(states, scored(score))
		}
	}
	return states
}
