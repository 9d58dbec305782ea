package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"lockbench/reports/figures"
)

// File is one file of a run folder.
type File struct {
	Path   string `json:"path"` // in the run folder, with slashes
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // hexadecimal
}

// WriteFile replaces a file at once: whoever reads it, or is left with it after a crash, has the old text
// or the new one.
func WriteFile(file string, text []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(text)
	if e := tmp.Chmod(0o644); err == nil {
		err = e
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return os.Rename(tmp.Name(), file)
}

// WriteJSON replaces a file at once with a value as indented JSON.
func WriteJSON(file string, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // people read these files too
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(file), err)
	}
	return WriteFile(file, b.Bytes())
}

// SumFile returns the length and the checksum of a file in a run folder, whose name has slashes.
func SumFile(dir, name string) (File, error) {
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", name, err)
	}
	return File{Path: name, Bytes: n, SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}

// Build reads a run folder, writes results.json, the histograms and the report, and returns the results.
// A run that was cut short is no error: what is missing is listed. A folder without a readable run.json is.
func Build(dir string) (*Results, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	r := &Results{
		Version: resultsVersion, Run: m,
		Cells: []Observation{}, Measurements: []Measurement{}, Trials: []Trial{},
		Gaps: []Gap{}, Warnings: []string{}, Files: []File{},
	}
	run, err := SumFile(dir, ManifestName)
	if err != nil {
		return nil, err
	}
	r.Files = append(r.Files, run)
	for _, c := range m.Plan {
		if err := r.readCell(dir, c); err != nil {
			return nil, fmt.Errorf("cell %s: %w", c.Dir, err)
		}
	}
	r.Tally = tallyOf(r)
	setStandings(r)
	return r, r.write(dir)
}

// readCell reads the trials of a cell and writes its histograms.
func (r *Results) readCell(dir string, c Cell) error {
	names, err := trialDirs(dir, c.Dir)
	if err != nil {
		return err
	}
	var judged []*trialRead
	for _, name := range names {
		t, err := readTrial(dir, name)
		if err != nil {
			return err
		}
		r.addTrial(t)
		if t.State == Judged {
			judged = append(judged, t)
		}
	}
	if len(judged) == 0 {
		reason := "no trial counts"
		if len(names) == 0 {
			reason = "no trial was run"
		}
		r.Gaps = append(r.Gaps, Gap{Dir: c.Dir, Reason: reason})
		return nil
	}
	r.Warnings = append(r.Warnings, differingClaims(c, judged)...)
	r.Cells = append(r.Cells, observe(c, judged)...)
	r.Measurements = append(r.Measurements, measure(c, judged))
	for _, t := range judged {
		if t.sale != nil {
			r.Sales = append(r.Sales, Sale{t.Dir, c.Lock, c.Deployment, c.Workload, *t.sale})
		}
	}
	return r.writeHistograms(dir, c, judged)
}

func (r *Results) addTrial(t *trialRead) {
	r.Trials = append(r.Trials, t.Trial)
	r.Files = append(r.Files, t.files...)
	if t.State == NotJudged {
		r.Gaps = append(r.Gaps, Gap{Dir: t.Dir, Reason: t.Reason})
		return
	}
	for _, w := range t.warnings {
		r.Warnings = append(r.Warnings, t.Dir+": "+w)
	}
	r.disagreements += len(t.verdict.Oracle.Disagreements)
}

func (r *Results) writeHistograms(dir string, c Cell, judged []*trialRead) error {
	merged := figures.NewSamples()
	var apart []*figures.Samples
	for _, t := range judged {
		merged.Merge(&t.stats.Samples)
		apart = append(apart, &t.stats.Samples)
	}
	log, err := figures.IntervalLog(apart)
	if err != nil {
		return fmt.Errorf("interval log: %w", err)
	}
	text, err := figures.PercentileText(&merged)
	if err != nil {
		return fmt.Errorf("percentile text: %w", err)
	}
	for i, content := range [][]byte{log, text} {
		name := path.Join(c.Dir, []string{"latency.hlog", "latency.hgrm"}[i])
		if err := WriteFile(filepath.Join(dir, filepath.FromSlash(name)), content); err != nil {
			return err
		}
		file, err := SumFile(dir, name)
		if err != nil {
			return err
		}
		r.Files = append(r.Files, file)
	}
	return nil
}

// write writes results.json and the report, and removes Porcupine's pages of a report that was there before.
func (r *Results) write(dir string) error {
	if err := WriteJSON(filepath.Join(dir, ResultsName), r); err != nil {
		return err
	}
	sum, err := SumFile(dir, ResultsName)
	if err != nil {
		return err
	}
	p, err := newPage(r, sum)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	dir = filepath.Join(dir, "report")
	old, err := filepath.Glob(filepath.Join(dir, "witness-*.html"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	files := map[string][]byte{}
	for _, w := range p.Witnesses {
		if w.Viewer != "" {
			files[w.Viewer] = w.viewer
		}
	}
	if files["index.html"], err = p.html(); err != nil {
		return fmt.Errorf("index.html: %w", err)
	}
	if files["report.md"], err = p.markdown("markdown", "report.md"); err != nil {
		return fmt.Errorf("report.md: %w", err)
	}
	if len(r.Run.Scenarios) > 0 { // the source of docs/evidence/scenarios.md
		if files["scenarios.md"], err = p.markdown("scenarios", "scenarios.md"); err != nil {
			return fmt.Errorf("scenarios.md: %w", err)
		}
	}
	for name, text := range files {
		if err := WriteFile(filepath.Join(dir, name), text); err != nil {
			return err
		}
	}
	return nil
}
