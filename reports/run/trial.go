package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/figures"
)

// State is the state of a trial: judged, discarded or incomplete.
type State string

// The states of a trial. The figures of a report include only judged trials.
const (
	Judged    State = "judged"
	Discarded State = "discarded"  // the trial was discarded and repeated, because the fault had no effect or the harness stalled
	NotJudged State = "not judged" // the trial was interrupted, or a file is missing or malformed
)

// Trial describes one trial in a run folder: its state, and the checksum of its history.
type Trial struct {
	Dir    string `json:"dir"` // folder, relative to the run folder
	State  State  `json:"state"`
	Reason string `json:"reason"` // reason why the trial was not judged; empty if it was judged
	SHA256 string `json:"sha256"` // checksum of the history; empty if there is no history
}

// trialRead holds a trial with the content of its files. Header, verdict and stats are set if the trial was judged.
type trialRead struct {
	Trial
	header   histories.Header
	verdict  checker.Verdict
	stats    *figures.Stats
	counters counters
	sale     *saleFigures // figures of a flash sale, or nil
	warnings []string
}

// TrialDirs returns the paths of the trial folders, such as 001 and 002, in a folder. If the folder does not exist, it
// returns no paths.
func TrialDirs(dir fs.FS, cell string) ([]string, error) {
	entries, err := fs.ReadDir(dir, cell)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	number := regexp.MustCompile(`^[0-9]{3,}$`)
	var dirs []string
	for _, e := range entries {
		if e.IsDir() && number.MatchString(e.Name()) {
			dirs = append(dirs, path.Join(cell, e.Name()))
		}
	}
	return dirs, nil
}

// readTrial reads a trial and adds the trial and its files to r. The state of the trial is NotJudged if a required file is
// missing or malformed.
func (r *Results) readTrial(dir, name string) (*trialRead, error) {
	t := &trialRead{Trial: Trial{Dir: name, State: Judged}}
	for _, file := range []string{HistoryName, VerdictName, countersName, shopName, DiscardedName} {
		f, err := SumFile(dir, path.Join(name, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if file == HistoryName {
			t.SHA256 = f.SHA256
		}
		r.Files = append(r.Files, f)
	}
	folder := filepath.Join(dir, filepath.FromSlash(name))
	if reason, ok := discardedFor(folder); ok {
		t.State, t.Reason = Discarded, reason
	} else if err := t.read(folder); err != nil {
		t.State, t.Reason = NotJudged, err.Error()
		r.Gaps = append(r.Gaps, Gap{Dir: name, Reason: t.Reason})
	} else {
		for _, w := range t.warnings {
			r.Warnings = append(r.Warnings, name+": "+w)
		}
		r.disagreements += len(t.verdict.Oracle.Disagreements)
	}
	r.Trials = append(r.Trials, t.Trial)
	return t, nil
}

// discardedFor returns the reason why a trial was discarded. It returns false if the trial was not discarded. Earlier versions
// of lockbench stored the reason in void.json.
func discardedFor(folder string) (reason string, ok bool) {
	var why struct{ Reason string }
	for _, name := range []string{DiscardedName, "void.json"} {
		if err := readJSON(folder, name, &why); !errors.Is(err, fs.ErrNotExist) {
			return cmp.Or(why.Reason, "discarded without a readable reason"), true
		}
	}
	return "", false
}

// read reads the files of a trial that was not discarded.
func (t *trialRead) read(dir string) error {
	switch err := readJSON(dir, VerdictName, &t.verdict); {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no verdict: the run ended here")
	case err != nil:
		return fmt.Errorf("read the verdict: %w", err)
	}
	t.warnings = append(t.warnings, t.verdict.Warnings...)
	for _, d := range t.verdict.Oracle.Disagreements {
		t.warnings = append(t.warnings, "monitor and oracle disagree: "+d)
	}
	if err := t.readHistory(filepath.Join(dir, HistoryName)); err != nil {
		return err
	}
	if err := readJSON(dir, countersName, &t.counters); err != nil { // an error is not fatal, because the file of counters is optional
		t.warnings = append(t.warnings, fmt.Sprintf("read the server counters: %v", err))
	}
	var sale saleFigures
	switch err := readJSON(dir, shopName, &sale); {
	case err == nil:
		t.sale = &sale
	case !errors.Is(err, fs.ErrNotExist):
		t.warnings = append(t.warnings, fmt.Sprintf("read the figures of the flash sale: %v", err))
	}
	return nil
}

func (t *trialRead) readHistory(file string) error {
	r, err := histories.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("no history")
	}
	if err != nil {
		return fmt.Errorf("read the history: %w", withoutPath(err, file))
	}
	defer r.Close()
	t.header = r.Header
	if t.stats, err = figures.Of(&r.Header, r.Next, figures.Window{}); err != nil {
		return fmt.Errorf("read the history: %w", err)
	}
	t.warnings = append(t.warnings, r.Warnings...)
	if n := t.stats.OutOfRange; n > 0 {
		t.warnings = append(t.warnings, fmt.Sprintf("%d durations over %v are in no histogram", n, figures.MaxTrackable))
	}
	t.stats.Samples.Stamp(t.header.Started, t.stats.First, t.stats.Last)
	return nil
}

// readJSON reads a file of a trial. The errors that it returns omit the path of the trial.
func readJSON(dir, name string, v any) error {
	file := filepath.Join(dir, name)
	text, err := os.ReadFile(file)
	if err != nil {
		return withoutPath(err, file)
	}
	return json.Unmarshal(text, v)
}

// withoutPath removes the path of the run folder from an error. A copy of the folder then gives the same report.
func withoutPath(err error, file string) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", filepath.Base(file), p.Err)
	}
	return errors.New(strings.ReplaceAll(err.Error(), file, filepath.Base(file)))
}
