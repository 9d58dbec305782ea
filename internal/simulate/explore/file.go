package explore

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"lockbench/checker/properties"
	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/simulate/sim"
	"lockbench/internal/yamlfile"
	"lockbench/workloads"
)

// Version is the version of the case files that are written here, and the only one that is read.
const Version = 1

// File is a case that was found to violate a property, as kept in a file: docs/case.schema.json has its shape.
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

// Encode returns the case as text: indented, its fields always in the same order.
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

// check compares the names with the tables, and what the plan refers to with what there is.
func (f File) check() error {
	t, err := f.Trial()
	var unknown *Unknown
	if errors.As(err, &unknown) {
		return err
	}
	for _, p := range append([]string{f.Property}, f.Violated...) {
		if _, err := named("property", properties.All(), p, func(p properties.Property) string { return p.Name }); err != nil {
			return err
		}
	}
	return cmp.Or(f.Params.Check(), impls.CheckParams(f.LockParams), f.checkPlan(t), err)
}

// The most that a case kept in a file may ask for: beyond, running it would take for ever.
const (
	longest     = time.Hour // any time in it
	mostClients = 1000
	mostSteps   = 1000
)

// checkPlan returns an error for what the case refers to and does not exist. What a step can do to servers is checked by
// the trial.
func (c Case) checkPlan(t sim.Trial) error {
	lock, load := t.Lock, t.Workload
	switch {
	case c.Params.Clients > mostClients:
		return fmt.Errorf("%d clients: a case has at most %d", c.Params.Clients, mostClients)
	case len(c.Plan.Steps)+len(c.Plan.Gates)+len(c.Plan.Turns) > mostSteps:
		return fmt.Errorf("the plan is longer than %d steps, gates and turns", mostSteps)
	case c.Deployment == "" && lock.Deployment != "":
		return fmt.Errorf("it does not say what %s is deployed on: want a deployment", lock.Name)
	case load.Reentrant && !lock.Reentrant:
		return fmt.Errorf("the workload %s needs a lock that grants again to its owner, and %s does not", load.Name, lock.Name)
	case load.Fenced && !lock.Fences:
		return fmt.Errorf("the workload %s needs a lock that mints fencing tokens, and %s does not", load.Name, lock.Name)
	}
	for i, g := range c.Plan.Gates {
		if err := c.checkMoment(g.Until); err != nil {
			return fmt.Errorf("gate %d: %w", i+1, err)
		}
	}
	for i, s := range c.Plan.Steps {
		if err := c.checkStep(s); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	for _, d := range c.times() {
		if d.Abs() > longest {
			return fmt.Errorf("%v: no time in a case may be longer than %v", d, longest)
		}
	}
	return nil
}

func (c Case) checkStep(s faults.Step) error {
	switch on := s.When.On; {
	case s.Do.Client < 0 || int(s.Do.Client) >= c.Params.Clients:
		return fmt.Errorf("it befalls client %d, and there are %d", s.Do.Client, c.Params.Clients)
	case s.Do.Process < -1 || s.Do.Process >= c.Params.Processes:
		return fmt.Errorf("it befalls process %d, and there are %d", s.Do.Process, c.Params.Processes)
	case on != nil && (on.Process < 0 || on.Process >= c.Params.Processes || on.Nth < 1):
		return fmt.Errorf("it waits for command %d of process %d, and there are %d processes", on.Nth, on.Process, c.Params.Processes)
	}
	return cmp.Or(c.checkMoment(s.When.At), c.checkMoment(s.Until))
}

// checkMoment accepts the zero moment, and one that may come.
func (c Case) checkMoment(m workloads.Moment) error {
	switch {
	case m == workloads.Moment{}:
		return nil
	case m.Client < 0 || int(m.Client) >= c.Params.Clients:
		return fmt.Errorf("a moment is of client %d, and there are %d", m.Client, c.Params.Clients)
	case !slices.Contains(points, m.Point):
		return fmt.Errorf("a moment is at the point %q: there are %v", m.Point, points)
	}
	return nil
}

func (c *Case) times() []*time.Duration {
	p := &c.Params
	all := []*time.Duration{&p.Duration, &p.Grace, &p.TTL, &p.Wait, &p.Hold, &p.Think}
	for i := range c.Plan.Gates {
		all = append(all, &c.Plan.Gates[i].Timeout)
	}
	for i := range c.Plan.Steps {
		all = append(all, timesOf(&c.Plan.Steps[i])...)
	}
	return all
}

// Scaled returns the case with every time multiplied, except by how much a clock drifts in a second.
func (c Case) Scaled(by float64) Case {
	scaled := c.clone()
	for _, d := range scaled.times() {
		*d = time.Duration(float64(*d) * by)
	}
	for i, s := range c.Plan.Steps {
		if s.Do.Verb == faults.Drift {
			scaled.Plan.Steps[i].Do.By = s.Do.By
		}
	}
	return scaled
}
