package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"lockbench/reports/run"
)

// Names of the files at the top of a bench folder.
const (
	PlanName    = "bench.json"
	ResultsName = "results.json"
)

// WritePlan writes bench.json atomically.
func WritePlan(dir string, p *Plan) error { return write(dir, PlanName, p) }

// ReadPlan reads bench.json.
func ReadPlan(dir string) (*Plan, error) {
	p := &Plan{}
	return p, read(filepath.Join(dir, PlanName), "lockbench_bench", p)
}

// WriteTrial writes trial.json into the folder t.Dir, which is relative to dir.
func WriteTrial(dir string, t *Trial) error { return write(dir, path.Join(t.Dir, TrialName), t) }

// ReadTrial reads trial.json from a trial folder. The name is the path of the trial folder relative to dir, with
// slashes.
func ReadTrial(dir, name string) (*Trial, error) {
	file, t := filepath.Join(dir, filepath.FromSlash(name), TrialName), &Trial{}
	err := read(file, "lockbench_trial", t)
	if err == nil && t.Dir != name { // an error, because the folder was moved or renamed
		err = fmt.Errorf("%s: says that it belongs in %s", file, t.Dir)
	}
	return t, err
}

// WriteResults writes results.json. Equal results give identical files.
func WriteResults(dir string, r *Results) error {
	return run.WriteJSON(filepath.Join(dir, ResultsName), r)
}

type validator interface{ validate() error }

func write(dir, name string, v validator) error {
	if err := v.validate(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return run.WriteJSON(filepath.Join(dir, filepath.FromSlash(name)), v)
}

// read decodes a JSON file and refuses unknown fields. It checks the version first, because another version may have
// other fields.
func read(file, versionField string, into validator) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err = checkVersion(text, versionField); err == nil {
		err = d.Decode(into)
	}
	if err == nil {
		err = into.validate()
	}
	if err != nil {
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
	if version != Version {
		return fmt.Errorf("the file has version %d and this lockbench reads version %d: measure again, or use the lockbench that wrote it", version, Version)
	}
	return nil
}

// validate returns an error if the plan is not consistent. Names must be unique and valid as folder names, and indexes
// must be in range.
func (p *Plan) validate() error {
	if p.Version != Version {
		return fmt.Errorf("version %d, want %d", p.Version, Version)
	}
	subjects, points, pairs := map[string]bool{}, map[string]bool{}, map[Pair]bool{}
	for _, s := range p.Subjects {
		if err := folderName("subject", s.Name, subjects); err != nil {
			return err
		}
		if _, known := kinds[s.Role]; !known {
			return fmt.Errorf("subject %s: unknown role %q", s.Name, s.Role)
		}
	}
	for _, pt := range p.Points {
		if err := folderName("point", pt.ID, points); err != nil {
			return err
		}
	}
	for _, pair := range p.Pairs {
		if pair.Subject < 0 || pair.Subject >= len(p.Subjects) || pair.Point < 0 || pair.Point >= len(p.Points) {
			return fmt.Errorf("pair {subject %d, point %d}: there are %d subjects and %d points", pair.Subject, pair.Point, len(p.Subjects), len(p.Points))
		}
		if pairs[pair] {
			return fmt.Errorf("pair {subject %d, point %d} is there twice", pair.Subject, pair.Point)
		}
		pairs[pair] = true
	}
	return nil
}

// folderName returns an error if a name is a duplicate or not valid as the name of a folder.
func folderName(what, name string, seen map[string]bool) error {
	if name == "." || strings.ContainsAny(name, `/\`) || !filepath.IsLocal(name) {
		return fmt.Errorf("%s %q: the name is no folder's", what, name)
	}
	if seen[name] {
		return fmt.Errorf("%s %s is there twice", what, name)
	}
	seen[name] = true
	return nil
}

func (t *Trial) validate() error {
	switch {
	case t.Version != Version:
		return fmt.Errorf("version %d, want %d", t.Version, Version)
	case !localDir(t.Dir):
		return fmt.Errorf("dir %q: want <point>/<subject>/<block>", t.Dir)
	case t.Dir != path.Join(t.Point, t.Subject, path.Base(t.Dir)):
		return fmt.Errorf("dir %s: it is not that of %s at %s", t.Dir, t.Subject, t.Point)
	case t.Block < 0 || t.Order < 0:
		return errors.New("block and order begin at 0")
	}
	for name := range t.Figures {
		if _, ok := FindMetric(name); !ok {
			return fmt.Errorf("figure %q: this lockbench knows no such metric", name)
		}
	}
	if t.Judged != nil && t.Judged.History != "" && !localDir(t.Judged.History) {
		return fmt.Errorf("history %q: it leads out of the folder", t.Judged.History)
	}
	return nil
}

// localDir reports whether a slash-separated path is relative, clean and without "..".
func localDir(dir string) bool {
	return dir == path.Clean(dir) && !strings.Contains(dir, `\`) && filepath.IsLocal(filepath.FromSlash(dir))
}
