package serve

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"lockbench/reports/bench"
	"lockbench/reports/run"
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
	l.Filter = l.Filter[:min(len(l.Filter), 200)]
	p := page{Title: "Runs", Refresh: slices.ContainsFunc(all, folder.Running)}
	for _, f := range all {
		if f.passes(l.Filter) {
			l.Folders = append(l.Folders, f)
		}
	}
	p.Content = l
	s.show(w, r, "list", p)
}

// folderPage is one folder: where its report is, what its cells came to, and the way to their histories.
type folderPage struct {
	folder
	Cells   []cell     // of a run or a bench
	Newest  []newTrial // of what has not ended
	Reports []string
	Others  []string // to be compared with
	s       *Server
}

// Here returns the name of a source's folder if it can be shown.
func (p folderPage) Here(dir string) string {
	name := path.Join(p.Name, dir)
	if _, known := p.s.kindOf(name); folderName(name) && known {
		return name
	}
	return ""
}

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
	p := folderPage{s: s, folder: f, Reports: s.reportsOf(name), Others: s.others(f)}
	var err error
	switch k {
	case runKind:
		err = s.runCells(&p)
	case benchKind:
		err = s.benchCells(&p)
	}
	if err != nil {
		s.unreadable(w, "The folder "+name, err)
		return
	}
	s.show(w, r, "folder", page{Title: name, Refresh: f.Running(), Content: p})
}

// runCells fills in the cells of a run, with what was found of each unless it still goes on.
func (s *Server) runCells(p *folderPage) error {
	m, err := s.manifest(p.Name)
	if err != nil {
		return err
	}
	progress := s.runProgress(p.Name, m)
	p.Cells, p.Newest = progress.Cells, progress.Newest
	results, err := s.results(p.Name)
	if p.Running() || missing(err) {
		return nil
	}
	found, gaps := map[cellKey][]run.Observation{}, map[string]string{}
	for _, o := range results.Cells {
		found[keyOf(o)] = append(found[keyOf(o)], o)
	}
	for _, g := range results.Gaps {
		gaps[g.Dir] = g.Reason
	}
	for i, c := range m.Plan {
		p.Cells[i].States = gravest(found[cellKey{c.Lock, c.Deployment, c.Workload, c.Fault, c.Scenario}])
		p.Cells[i].Gap = gaps[c.Dir]
	}
	return err
}

type cellKey struct{ lock, deployment, workload, fault, scenario string }

func keyOf(o run.Observation) cellKey {
	return cellKey{o.Lock, o.Deployment, o.Workload, o.Fault, o.Scenario}
}

// results reads results.json of a run.
func (s *Server) results(name string) (*run.Results, error) {
	r := &run.Results{}
	return r, s.read(path.Join(name, run.ResultsName), r)
}

// benchCells fills in the cells of a bench: a lock at a point is one.
func (s *Server) benchCells(p *folderPage) error {
	plan, err := s.plan(p.Name)
	if err != nil {
		return err
	}
	progress := s.benchProgress(p.Name, plan)
	p.Cells, p.Newest = progress.Cells, progress.Newest
	var results bench.Results
	err = s.read(path.Join(p.Name, bench.ResultsName), &results)
	if p.Running() || missing(err) {
		return nil
	}
	for _, row := range results.Rows {
		i := slices.IndexFunc(p.Cells, func(c cell) bool { return c.Dir == path.Join(row.Point, row.Subject) })
		if i >= 0 {
			p.Cells[i].States, p.Cells[i].Gap = []state{rowState(row)}, row.Limited
		}
	}
	return err
}

// reportsOf returns the pages that were made of a folder, for people.
func (s *Server) reportsOf(name string) (pages []string) {
	for _, file := range []string{"report/index.html", "index.html", "advice.html", "report/report.md", "advice.md", run.ResultsName, adviceName} {
		if _, _, err := s.place(path.Join(name, file)); err == nil {
			pages = append(pages, file)
		}
	}
	return pages
}

// others returns the folders that one can be compared with.
func (s *Server) others(f folder) (names []string) {
	all, _, err := s.all()
	if err != nil || f.Kind == adviceKind {
		return nil
	}
	for _, other := range all {
		if other.Kind == f.Kind && other.Name != f.Name && other.Problem == "" && !other.Running() {
			names = append(names, other.Name)
		}
	}
	return names
}
