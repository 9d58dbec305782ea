package serve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"lockbench/reports/bench"
	"lockbench/reports/format"
	"lockbench/reports/run"
	"lockbench/reports/selection"
)

// kind is what a folder is of.
type kind string

const (
	runKind    kind = "run"
	benchKind  kind = "bench"
	adviceKind kind = "advice"
)

// adviceName is the file that makes a folder one of an advice.
const adviceName = selection.DataName

// manifests are the files that make a folder one of ours.
var manifests = []struct {
	kind kind
	file string
}{{runKind, run.ManifestName}, {benchKind, bench.PlanName}, {adviceKind, adviceName}}

// source is a folder of evidence.
type source struct{ ID, Kind, Dir string }

// folder is a folder as it stands in the list.
type folder struct {
	Name     string
	Kind     kind
	What     string // in a few words
	Started  time.Time
	States   []state // the first is the gravest
	Counts   string
	Servers  []string
	Problem  string // why it cannot be read, in a sentence
	Latest   bool
	Ended    bool
	Progress *progress // of one that has not ended
	Sentence string    // of an advice
	Sources  []source  // of an advice
}

// passes reports whether all words of a filter are in what is shown of a folder.
func (f folder) passes(filter string) bool {
	words := append([]string{f.Name, string(f.Kind), f.What, f.Counts, f.Problem, format.When(f.Started)}, f.Servers...)
	for _, s := range f.States {
		words = append(words, s.Word)
	}
	text := strings.ToLower(strings.Join(words, " "))
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(filter)), func(word string) bool { return !strings.Contains(text, word) })
}

// Running tells whether it is worth looking again in a second.
func (f folder) Running() bool { return f.Progress != nil && f.Progress.Alive }

// all reads the folders there are, newest first and those that cannot be read last; more is how many were left out.
func (s *Server) all() (folders []folder, more int, err error) {
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return nil, 0, err
	}
	latest := map[string]bool{}
	slices.Reverse(entries) // their names begin with the time: of too many the newest are shown
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 {
			if to, err := s.root.Readlink(e.Name()); err == nil {
				latest[path.Base(to)] = true
			}
			continue
		}
		if !e.IsDir() {
			continue
		}
		for _, name := range s.within(e.Name()) {
			if len(folders) == mostFolders {
				more++
				continue
			}
			k, _ := s.kindOf(name)
			folders = append(folders, s.folder(name, k))
		}
	}
	for i := range folders {
		folders[i].Latest = latest[folders[i].Name]
	}
	slices.SortStableFunc(folders, func(a, b folder) int {
		if unreadable := a.Problem != ""; unreadable != (b.Problem != "") {
			return map[bool]int{false: -1, true: 1}[unreadable]
		}
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.Name, a.Name))
	})
	return folders, more, nil
}

// within are a folder, if it is one of ours, and those in it where it is none or an advice: that has its evidence beside it.
func (s *Server) within(name string) (names []string) {
	k, known := s.kindOf(name)
	if known {
		names = append(names, name)
	}
	if known && k != adviceKind {
		return names
	}
	below, err := fs.ReadDir(s.root.FS(), name)
	if err != nil {
		return names
	}
	for _, e := range below {
		if _, known := s.kindOf(path.Join(name, e.Name())); e.IsDir() && known {
			names = append(names, path.Join(name, e.Name()))
		}
	}
	return names
}

// kindOf tells what a folder is of.
func (s *Server) kindOf(name string) (kind, bool) {
	found, known := kind(""), false
	for _, m := range manifests {
		if _, err := s.root.Lstat(path.Join(name, m.file)); err == nil {
			found, known = m.kind, true
		}
	}
	return found, known
}

// folder sums a folder up. One that has ended is read once.
func (s *Server) folder(name string, k kind) folder {
	now, stamped := s.stampOfAll(name)
	if f, ok := s.folders.get(name, now); ok && stamped && f.Kind == k {
		return f
	}
	f := folder{Name: name, Kind: k}
	err := map[kind]func(*folder) error{runKind: s.sumRun, benchKind: s.sumBench, adviceKind: s.sumAdvice}[k](&f)
	if err != nil {
		f.Problem, f.States = strings.TrimPrefix(reason(err, s.dir), name+"/"), []state{unreadable}
		f.Ended = true
	}
	if f.Started.IsZero() {
		f.Started = s.began(name)
	}
	if f.Ended && stamped {
		s.folders.put(name, now, f)
	}
	return f
}

// began is when a folder was made that does not say so: as its name says, or when it was last changed.
func (s *Server) began(whole string) (at time.Time) {
	const form = "20060102-150405"
	name := path.Base(whole)
	if at, err := time.Parse(form, name[:min(len(name), len(form))]); err == nil {
		return at
	}
	if info, err := s.root.Stat(whole); err == nil {
		at = info.ModTime()
	}
	return at
}

// stampOfAll changes with any of the files that a summary is made of.
func (s *Server) stampOfAll(name string) (all stamp, ok bool) {
	for _, file := range []string{run.ManifestName, bench.PlanName, adviceName, run.ResultsName} {
		if info, err := s.root.Stat(path.Join(name, file)); err == nil {
			one := stampOf(info)
			all.size = all.size*31 + one.size
			if one.at.After(all.at) {
				all.at = one.at
			}
			ok = true
		}
	}
	return all, ok
}

// reason is an error as a sentence, without where on this machine it happened.
func reason(err error, dir string) string {
	return strings.ReplaceAll(strings.ReplaceAll(err.Error(), dir+"/", ""), dir, "")
}

func (s *Server) manifest(name string) (run.Manifest, error) {
	if _, _, err := s.place(path.Join(name, run.ManifestName)); err != nil {
		return run.Manifest{}, err
	}
	return run.ReadManifest(s.folderPath(name))
}

func (s *Server) sumRun(f *folder) error {
	m, err := s.manifest(f.Name)
	if err != nil {
		return err
	}
	f.What, f.Started, f.Ended = m.Name, m.Started, !m.Ended.IsZero()
	f.Servers = present(m.Environment.Server)
	var results struct {
		Tally run.Tally `json:"tally"`
	}
	err = s.read(path.Join(f.Name, run.ResultsName), &results)
	if t := results.Tally; err == nil {
		f.States = []state{tallied(t)}
		f.Counts = fmt.Sprintf("%s, %s, %s", format.Plural(len(m.Plan), "cell"), format.Plural(t.Trials, "trial"), format.Plural(t.Operations, "operation")) + tallyWords(t)
	}
	return f.end(err, m.Interrupted, func() *progress { return s.runProgress(f.Name, m) })
}

func tallyWords(t run.Tally) (text string) {
	for _, part := range []struct {
		n    int
		word string
	}{{t.Kept, "kept"}, {t.Broken, "broken"}, {t.Undecided, "undecided"}, {t.Caught, "caught"}, {t.Missed, "missed"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %s %s", format.Count(part.n), part.word)
		}
	}
	return text
}

// end puts what became of the whole beside what was found: err says why there are no results. What goes on comes first:
// nothing is final then.
func (f *folder) end(err error, interruptedByHand bool, look func() *progress) error {
	switch {
	case err != nil && !missing(err):
		return err
	case err != nil && f.Ended:
		f.States, f.Counts = []state{unreported}, "no results: lockbench report makes them"
	}
	switch {
	case !f.Ended:
		f.Progress = look()
		f.Counts = f.Progress.Counts()
		now := stopped
		if f.Progress.Alive {
			now = running
		}
		f.States = append([]state{now}, f.States...)
	case interruptedByHand:
		f.States = append(f.States, interrupted)
	}
	return nil
}

func (s *Server) plan(name string) (*bench.Plan, error) {
	if _, _, err := s.place(path.Join(name, bench.PlanName)); err != nil {
		return nil, err
	}
	return bench.ReadPlan(s.folderPath(name))
}

func (s *Server) sumBench(f *folder) error {
	p, err := s.plan(f.Name)
	if err != nil {
		return err
	}
	f.What, f.Started, f.Ended = p.Name, p.Started, !p.Ended.IsZero()
	for _, subject := range p.Subjects {
		f.Servers = append(f.Servers, present(subject.Server)...)
	}
	slices.Sort(f.Servers)
	f.Servers = slices.Compact(f.Servers)
	var results struct {
		Withheld []string    `json:"withheld"`
		Rows     []bench.Row `json:"rows"`
	}
	err = s.read(path.Join(f.Name, bench.ResultsName), &results)
	if err == nil {
		trials, worst := 0, measured
		if len(results.Withheld) > 0 {
			worst = withheld
		}
		for _, row := range results.Rows {
			trials += row.Trials
			if rowState(row) == broken {
				worst = broken
			}
		}
		f.States = []state{worst}
		f.Counts = fmt.Sprintf("%s at %s, %s", format.Plural(len(p.Subjects), "subject"), format.Plural(len(p.Points), "point"), format.Plural(trials, "trial"))
	}
	return f.end(err, p.Interrupted, func() *progress { return s.benchProgress(f.Name, p) })
}

func (s *Server) sumAdvice(f *folder) error {
	var text json.RawMessage
	if err := s.read(path.Join(f.Name, adviceName), &text); err != nil {
		return err
	}
	r, err := selection.ReadData(text)
	if err != nil {
		return err
	}
	f.Ended, f.What, f.Sentence = true, cmp.Or(strings.Join(r.Decision.Recommended, ", "), "nothing is recommended"), r.Decision.Headline()
	if info, err := s.root.Stat(path.Join(f.Name, adviceName)); err == nil {
		f.Started = info.ModTime()
	}
	f.States = []state{decided(string(r.Decision.Outcome))}
	f.Counts = fmt.Sprintf("%s, %s left", format.Plural(len(r.Options), "option"), format.Plural(len(r.Decision.Survivors), "option"))
	for _, from := range r.Sources {
		f.Sources = append(f.Sources, source{from.ID, from.Kind, from.Dir})
	}
	return nil
}

func present(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
