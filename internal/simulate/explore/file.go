package explore

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"lockbench/checker/properties"
	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/yamlfile"
	"lockbench/workloads"
)

// Version is the version of the case files that are written here, and the only one that is read.
const Version = 1

// File is a case that was found to violate a property, as it is kept: docs/case.schema.json has its shape.
type File struct {
	Version  int      `json:"lockbench_case"`
	Found    string   `json:"found,omitempty"`    // how, or what it shows: one sentence
	Property string   `json:"property"`           // the one that it is kept for
	Violated []string `json:"violated,omitempty"` // all that were, in the order of the judge's table
	Seed     uint64   `json:"seed,omitempty"`     // what it was found from, before it was made small
	Strategy string   `json:"strategy,omitempty"`
	Digest   string   `json:"digest,omitempty"` // of what was recorded; another one means another build, or chance
	Case
}

// Unknown is a name that is in no table: the error says which, and Known what there is.
type Unknown struct {
	What, Name string
	Known      []string
}

func (u *Unknown) Error() string { return fmt.Sprintf("unknown %s %q", u.What, u.Name) }

// ReadFile reads a case file. The error is one sentence that names the file and what is wrong with it.
func ReadFile(path string) (File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return File{}, err
	}
	f, err := Decode(text)
	if err != nil {
		return f, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// WriteFile writes a case file, which ReadFile reads as the same.
func WriteFile(path string, f File) error {
	text, err := f.Encode()
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// Encode is the case as text: indented, its fields always in the same order.
func (f File) Encode() ([]byte, error) {
	f.Version = Version
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(f)
	return text.Bytes(), err
}

// Decode reads a case, and finds out what is wrong with it before anything is run.
func Decode(text []byte) (File, error) {
	var kind struct {
		Version *int `json:"lockbench_case"`
	}
	switch err := json.Unmarshal(text, &kind); {
	case err != nil: // told below
	case kind.Version == nil:
		return File{}, fmt.Errorf(`it is no case: want an object with "lockbench_case":%d`, Version)
	case *kind.Version != Version:
		return File{}, fmt.Errorf("the case has version %d, and this lockbench reads version %d", *kind.Version, Version)
	}
	var f File
	err := yamlfile.DecodeJSON(text, &f)
	var field *yamlfile.UnknownField
	switch {
	case errors.As(err, &field):
		return File{}, &Unknown{"field", field.Name, field.Known}
	case err != nil:
		return File{}, err
	}
	return f, f.check()
}

// check holds names to the tables, and what the plan speaks of to what there is.
func (f File) check() error {
	var locks, loads, judged []string
	for _, l := range catalog.All() {
		locks = append(locks, l.Name)
	}
	for _, w := range workloads.All() {
		loads = append(loads, w.Name)
	}
	for _, p := range properties.All() {
		judged = append(judged, p.Name)
	}
	err := cmp.Or(known("lock", f.Lock, locks), known("workload", f.Workload, loads), known("property", f.Property, judged))
	for _, p := range f.Violated {
		err = cmp.Or(err, known("property", p, judged))
	}
	if err != nil {
		return err
	}
	if err := cmp.Or(f.Params.Check(), impls.CheckParams(f.LockParams), f.checkPlan()); err != nil {
		return err
	}
	_, err = f.Trial()
	return err
}

func known(what, name string, all []string) error {
	if slices.Contains(all, name) {
		return nil
	}
	return &Unknown{what, name, all}
}
