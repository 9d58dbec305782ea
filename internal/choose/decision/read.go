package decision

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"lockbench/checker"
	"lockbench/reports/bench"
	"lockbench/reports/run"
	"lockbench/reports/stats"
)

// ReadEvidence reads folders of runs and benches, and says what they show of the options. base is the folder of the report,
// which the sources are seen from. A folder that has such folders in it stands for them.
func ReadEvidence(base string, options []Option, dirs ...string) (Evidence, error) {
	e := Evidence{Sources: []Source{}, Findings: []Finding{}, Figures: []Figure{}, Times: []RecordedTime{}, Stood: []StoodStill{}}
	found, err := sourcesIn(dirs)
	if err != nil {
		return e, err
	}
	for _, dir := range found {
		if err := e.read(base, dir, options); err != nil {
			return e, err
		}
	}
	return e.numbered(), nil
}

// sourcesIn are the folders of results among dirs, or one level below them, each once.
func sourcesIn(dirs []string) ([]string, error) {
	var found []string
	add := func(dir string) bool {
		if !isRun(dir) && !isBench(dir) {
			return false
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if !slices.Contains(found, dir) {
			found = append(found, dir)
		}
		return true
	}
	for _, dir := range dirs {
		if add(dir) {
			continue
		}
		below, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		any := false
		for _, entry := range below {
			any = add(filepath.Join(dir, entry.Name())) || any
		}
		if !any {
			return nil, fmt.Errorf("%s has no results in it: want the folder of a run (run.json) or of a bench (bench.json)", dir)
		}
	}
	return found, nil
}

func isRun(dir string) bool   { return exists(filepath.Join(dir, run.ManifestName)) }
func isBench(dir string) bool { return exists(filepath.Join(dir, bench.PlanName)) }

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func (e *Evidence) read(base, dir string, options []Option) error {
	from, err := relative(base, dir)
	if err != nil {
		return err
	}
	if isBench(dir) {
		return e.readBench(dir, from, options)
	}
	return e.readRun(dir, from, options)
}

// relative is a folder with slashes, seen from another.
func relative(base, dir string) (string, error) {
	if real, err := filepath.EvalSymlinks(base); err == nil { // as sources are
		base = real
	}
	base, err1 := filepath.Abs(base)
	dir, err2 := filepath.Abs(dir)
	if err := errors.Join(err1, err2); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(base, dir)
	return filepath.ToSlash(rel), err
}

// readRun takes what a run's results say.
func (e *Evidence) readRun(dir, from string, options []Option) error {
	text, err := os.ReadFile(filepath.Join(dir, run.ResultsName))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has no %s: lockbench report %s makes it", dir, run.ResultsName, dir)
	}
	if err != nil {
		return err
	}
	var r run.Results
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, run.ResultsName), err)
	}
	m := r.Run
	s := Source{ID: fmt.Sprintf("R%d", 1+e.kinds("run")), Kind: "run", Dir: from, Command: m.Command, Seed: m.Seed,
		Started: m.Started.UTC().Format(time.RFC3339), Servers: m.Servers, Environment: m.Environment, Notes: m.Notes}
	e.Sources = append(e.Sources, s)
	cells := map[string]run.Measurement{}
	for _, c := range r.Measurements {
		cells[c.Dir] = c
	}
	for _, o := range r.Cells {
		if among(options, o.Lock) && counts(o) {
			e.Findings = append(e.Findings, findingOf(s, o, cells))
		}
	}
	if err := e.readStood(dir, s, r, options); err != nil {
		return err
	}
	for _, c := range r.Measurements {
		if c.Recovery != nil && c.Fault == "holder-kill" && c.Scenario == "" && among(options, c.Lock) {
			e.Figures = append(e.Figures, recoveryFigure(s, c, histories(c, r.Cells)))
		}
	}
	return nil
}

func (e *Evidence) kinds(kind string) int {
	n := 0
	for _, s := range e.Sources {
		if s.Kind == kind {
			n++
		}
	}
	return n
}

// among tells whether a lock is one of the options, wherever it stands.
func among(options []Option, lock string) bool {
	return slices.ContainsFunc(options, func(o Option) bool {
		return lockOf(o.Name) == lock
	})
}

// counts tells whether an observation says anything that a requirement may ask about.
func counts(o run.Observation) bool {
	return o.Observed != checker.NotApplicable && slices.Contains([]string{"mutual-exclusion", "lease-exclusion", "resource-integrity",
		"owner-release", "reentrancy", "recovery", "no-orphan", "progress"}, o.Property)
}

func findingOf(s Source, o run.Observation, cells map[string]run.Measurement) Finding {
	f := Finding{Source: s.ID, Lock: o.Lock, Deployment: o.Deployment, Workload: o.Workload, Fault: o.Fault, Scenario: o.Scenario,
		Property: o.Property, Observed: o.Observed, Why: o.Why, Trials: o.Trials, ViolatedIn: o.ViolatedIn, Violations: o.Violations,
		Operations: o.Counts.Operations, Weight: o.Weight, Witness: o.Witness, Histories: []History{}}
	for _, t := range o.Evidence {
		f.Dir = path.Dir(t.Dir)
		f.Histories = append(f.Histories, History{File: path.Join(t.Dir, "history.jsonl.zst"), SHA256: t.SHA256})
	}
	if c, ok := cells[f.Dir]; ok {
		f.TTLNS, f.Clients = c.TTLNS, c.Clients
	}
	return f
}

// histories are those of a cell, as its observations have them.
func histories(c run.Measurement, all []run.Observation) []History {
	for _, o := range all {
		if len(o.Evidence) > 0 && path.Dir(o.Evidence[0].Dir) == c.Dir {
			return findingOf(Source{}, o, nil).Histories
		}
	}
	return []History{}
}

func recoveryFigure(s Source, c run.Measurement, from []History) Figure {
	var blocks []int
	for i := range c.Recovery.Multiples {
		blocks = append(blocks, i)
	}
	return Figure{Source: s.ID, Dir: c.Dir, Lock: c.Lock, Deployment: c.Deployment, Metric: RecoveryMetric,
		Point:    bench.Point{Workload: c.Workload, Clients: c.Clients, Processes: c.Processes, Keys: c.Keys, TTLNS: c.TTLNS, Fault: c.Fault},
		Estimate: stats.EstimateOf(c.Recovery.Multiples, blocks), Histories: from}
}

// readBench takes the figures of a bench.
func (e *Evidence) readBench(dir, from string, options []Option) error {
	r, err := bench.Read(dir)
	if err != nil {
		return err
	}
	p := r.Plan
	s := Source{ID: fmt.Sprintf("B%d", 1+e.kinds("bench")), Kind: "bench", Dir: from, Command: p.Command, Seed: p.Seed,
		Started: p.Started.UTC().Format(time.RFC3339), Servers: p.Servers, Environment: p.Environment, Notes: p.Notes, Withheld: r.Withheld}
	e.Sources = append(e.Sources, s)
	for _, row := range r.Rows {
		subject, _ := p.Subject(row.Subject)
		point, _ := p.Point(row.Point)
		if subject.Role != bench.Lock || !among(options, subject.Lock) || point.Section == bench.ControlSection {
			continue
		}
		e.Figures = append(e.Figures, figuresOf(s, r, row, subject, point)...)
		t, err := acquires(s, r, row, point)
		if err != nil {
			return err
		}
		if t != nil {
			e.Times = append(e.Times, *t)
		}
	}
	return nil
}

// acquires are the times of all trials of a lock that nobody else wanted: from the call to the grant.
func acquires(s Source, r *bench.Results, row bench.Row, point bench.Point) (*RecordedTime, error) {
	if point.Contended() {
		return nil, nil
	}
	all := hdrhistogram.New(1, int64(time.Hour), 3)
	t := &RecordedTime{Source: s.ID, Lock: row.Subject, What: "acquire", Histories: []History{},
		Where: fmt.Sprintf("of %s, %s with a lock for each", row.Subject, plural(point.Clients, "client"))}
	for _, trial := range trialsOf(r, row) {
		text, ok := trial.Curves["uncontended"]
		if !ok {
			continue
		}
		h, err := hdrhistogram.Decode([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("%s: its curve of acquires: %w", trial.Dir, err)
		}
		all.Merge(h)
		t.Histories = append(t.Histories, History{File: trial.Judged.History, SHA256: trial.Judged.SHA256})
	}
	if t.N = all.TotalCount(); t.N == 0 {
		return nil, nil
	}
	t.Quantiles = QuantilesOf(all)
	return t, nil
}

// QuantilesOf are those that stand for a distribution of nanoseconds: the middles of as many equal parts, and the longest.
func QuantilesOf(h *hdrhistogram.Histogram) []int64 {
	const parts = 200
	var all []int64
	for i := range parts {
		all = append(all, h.ValueAtQuantile(100*(float64(i)+0.5)/parts))
	}
	return append(all, h.Max())
}

// trialsOf are the trials of a row that count.
func trialsOf(r *bench.Results, row bench.Row) []*bench.Trial {
	return slices.DeleteFunc(slices.Clone(r.Trials), func(t *bench.Trial) bool {
		return t.Subject != row.Subject || t.Point != row.Point || t.Void != "" || t.Judged == nil
	})
}

// measuredMetrics are the metrics of a bench that decisions look at.
func measuredMetrics() []string {
	var list []string
	for _, c := range criteria() {
		list = append(list, c.Metric)
	}
	return list
}

func figuresOf(s Source, r *bench.Results, row bench.Row, subject bench.Subject, point bench.Point) []Figure {
	var from []History
	for _, t := range trialsOf(r, row) {
		from = append(from, History{File: t.Judged.History, SHA256: t.Judged.SHA256})
	}
	unsafe := ""
	if row.Unsafe != nil {
		unsafe = row.Unsafe.Text
	}
	var list []Figure
	for _, name := range measuredMetrics() {
		if e, ok := row.Estimates[name]; ok {
			m, _ := bench.FindMetric(name)
			list = append(list, Figure{Source: s.ID, Dir: path.Join(point.ID, subject.Name), Lock: subject.Name, Deployment: subject.Deployment,
				Metric: name, Unit: m.Unit, Point: point, Estimate: e, Unsafe: unsafe, Limited: row.Limited, Histories: from})
		}
	}
	return list
}

// numbered gives everything an id, in its order.
func (e Evidence) numbered() Evidence {
	for i := range e.Findings {
		e.Findings[i].ID = fmt.Sprintf("P%d", i+1)
	}
	for i := range e.Figures {
		e.Figures[i].ID = fmt.Sprintf("M%d", i+1)
	}
	for i := range e.Times {
		e.Times[i].ID = fmt.Sprintf("T%d", i+1)
	}
	for i := range e.Stood {
		e.Stood[i].ID = fmt.Sprintf("S%d", i+1)
	}
	return e
}
