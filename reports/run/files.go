package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"lockbench/reports/figures"
)

// Names of the files in a run folder and its trial folders.
const (
	ManifestName  = "run.json"
	ResultsName   = "results.json"
	HistoryName   = "history.jsonl.zst"
	VerdictName   = "verdict.json"
	DiscardedName = "discarded.json"
	countersName  = "counters.json"
	shopName      = "shop.json" // shop.json exists only for a flash-sale workload

	manifestVersion = 1 // version of run.json that this package writes; older versions can also be read
	resultsVersion  = 3 // version of results.json, described by docs/results.schema.json
)

// File is one file of a run folder.
type File struct {
	Path   string `json:"path"` // path relative to the run folder, with slashes
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // checksum in hexadecimal digits
}

// CheckVersion returns an error if r was read from a results.json of another format version. The error names the file
// in the folder dir.
func (r *Results) CheckVersion(dir string) error {
	if r.Version == resultsVersion {
		return nil
	}
	return fmt.Errorf("%s has version %d and this lockbench reads version %d: run `lockbench report %s` to write it again",
		filepath.Join(dir, ResultsName), r.Version, resultsVersion, dir)
}

// WriteFile replaces a file atomically: it writes a temporary file and renames it. It creates missing folders.
func WriteFile(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // delete the temporary file after an error; after a rename, it no longer exists
	_, err = tmp.Write(text)
	if err := errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return os.Rename(tmp.Name(), file)
}

// WriteJSON writes a value as indented JSON and replaces the file atomically.
func WriteJSON(file string, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // keeps < > & readable
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(file), err)
	}
	return WriteFile(file, b.Bytes())
}

// SumFile returns the path, length and SHA-256 checksum of a file in a run folder. The name is a slash-separated path.
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

// Build reads a run folder, writes results.json, the histograms and the report, and returns the results. Cells without
// a judged trial are listed in Results.Gaps. A folder without a readable run.json is an error.
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
	if err := r.list(dir, ManifestName); err != nil {
		return nil, err
	}
	for _, c := range m.Plan {
		if err := r.readCell(dir, c); err != nil {
			return nil, fmt.Errorf("cell %s: %w", c.Dir, err)
		}
	}
	r.Tally = tallyOf(r)
	setStandings(r)
	return r, r.write(dir)
}

// readCell adds the results of one combination of lock, workload and fault to r, and writes the latency histograms.
func (r *Results) readCell(dir string, c Cell) error {
	names, err := TrialDirs(os.DirFS(dir), c.Dir)
	if err != nil {
		return err
	}
	var judged []*trialRead
	for _, name := range names {
		t, err := r.readTrial(dir, name)
		if err != nil {
			return err
		}
		if t.State == Judged {
			judged = append(judged, t)
		}
	}
	if len(judged) == 0 {
		reason := "no trial was judged"
		if len(names) == 0 {
			reason = "no trial was run"
		}
		r.Gaps = append(r.Gaps, Gap{Dir: c.Dir, Reason: reason})
		return nil
	}
	for _, t := range judged[1:] {
		if !slices.Equal(t.header.Expectations, judged[0].header.Expectations) {
			r.Warnings = append(r.Warnings, fmt.Sprintf("the expectations of %s differ from those of %s: the latter are used",
				t.Dir, judged[0].Dir))
		}
	}
	r.Cells = append(r.Cells, observe(c, judged)...)
	r.Measurements = append(r.Measurements, measure(c, judged))
	for _, t := range judged {
		if t.sale != nil {
			r.Sales = append(r.Sales, Sale{t.Dir, c.Lock, c.Deployment, c.Workload, *t.sale})
		}
	}
	return r.writeHistograms(dir, c, judged)
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
	return errors.Join(r.keep(dir, path.Join(c.Dir, "latency.hlog"), log), r.keep(dir, path.Join(c.Dir, "latency.hgrm"), text))
}

func (r *Results) keep(dir, name string, text []byte) error {
	if err := WriteFile(filepath.Join(dir, filepath.FromSlash(name)), text); err != nil {
		return err
	}
	return r.list(dir, name)
}

func (r *Results) list(dir, name string) error {
	file, err := SumFile(dir, name)
	r.Files = append(r.Files, file)
	return err
}

// write writes results.json and the report. It removes the viewer pages of an earlier report.
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
	files, err := p.files()
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	dir = filepath.Join(dir, "report")
	old, err := filepath.Glob(filepath.Join(dir, "*-[0-9][0-9][0-9].html"))
	for _, file := range old {
		err = errors.Join(err, os.Remove(file))
	}
	for name, text := range files {
		err = errors.Join(err, WriteFile(filepath.Join(dir, name), text))
	}
	return err
}
