package serve

import (
	"net/http"
	"path"
	"slices"
	"strings"

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
	Cells   []cell // of a run or a bench
	Reports []string
	Others  []string // to be compared with
	s       *Server
}

// Here returns the name of a source's folder if it can be shown.
func (p folderPage) Here(dir string) string {
	if name := path.Join(p.Name, dir); p.s.kindOf(name) != "" {
		return name
	}
	return ""
}

func (s *Server) folderPage(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if s.kindOf(name) == "" {
		s.fail(w, http.StatusNotFound, "There is no such folder of a run, a bench or an advice.", "The list has all that there are.")
		return
	}
	f, rec := s.look(name)
	if f.Problem != "" {
		s.fail(w, http.StatusUnprocessableEntity, "The folder "+name+" cannot be read: "+f.Problem+".",
			"If a newer lockbench wrote it, use that one; if it was cut short, lockbench report makes what can be made of it.")
		return
	}
	p := folderPage{s: s, folder: f, Others: s.others(f)}
	for _, file := range []string{"report/index.html", "index.html", "advice.html", "report/report.md", "advice.md", run.ResultsName, selection.DataName} {
		if _, _, err := s.place(path.Join(name, file)); err == nil {
			p.Reports = append(p.Reports, file)
		}
	}
	now := f.Progress
	if now == nil {
		now = s.progress(name, rec)
	}
	if p.Cells = now.Cells; f.Running() || rec.err != nil {
		for i, c := range p.Cells { // nothing is final yet, or nothing was found
			p.Cells[i].States, p.Cells[i].Gap = []state{c.Stage}, ""
		}
	}
	s.show(w, r, "folder", page{Title: name, Refresh: f.Running(), Content: p})
}

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
