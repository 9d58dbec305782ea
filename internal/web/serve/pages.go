package serve

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/run"
	"lockbench/reports/selection"
)

// listPage holds the folders that match a text filter. An empty filter matches all folders.
type listPage struct {
	Dir        string
	Filter     string
	Newest     *folder // the newest run, even if it does not match the filter
	Folders    []folder
	Unreadable []folder
	Of         int // number of folders before the filter is applied
	More       int // number of older folders that the page omits
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	all, more, err := s.newestFolders()
	if err != nil {
		s.unreadable(w, "The folder", err)
		return
	}
	l := listPage{Dir: path.Base(strings.ReplaceAll(s.dir, `\`, "/")), Filter: strings.TrimSpace(r.URL.Query().Get("q")), Of: len(all), More: more}
	l.Filter = l.Filter[:min(len(l.Filter), 200)]
	refresh := slices.ContainsFunc(all, folder.Running)
	for _, f := range all {
		if l.Newest == nil && f.Kind == runKind && f.Problem == "" {
			l.Newest = &f
		}
		switch {
		case !f.passes(l.Filter):
		case f.Problem != "":
			l.Unreadable = append(l.Unreadable, f)
		default:
			l.Folders = append(l.Folders, f)
		}
	}
	s.show(w, r, "list", page{Title: "Runs", Refresh: refresh, Content: l})
}

// folderPage holds one folder, with its cells and links to reports and histories.
type folderPage struct {
	folder
	Cells   []cell // planned combinations of a run or a benchmark, for example of lock, workload and fault
	Reports []string
	Others  []string // names of folders with which this folder can be compared
	s       *Server

	Pictures []string // file names of the counterexamples' pictures
}

// Here returns the path of a result folder within the served folder, for a link. The parameter dir is relative to the
// folder of this page. If dir is not a result folder, Here returns "".
func (p folderPage) Here(dir string) string {
	if name := path.Join(p.Name, dir); p.s.isFolder(name) {
		return name
	}
	return ""
}

func (s *Server) folderPage(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if !s.isFolder(name) {
		s.fail(w, http.StatusNotFound, "There is no such folder of a run, a bench, an advice or a campaign.", "The list has all that there are.")
		return
	}
	f := s.look(name)
	if f.Problem != "" {
		s.fail(w, http.StatusUnprocessableEntity, "The folder "+name+" cannot be read: "+f.Problem+".",
			"If a newer lockbench wrote it, use that one; if it was cut short, lockbench report makes what can be made of it.")
		return
	}
	p := folderPage{s: s, folder: f}
	all, _, _ := s.newestFolders() // after an error, the page offers no folders for comparison
	for _, other := range all {
		if f.Comparable() && other.Kind == f.Kind && other.Name != f.Name && other.Problem == "" && !other.Running() {
			p.Others = append(p.Others, other.Name)
		}
	}
	for _, file := range []string{"report/index.html", "index.html", "advice.html", "report/report.md", "advice.md", run.ResultsName, selection.DataName, "explored.txt", "explored.json"} {
		if _, err := s.stat(path.Join(name, file)); err == nil {
			p.Reports = append(p.Reports, file)
		}
	}
	if f.Kind == campaignKind {
		p.Pictures = s.pictures(name)
	}
	now := f.Progress
	if now == nil {
		now = s.progress(&f)
	}
	if p.Cells = now.Cells; f.Running() || f.unreported != nil {
		for i, c := range p.Cells { // the run has no results yet, so show only the stage of each cell
			p.Cells[i].States, p.Cells[i].Expected, p.Cells[i].Gap = []state{c.Stage}, expectations{}, ""
		}
	}
	s.show(w, r, "folder", page{Title: name, Refresh: f.Running(), Content: p})
}

// overview summarises a whole history: clients, keys, activity over time, overlaps and faults.
type overview struct {
	Header   histories.Header
	Until    time.Duration
	Ops      int
	Clients  []int32
	Keys     []string
	MoreKeys bool
	Width    time.Duration // duration of a bucket in the overview chart
	Buckets  [buckets]bucket
	Overlaps []*overlap // the first overlaps of holds; OverlapCount is the number of all overlaps
	Faults   []checker.Band
	Warnings []string

	OverlapCount int

	clients map[int32]bool
	keys    map[string]bool
}

type bucket struct {
	Ops, Overlaps int
}

// overviewOf returns the overview of a history. The overview is cached until the file changes.
func (s *Server) overviewOf(ctx context.Context, file string) (*overview, error) {
	info, err := s.stat(file)
	if err != nil {
		return nil, err
	}
	now := stamp(file, info)
	if o, ok := s.overviews.Get(now); ok {
		return o, nil
	}
	o := &overview{Width: time.Millisecond, clients: map[int32]bool{}, keys: map[string]bool{}}
	if o.Header, o.Warnings, err = s.follow(ctx, file, o); err != nil {
		return nil, err
	}
	o.Clients = slices.Sorted(maps.Keys(o.clients))
	o.Keys = slices.SortedFunc(maps.Keys(o.keys), func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }) // shorter keys first, so that k2 precedes k10
	slices.SortFunc(o.Overlaps, func(a, b *overlap) int { return cmp.Compare(a.From, b.From) })
	s.overviews.Add(now, o)
	return o, nil
}

func (o *overview) addHold(run.Hold) {}

func (o *overview) event(e histories.Event, _ *tracker) error {
	op := e.Op
	o.Until = max(o.Until, e.Time())
	if len(o.clients) < mostClients {
		o.clients[op.Client] = true
	}
	if op.Key != "" && !o.keys[op.Key] {
		if o.MoreKeys = len(o.keys) == mostKeys; !o.MoreKeys {
			o.keys[op.Key] = true
		}
	}
	o.fault(e)
	if e.Return {
		o.Ops++
		o.bucket(e.Time()).Ops++
	}
	return nil
}

func (o *overview) fault(e histories.Event) {
	switch op := e.Op; {
	case op.Kind == histories.Inject && e.Return && len(o.Faults) < mostFaults:
		o.Faults = append(o.Faults, checker.Band{Name: op.Fault, Client: op.Client, From: op.Call, To: histories.StillOpen,
			Effective: op.Outcome == histories.OK})
	case op.Kind == histories.Heal && e.Return:
		for i := range o.Faults {
			f := &o.Faults[i]
			if f.To == histories.StillOpen && f.Name == op.Fault && f.Client == op.Client {
				f.To = op.Return
				break
			}
		}
	}
}

// bucket returns the bucket of the overview chart for a time (parameter at). If necessary, it first doubles the
// duration of all buckets.
func (o *overview) bucket(at time.Duration) *bucket {
	for at/o.Width >= buckets {
		for i := range buckets / 2 {
			o.Buckets[i] = bucket{o.Buckets[2*i].Ops + o.Buckets[2*i+1].Ops, o.Buckets[2*i].Overlaps + o.Buckets[2*i+1].Overlaps}
		}
		clear(o.Buckets[buckets/2:])
		o.Width *= 2
	}
	return &o.Buckets[max(0, at/o.Width)]
}

func (o *overview) addOverlap(v *overlap) {
	o.OverlapCount++
	for at := v.From; at < v.To; at += o.Width {
		o.bucket(at).Overlaps++
	}
	if len(o.Overlaps) < mostOverlaps {
		v.Parts = nil // free the memory of the list of holds; windowOf reads it again when the overlap is shown
		o.Overlaps = append(o.Overlaps, v)
	}
}

// verdictOf returns the verdict on the history in a folder. If the verdict cannot be read, it returns a verdict
// without findings.
func (s *Server) verdictOf(dir string) *checker.Verdict {
	var v checker.Verdict
	if err := s.read(path.Join(dir, run.VerdictName), &v); err != nil {
		return &checker.Verdict{}
	}
	return &v
}
