package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"lockbench/reports/run"
)

// The files of a bench folder, beside the trials.
const (
	PlanName    = "bench.json"
	ResultsName = "results.json"
)

// WritePlan writes bench.json, at once or not at all.
func WritePlan(dir string, p *Plan) error {
	if err := p.validate(); err != nil {
		return fmt.Errorf("%s: %w", PlanName, err)
	}
	return run.WriteJSON(filepath.Join(dir, PlanName), p)
}

// ReadPlan reads bench.json.
func ReadPlan(dir string) (*Plan, error) {
	file := filepath.Join(dir, PlanName)
	p := &Plan{}
	if err := readJSON(file, "lockbench_bench", p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// WriteTrial writes trial.json into the folder that the trial names.
func WriteTrial(dir string, t *Trial) error {
	if err := t.validate(); err != nil {
		return fmt.Errorf("%s: %w", path.Join(t.Dir, TrialName), err)
	}
	return run.WriteJSON(filepath.Join(dir, filepath.FromSlash(t.Dir), TrialName), t)
}

// ReadTrial reads the trial.json of the trial whose folder in the bench folder is name, with slashes.
func ReadTrial(dir, name string) (*Trial, error) {
	file := filepath.Join(dir, filepath.FromSlash(name), TrialName)
	t := &Trial{}
	if err := readJSON(file, "lockbench_trial", t); err != nil {
		return nil, err
	}
	if err := t.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if t.Dir != name { // a folder that was moved or copied: its figures may be of something else
		return nil, fmt.Errorf("%s: says that it belongs in %s", file, t.Dir)
	}
	return t, nil
}

// WriteResults writes results.json: the same results always give the same bytes.
func WriteResults(dir string, r *Results) error {
	return run.WriteJSON(filepath.Join(dir, ResultsName), r)
}

// readJSON reads a file of ours. The version is looked at first, so that a newer file is called newer, whatever else it
// holds.
func readJSON(file, versionField string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := checkVersion(text, versionField); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func checkVersion(text []byte, field string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	var version int
	if err := json.Unmarshal(fields[field], &version); err != nil || version < 1 {
		return fmt.Errorf("no version in %q: it is no such file of lockbench", field)
	}
	if version > Version {
		return fmt.Errorf("is of version %d and this lockbench reads up to %d: use the newer one that wrote it", version, Version)
	}
	return nil
}
