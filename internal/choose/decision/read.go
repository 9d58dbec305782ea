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
	"github.com/samber/lo"

	"lockbench/checker"
	"lockbench/reports/bench"
	"lockbench/reports/format"
	"lockbench/reports/run"
	"lockbench/reports/selection"
	"lockbench/reports/stats"
)

// ReadEvidence reads the evidence about the candidates. Each folder is a run or benchmark folder, or contains such folders.
// The paths of sources are recorded relative to base, the folder of the report.
func ReadEvidence(base string, options []selection.Option, dirs ...string) (selection.Evidence, error) {
	found, err := sourcesIn(dirs)
	if err != nil {
		return selection.Evidence{}, err
	}
	g := &gathering{options: options}
	for _, dir := range found {
		from, err := relative(base, dir)
		if err != nil {
			return selection.Evidence{}, err
		}
		read := lo.Ternary(exists(filepath.Join(dir, bench.PlanName)), g.readBench, g.readRun)
		if err := read(dir, from); err != nil {
			return selection.Evidence{}, err
		}
	}
	return numbered(g.Evidence), nil
}

type gathering struct {
	selection.Evidence
	options []selection.Option
}

// sourcesIn returns the result folders among dirs and their direct subfolders, without duplicates.
func sourcesIn(dirs []string) (found []string, err error) {
	for _, dir := range dirs {
		here := []string{dir}
		if !isSource(dir) {
			below, err := os.ReadDir(dir)
			if err != nil {
				return nil, err
			}
			here = lo.FilterMap(below, func(entry fs.DirEntry, _ int) (string, bool) {
				d := filepath.Join(dir, entry.Name())
				return d, isSource(d)
			})
			if len(here) == 0 {
				return nil, fmt.Errorf("read evidence %s: want the folder of a run (run.json) or of a bench (bench.json)", dir)
			}
		}
		found = append(found, lo.Map(here, func(d string, _ int) string { return resolved(d) })...)
	}
	return lo.Uniq(found), nil
}

func isSource(dir string) bool {
	return exists(filepath.Join(dir, run.ManifestName)) || exists(filepath.Join(dir, bench.PlanName))
}

// resolved replaces the symbolic links in the path dir by their targets. If that fails, it returns dir unchanged.
func resolved(dir string) string {
	real, err := filepath.EvalSymlinks(dir)
	return lo.Ternary(err == nil, real, dir)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func relative(base, dir string) (string, error) {
	base, err1 := filepath.Abs(resolved(base)) // dir has no symbolic links, so resolve the links in base too
	dir, err2 := filepath.Abs(dir)
	rel, err3 := filepath.Rel(base, dir)
	return filepath.ToSlash(rel), errors.Join(err1, err2, err3)
}

func (g *gathering) readRun(dir, from string) error {
	text, err := os.ReadFile(filepath.Join(dir, run.ResultsName))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read evidence %s: %s is missing: lockbench report %s writes it", dir, run.ResultsName, dir)
	}
	if err != nil {
		return err
	}
	var r run.Results
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, run.ResultsName), err)
	}
	if err := r.CheckVersion(dir); err != nil {
		return err
	}
	m := r.Run
	s := g.source("run", "R", selection.Source{Dir: from, Command: m.Command, Seed: m.Seed,
		Started: m.Started.UTC().Format(time.RFC3339), Servers: m.Servers, Environment: m.Environment, Notes: m.Notes})
	cells := lo.KeyBy(r.Measurements, func(c run.Measurement) string { return c.Dir })
	g.Findings = append(g.Findings, lo.FilterMap(r.Cells, func(o run.Observation, _ int) (selection.Finding, bool) {
		return findingOf(s, o, cells), g.isCandidate(o.Lock) && isEvidence(o)
	})...)
	if err := g.readPaused(dir, s, r); err != nil {
		return err
	}
	for _, c := range r.Measurements {
		if c.Recovery != nil && c.Fault == "holder-kill" && c.Scenario == "" && g.isCandidate(c.Lock) {
			g.Figures = append(g.Figures, selection.Figure{Source: s.ID, Dir: c.Dir, Lock: c.Lock, Deployment: c.Deployment, Metric: selection.RecoveryMetric,
				Point:    bench.Point{Workload: c.Workload, Clients: c.Clients, Processes: c.Processes, Keys: c.Keys, TTLNS: c.TTLNS, Fault: c.Fault},
				Estimate: stats.EstimateOf(c.Recovery.Multiples, lo.Range(len(c.Recovery.Multiples))), Histories: histories(c, r.Cells)})
		}
	}
	return nil
}

func (g *gathering) source(kind, letter string, s selection.Source) selection.Source {
	n := lo.CountBy(g.Sources, func(other selection.Source) bool { return other.Kind == kind })
	s.ID, s.Kind = fmt.Sprint(letter, n+1), kind
	g.Sources = append(g.Sources, s)
	return s
}

// isCandidate reports whether a lock is one of the candidates, in any deployment.
func (g *gathering) isCandidate(lock string) bool {
	return slices.ContainsFunc(g.options, func(o selection.Option) bool { return o.Lock() == lock })
}

// isEvidence reports whether an observation is evidence about some requirement.
func isEvidence(o run.Observation) bool {
	return o.Observed != checker.NotApplicable && slices.Contains([]string{"mutual-exclusion", "lease-exclusion", "resource-integrity",
		"owner-release", "reentrancy", "recovery", "no-orphan", "progress"}, o.Property)
}

func findingOf(s selection.Source, o run.Observation, cells map[string]run.Measurement) selection.Finding {
	f := selection.Finding{Source: s.ID, Lock: o.Lock, Deployment: o.Deployment, Workload: o.Workload, Fault: o.Fault, Scenario: o.Scenario,
		Property: o.Property, Observed: o.Observed, Why: o.Why, Trials: o.Trials, ViolatedIn: o.ViolatedIn, Violations: o.Violations,
		Operations: o.Counts.Operations, Evidence: o.Weight, Example: o.Example, Histories: []selection.History{}}
	for _, t := range o.Evidence {
		f.Dir = path.Dir(t.Dir)
		f.Histories = append(f.Histories, selection.History{File: path.Join(t.Dir, "history.jsonl.zst"), SHA256: t.SHA256})
	}
	if c, ok := cells[f.Dir]; ok {
		f.TTLNS, f.Clients = c.TTLNS, c.Clients
	}
	return f
}

// histories returns the histories of the trials from which a measurement was computed. It takes them from the first observation
// that has evidence in the measurement's folder.
func histories(c run.Measurement, all []run.Observation) []selection.History {
	o, _ := lo.Find(all, func(o run.Observation) bool { return len(o.Evidence) > 0 && path.Dir(o.Evidence[0].Dir) == c.Dir })
	return findingOf(selection.Source{}, o, nil).Histories
}

func (g *gathering) readBench(dir, from string) error {
	r, err := bench.Read(dir)
	if err != nil {
		return err
	}
	p := r.Plan
	s := g.source("bench", "B", selection.Source{Dir: from, Command: p.Command, Seed: p.Seed,
		Started: p.Started.UTC().Format(time.RFC3339), Servers: p.Servers, Environment: p.Environment, Notes: p.Notes, Withheld: r.Withheld})
	for _, row := range r.Rows {
		subject, _ := p.Subject(row.Subject)
		point, _ := p.Point(row.Point)
		if subject.Role != bench.Lock || !g.isCandidate(subject.Lock) || point.Section == bench.ControlSection {
			continue
		}
		f := selection.Figure{Source: s.ID, Dir: path.Join(point.ID, subject.Name), Lock: subject.Name, Deployment: subject.Deployment,
			Point: point, Limited: row.Limited}
		if row.Unsafe != nil {
			f.Unsafe = row.Unsafe.Text
		}
		trials := lo.Filter(r.Trials, func(t *bench.Trial, _ int) bool {
			return t.Subject == row.Subject && t.Point == row.Point && t.Discarded == "" && t.Judged != nil
		})
		f.Histories = lo.Map(trials, func(t *bench.Trial, _ int) selection.History { return historyOf(t) })
		for _, c := range criteria() {
			if e, ok := row.Estimates[c.Metric]; ok {
				m, _ := bench.FindMetric(c.Metric)
				f.Metric, f.Unit, f.Estimate = c.Metric, m.Unit, e
				g.Figures = append(g.Figures, f)
			}
		}
		if point.Contended() {
			continue
		}
		t, err := acquires(trials)
		if err != nil {
			return err
		}
		if t.N > 0 {
			t.Source, t.Lock, t.Where = s.ID, row.Subject, fmt.Sprintf("of %s, %s with a lock for each", row.Subject, format.Plural(point.Clients, "client"))
			g.Times = append(g.Times, t)
		}
	}
	return nil
}

func historyOf(t *bench.Trial) selection.History {
	return selection.History{File: t.Judged.History, SHA256: t.Judged.SHA256}
}

// acquires returns the durations of the uncontended acquires of all trials.
func acquires(trials []*bench.Trial) (selection.RecordedTime, error) {
	all := hdrhistogram.New(1, int64(time.Hour), 3)
	t := selection.RecordedTime{What: "acquire", Histories: []selection.History{}}
	for _, trial := range trials {
		text, ok := trial.Curves["uncontended"]
		if !ok {
			continue
		}
		h, err := hdrhistogram.Decode([]byte(text))
		if err != nil {
			return t, fmt.Errorf("%s: its curve of acquires: %w", trial.Dir, err)
		}
		all.Merge(h)
		t.Histories = append(t.Histories, historyOf(trial))
	}
	t.N, t.Quantiles = all.TotalCount(), QuantilesOf(all)
	return t, nil
}

// QuantilesOf returns evenly spaced quantiles of a histogram in nanoseconds, followed by the maximum.
func QuantilesOf(h *hdrhistogram.Histogram) []time.Duration {
	const parts = 200
	all := lo.Times(parts, func(i int) time.Duration { return time.Duration(h.ValueAtQuantile(100 * (float64(i) + 0.5) / parts)) })
	return append(all, time.Duration(h.Max()))
}

// numbered returns the evidence with consecutive ids, and with empty lists instead of nil.
func numbered(e selection.Evidence) selection.Evidence {
	return selection.Evidence{
		Sources:  append([]selection.Source{}, e.Sources...),
		Findings: withIDs("P", e.Findings, func(f *selection.Finding, id string) { f.ID = id }),
		Figures:  withIDs("M", e.Figures, func(f *selection.Figure, id string) { f.ID = id }),
		Times:    withIDs("T", e.Times, func(t *selection.RecordedTime, id string) { t.ID = id }),
		Paused:   withIDs("S", e.Paused, func(s *selection.PausedHolds, id string) { s.ID = id }),
	}
}

func withIDs[T any](letter string, all []T, set func(*T, string)) []T {
	all = append([]T{}, all...)
	for i := range all {
		set(&all[i], fmt.Sprint(letter, i+1))
	}
	return all
}
