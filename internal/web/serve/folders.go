package serve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/reports/bench"
	"lockbench/reports/campaign"
	"lockbench/reports/format"
	"lockbench/reports/run"
	"lockbench/reports/selection"
)

type kind string

const (
	runKind    kind = "run"
	benchKind  kind = "bench"
	adviceKind kind = "advice"

	campaignKind kind = "campaign" // of explore or matrix
)

// manifests lists, for each kind of folder, the file that identifies it. The last file that a folder has counts: a run with agents has a
// campaign.json too.
var manifests = []struct {
	kind kind
	file string
}{{campaignKind, campaign.StateName}, {runKind, run.ManifestName}, {benchKind, bench.PlanName}, {adviceKind, selection.DataName}}

// folder is the summary of one result folder. Kind is "" unless the folder contains a run, a benchmark, a selection report or
// a campaign.
type folder struct {
	Name     string
	Kind     kind
	What     string // short description of the contents, such as the locks of a run
	Started  time.Time
	States   []state // summarised results of the checks, worst first
	Expected expectations
	Counts   string
	Servers  []string
	Problem  string // reason why the folder cannot be read, in one sentence
	Latest   bool
	Ended    bool
	Progress *progress          // nil if the run or benchmark has ended
	Sentence string             // result of a run or a selection report, in one sentence
	Sources  []selection.Source // runs and benchmarks that provide the evidence of a selection report
	Campaign *campaign.State    // nil if the folder has no campaign
	Agents   []campaign.Agent   // agents that run trials of the campaign or of the run
	Slots    int                // number of trials that the agents run at the same time

	// The following fields are set for a run or a benchmark.
	manifest    string // name of the manifest file
	interrupted bool   // whether the user interrupted the run or benchmark
	cells       []cell // planned combinations of lock, workload and fault, with their results
	unreported  error  // error from reading the results, or nil
}

func (f folder) passes(filter string) bool {
	words := append([]string{f.Name, string(f.Kind), f.What, f.Counts, f.Problem, f.Expected.Text, format.When(f.Started)}, f.Servers...)
	for _, s := range f.States {
		words = append(words, s.Word)
	}
	text := strings.ToLower(strings.Join(words, " "))
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(filter)), func(word string) bool { return !strings.Contains(text, word) })
}

// Running reports whether the run or benchmark is under way.
func (f folder) Running() bool { return f.Progress != nil && f.Progress.Alive }

// Comparable reports whether two folders of this kind can be compared: runs and benches.
func (f folder) Comparable() bool { return f.Kind == runKind || f.Kind == benchKind }

// newestFolders returns the summaries of the newest folders, at most mostFolders. It sorts them newest first, but
// unreadable folders last. The second result is the number of older folders that are omitted.
func (s *Server) newestFolders() (folders []folder, more int, err error) {
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return nil, 0, err
	}
	latest := map[string]bool{}
	slices.Reverse(entries) // sort the newest first; the names begin with the time
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 {
			if to, err := s.root.Readlink(e.Name()); err == nil {
				latest[path.Base(to)] = true
			}
			continue
		}
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		names := s.foldersIn(e.Name())
		if len(names) == 0 {
			names = []string{e.Name()}
		}
		for _, name := range names {
			if len(folders) == mostFolders {
				more++
				continue
			}
			folders = append(folders, s.folder(name))
		}
	}
	for i, f := range folders {
		folders[i].Latest = latest[f.Name]
	}
	slices.SortStableFunc(folders, func(a, b folder) int {
		return cmp.Or(min(len(a.Problem), 1)-min(len(b.Problem), 1), b.Started.Compare(a.Started), cmp.Compare(b.Name, a.Name))
	})
	return folders, more, nil
}

// foldersIn returns the names of the result folders in a folder. For a run or benchmark, it returns only the folder
// itself. For a selection report, it returns the folder and the runs and benchmarks inside, which are the evidence
// of the report.
func (s *Server) foldersIn(name string) (names []string) {
	if k, _ := s.kindOf(name); k != "" {
		if names = append(names, name); k != adviceKind {
			return names
		}
	}
	below, _ := fs.ReadDir(s.root.FS(), name) // treat an unreadable folder as empty
	for _, e := range below {
		if inner := path.Join(name, e.Name()); e.IsDir() && s.isFolder(inner) {
			names = append(names, inner)
		}
	}
	return names
}

// kindOf returns the kind of a folder and the name of its manifest file, or "" for both if the folder has no manifest.
func (s *Server) kindOf(name string) (found kind, manifest string) {
	if !folderName(name) {
		return "", ""
	}
	for _, m := range manifests {
		if _, err := s.root.Lstat(path.Join(name, m.file)); err == nil {
			found, manifest = m.kind, m.file
		}
	}
	return found, manifest
}

func (s *Server) isFolder(name string) bool {
	k, _ := s.kindOf(name)
	return k != ""
}

// folder returns the summary of a folder. A summary with Ended set is cached until the manifest or the results change.
func (s *Server) folder(name string) folder {
	var stamps string
	for _, file := range []string{run.ManifestName, bench.PlanName, selection.DataName, run.ResultsName, campaign.StateName} {
		if info, err := s.root.Stat(path.Join(name, file)); err == nil {
			stamps += stamp(path.Join(name, file), info)
		}
	}
	if f, ok := s.folders.Get(stamps); ok {
		return f
	}
	f := s.look(name)
	f.cells = nil
	if f.Ended && stamps != "" {
		s.folders.Add(stamps, f)
	}
	return f
}

// look reads a result folder and returns its summary. For a run or a benchmark, the summary's field named cells lists
// the planned combinations of lock, workload and fault.
func (s *Server) look(name string) folder {
	f := folder{Name: name}
	f.Kind, f.manifest = s.kindOf(name)
	_, err := s.stat(path.Join(name, f.manifest))
	switch {
	case f.Kind == "":
		err = errors.New("it has no run.json, bench.json, advice.json or campaign.json, so no command of lockbench wrote it")
	case err != nil:
	case f.Kind == campaignKind:
		err = s.sumCampaign(&f)
	case f.Kind == adviceKind:
		err = s.sumAdvice(&f)
	case f.Kind == runKind:
		s.readAgents(&f)
		err = s.readRun(&f)
	default:
		err = s.readBench(&f)
	}
	if err == nil && !missing(f.unreported) {
		err = f.unreported
	}
	if err != nil {
		f.Problem, f.States, f.Ended = strings.TrimPrefix(reason(err, s.dir), name+"/"), []state{unreadable}, true
	} else if f.Comparable() {
		s.sum(&f)
	}
	if f.Started.IsZero() {
		f.Started = s.startedOf(name)
	}
	return f
}

// startedOf returns the start time that the folder's name contains. Without a time in the name, it returns the time
// of the folder's last change.
func (s *Server) startedOf(whole string) time.Time {
	const form = "20060102-150405"
	name := path.Base(whole)
	at, err := time.Parse(form, name[:min(len(name), len(form))])
	if err == nil {
		return at
	}
	if info, err := s.root.Stat(whole); err == nil {
		return info.ModTime()
	}
	return time.Time{}
}

// reason returns the text of an error as a sentence. It removes the path of the served folder from the text.
func reason(err error, dir string) string {
	text := strings.ReplaceAll(strings.ReplaceAll(err.Error(), dir+"/", ""), dir, "")
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		file, _, _ := strings.Cut(text, ": ")
		return file + " is cut off, or is not JSON"
	}
	return text
}

// sum completes the summary of a run or benchmark. If it was interrupted or is unfinished, the summary begins with
// this status, and no result is green.
func (s *Server) sum(f *folder) {
	f.Servers = slices.DeleteFunc(f.Servers, func(server string) bool { return server == "" })
	slices.Sort(f.Servers)
	f.Servers = slices.Compact(f.Servers)
	if f.unreported != nil {
		f.States, f.Counts, f.Expected = []state{unreported}, "no results: lockbench report writes them", expectations{}
	}
	if f.Ended && !f.interrupted {
		return
	}
	now := interrupted
	if !f.Ended {
		f.Progress = s.progress(f)
		f.Counts = f.Progress.Counts()
		if now = stopped; f.Progress.Alive {
			now = running
		}
		if f.unreported != nil {
			f.States = nil
		}
	}
	soFar(f.States)
	f.States = append([]state{now}, f.States...)
}

// soFar replaces green states by amber states, because a run is not successful before it has finished.
func soFar(states []state) {
	for i, s := range states {
		if s.Class == pass.Class {
			states[i] = state{Class: inconclusive.Class, Symbol: inconclusive.Symbol, Word: s.Word + " so far"}
		}
	}
}

var trialsFlag = regexp.MustCompile(`--trials[= ]([0-9]{1,5})\b`)

// readRun reads a run and fills in its summary. It takes the number of trials per cell from the run's command line.
func (s *Server) readRun(f *folder) error {
	m, err := run.ReadManifest(s.folderPath(f.Name))
	if err != nil {
		return err
	}
	f.What, f.Started, f.Ended, f.interrupted = lockNames(m), m.Started, !m.Ended.IsZero(), m.Interrupted
	f.Servers = []string{m.Environment.Server}
	results, err := s.results(f.Name)
	f.unreported = err
	found, gaps := map[cellKey][]run.Observation{}, map[string]string{}
	for _, o := range results.Cells {
		found[keyOf(o)] = append(found[keyOf(o)], o)
	}
	for _, g := range results.Gaps {
		gaps[g.Dir] = g.Reason
	}
	each := 1
	if found := trialsFlag.FindStringSubmatch(m.Command); found != nil {
		each, _ = strconv.Atoi(found[1])
	}
	for _, c := range m.Plan {
		planned := cell{Name: c.Dir, Dir: c.Dir, Planned: each, Gap: gaps[c.Dir]}
		if rows := found[cellKey{c.Lock, c.Deployment, c.Workload, c.Fault, c.Scenario}]; len(rows) > 0 {
			planned.States, planned.Expected = []state{run.ExclusionBadge(rows)}, expectationsOf(tallyOf(rows))
		}
		f.cells = append(f.cells, planned)
	}
	t := results.Tally
	f.Counts = fmt.Sprintf("%s, %s, %s", format.Plural(len(m.Plan), "cell"), format.Plural(t.Trials, "trial"), format.Plural(t.Operations, "operation"))
	if err == nil {
		f.States, f.Expected, f.Sentence = results.ExclusionBadges(), expectationsOf(t), results.Headline()
	}
	return nil
}

// lockNames returns the names of the locks of a run, at most four, as text.
func lockNames(m run.Manifest) string {
	const most = 4
	var names []string
	for _, c := range m.Plan {
		if !slices.Contains(names, c.Lock) {
			names = append(names, c.Lock)
		}
	}
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

type cellKey struct{ lock, deployment, workload, fault, scenario string }

func keyOf(o run.Observation) cellKey {
	return cellKey{o.Lock, o.Deployment, o.Workload, o.Fault, o.Scenario}
}

func (s *Server) results(name string) (*run.Results, error) {
	r := &run.Results{}
	err := s.read(path.Join(name, run.ResultsName), r)
	if err == nil {
		err = r.CheckVersion(s.folderPath(name))
	}
	return r, err
}

func (s *Server) readBench(f *folder) error {
	p, err := bench.ReadPlan(s.folderPath(f.Name))
	if err != nil {
		return err
	}
	f.What, f.Started, f.Ended, f.interrupted = p.Name, p.Started, !p.Ended.IsZero(), p.Interrupted
	for _, subject := range p.Subjects {
		f.Servers = append(f.Servers, subject.Server)
	}
	var results bench.Results
	f.unreported = s.read(path.Join(f.Name, bench.ResultsName), &results)
	worst := observed
	if len(results.Withheld) > 0 {
		worst = withheld
	}
	rows, trials := map[string]bench.Row{}, 0
	for _, row := range results.Rows {
		rows[path.Join(row.Point, row.Subject)] = row
		trials += row.Trials
		if row.Unsafe != nil && !row.Unsafe.Expected {
			worst = overlapped
		}
	}
	for _, pair := range p.Pairs {
		subject, point := p.Subjects[pair.Subject].Name, p.Points[pair.Point].ID
		c := cell{Name: subject + " at " + point, Dir: path.Join(point, subject), Planned: p.Trials}
		if row, ok := rows[c.Dir]; ok {
			c.States, c.Gap = []state{rowState(row)}, row.Limited
			if row.Unsafe != nil && row.Unsafe.Expected {
				c.Expected = asExpected
			}
		}
		f.cells = append(f.cells, c)
	}
	f.States = []state{worst}
	f.Counts = fmt.Sprintf("%s at %s, %s", format.Plural(len(p.Subjects), "subject"), format.Plural(len(p.Points), "point"), format.Plural(trials, "trial"))
	return nil
}

func (s *Server) sumAdvice(f *folder) error {
	var text json.RawMessage
	if err := s.read(path.Join(f.Name, selection.DataName), &text); err != nil {
		return err
	}
	r, err := selection.ReadData(text)
	if err != nil {
		return err
	}
	f.Ended, f.What, f.Sentence = true, cmp.Or(strings.Join(r.Decision.Recommended, ", "), "nothing is recommended"), r.Headline()
	if info, err := s.stat(path.Join(f.Name, selection.DataName)); err == nil {
		f.Started = info.ModTime()
	}
	f.States = []state{cmp.Or(outcomes[r.Decision.Outcome], inconclusive)}
	f.Counts = fmt.Sprintf("%s, %s left", format.Plural(len(r.Options), "candidate"), format.Plural(len(r.Decision.Survivors), "candidate"))
	f.Sources = r.Sources
	return nil
}
