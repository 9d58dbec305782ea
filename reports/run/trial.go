package run

import (
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

// The files of a trial.
const (
	historyName  = "history.jsonl.zst"
	verdictName  = "verdict.json"
	countersName = "counters.json"
	voidName     = "void.json"
)

// State is what became of a trial.
type State string

// Only judged trials count.
const (
	Judged    State = "judged"
	Void      State = "void"       // the fault took no effect, or the harness stalled: repeated
	NotJudged State = "not judged" // cut short, or unreadable
)

// Trial is one trial as it was found.
type Trial struct {
	Dir    string `json:"dir"` // in the run folder
	State  State  `json:"state"`
	Reason string `json:"reason"` // of a trial that does not count
	SHA256 string `json:"sha256"` // of its history; empty where there is none
}

// trialRead is a trial with all that was read of it; header, verdict and stats only of a judged one.
type trialRead struct {
	Trial
	header   histories.Header
	verdict  checker.Verdict
	stats    *figures.Stats
	counters counters
	sale     *saleFigures // nil: it had no shop
	files    []File
	warnings []string
}

// trialDirs lists a cell's trials: 001, 002, ... None where the folder is missing.
func trialDirs(dir, cell string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(cell)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
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

// readTrial reads a trial. What is missing or malformed makes it NotJudged; only a folder that cannot be
// read at all is an error.
func readTrial(dir, name string) (*trialRead, error) {
	t := &trialRead{Trial: Trial{Dir: name, State: Judged}}
	if err := t.sum(dir); err != nil {
		return nil, err
	}
	reason, err := readVoid(filepath.Join(dir, filepath.FromSlash(name), voidName))
	if err != nil {
		return nil, err
	}
	if reason != "" {
		t.State, t.Reason = Void, reason
		return t, nil
	}
	if err := t.read(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
		t.State, t.Reason = NotJudged, err.Error()
	}
	return t, nil
}

// sum sums the trial's files.
func (t *trialRead) sum(dir string) error {
	for _, name := range []string{historyName, verdictName, countersName, shopName, voidName} {
		f, err := SumFile(dir, path.Join(t.Dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if name == historyName {
			t.SHA256 = f.SHA256
		}
		t.files = append(t.files, f)
	}
	return nil
}

// readVoid returns why a trial was marked void; empty if it was not.
func readVoid(file string) (reason string, err error) {
	var v struct {
		Reason string `json:"reason"`
	}
	err = readJSON(file, &v)
	var unreadable *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case errors.As(err, &unreadable):
		return "", err
	case err != nil || v.Reason == "":
		return "it was marked void, without a readable reason", nil
	}
	return v.Reason, nil
}

// read reads the files of a trial that is not void, in its folder.
func (t *trialRead) read(dir string) error {
	file := filepath.Join(dir, verdictName)
	switch err := readJSON(file, &t.verdict); {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("it has no verdict: the run was cut short here")
	case err != nil:
		return fmt.Errorf("its verdict cannot be read: %w", withoutPath(err, file))
	}
	t.warnings = append(t.warnings, t.verdict.Warnings...)
	for _, d := range t.verdict.Oracle.Disagreements {
		t.warnings = append(t.warnings, "monitor and oracle disagree: "+d)
	}
	if err := t.readHistory(filepath.Join(dir, historyName)); err != nil {
		return err
	}
	file = filepath.Join(dir, countersName)
	if err := readJSON(file, &t.counters); err != nil { // a trial is judged without them
		t.warnings = append(t.warnings, fmt.Sprintf("no server counters: %v", withoutPath(err, file)))
	}
	file = filepath.Join(dir, shopName)
	var sale saleFigures
	switch err := readJSON(file, &sale); {
	case err == nil:
		t.sale = &sale
	case !errors.Is(err, fs.ErrNotExist):
		t.warnings = append(t.warnings, fmt.Sprintf("no figures of its shop: %v", withoutPath(err, file)))
	}
	return nil
}

func (t *trialRead) readHistory(file string) error {
	r, err := histories.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("it has no history")
	}
	if err != nil {
		return fmt.Errorf("its history cannot be read: %w", withoutPath(err, file))
	}
	defer r.Close()
	t.header = r.Header
	if t.stats, err = figures.Of(&r.Header, r.Next, figures.Window{}); err != nil {
		return fmt.Errorf("its history cannot be read: %w", err)
	}
	t.warnings = append(t.warnings, r.Warnings...)
	if n := t.stats.OutOfRange; n > 0 {
		t.warnings = append(t.warnings, fmt.Sprintf("%d durations over %v stand in no histogram", n, figures.MaxTrackable))
	}
	t.stats.Samples.Stamp(t.header.Started, t.stats.First, t.stats.Last)
	return nil
}

func readJSON(file string, v any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// withoutPath keeps the place of the run folder out of the report, which is the same wherever it lies.
func withoutPath(err error, file string) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", filepath.Base(file), p.Err)
	}
	return errors.New(strings.ReplaceAll(err.Error(), file, filepath.Base(file)))
}
