package explore

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"lockbench/checker/properties"
	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/simulate/sim"
	"lockbench/internal/world/servers"
	"lockbench/internal/yamlfile"
	"lockbench/workloads"
)

// Version is the current version of case files. Decode also reads version 1, in which a field and an action had other
// names.
const Version = 2

// renamedInVersion2 replaces the names of version 1 of case files with the names of version 2.
var renamedInVersion2 = strings.NewReplacer(`"patience_ns"`, `"timeout_ns"`, `"give up"`, `"cancel"`)

// File is the content of a case file: a case and the property that it violates. Its schema is docs/case.schema.json.
type File struct {
	Version  int      `json:"lockbench_case"`
	Found    string   `json:"found,omitempty"`    // origin or meaning of the case, in one sentence
	Property string   `json:"property"`           // the violated property that the counterexample shows
	Violated []string `json:"violated,omitempty"` // all violated properties, in the order of the verdict
	Seed     uint64   `json:"seed,omitempty"`     // seed of the original case, before it was minimised
	Strategy string   `json:"strategy,omitempty"`
	Digest   string   `json:"digest,omitempty"` // digest of the recorded history; it may differ in another build of lockbench
	Rate     *Rate    `json:"rate,omitempty"`   // share of trials on real servers that showed the violation
	Case
}

// ReadFile reads and checks a case file. An error states the file and the mistake in one sentence.
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

// WriteFile writes a case file.
func WriteFile(path string, f File) error {
	text, err := f.Encode()
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// Encode returns f as indented JSON, in the current version of the file format.
func (f File) Encode() ([]byte, error) {
	f.Version = Version
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(f)
	return text.Bytes(), err
}

// Decode parses a case file and checks its names, numbers and fault plan.
func Decode(text []byte) (File, error) {
	var kind struct {
		Version *int `json:"lockbench_case"`
	}
	switch err := json.Unmarshal(text, &kind); {
	case err != nil: // the error is reported below
	case kind.Version == nil:
		return File{}, fmt.Errorf(`it is no case: want an object with "lockbench_case":%d`, Version)
	case *kind.Version == 1:
		text = []byte(renamedInVersion2.Replace(string(text)))
	case *kind.Version != Version:
		return File{}, fmt.Errorf("the case has version %d, and this lockbench reads versions 1 and %d", *kind.Version, Version)
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
	f.Version = Version
	if lock, err := lockNamed(f.Lock); err == nil && lock.Program != nil {
		f.Servers = cmp.Or(f.Servers, servers.Local) // a lock in another program cannot run in virtual time
	}
	return f, f.check()
}

// check returns an error if a name in the case is unknown, a parameter is invalid, or the fault plan is invalid.
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

// Limits on cases that are read from files, so that every trial ends.
const (
	longest     = time.Hour // maximum of each duration
	mostClients = 1000
	mostSteps   = 1000
)

// checkPlan returns an error if the fault plan is too large or does not suit the lock or the workload. Every client and
// every point of an iteration in the plan must exist. sim.Trial checks the servers.
func (c Case) checkPlan(t sim.Trial) error {
	lock, load := t.Lock, t.Workload
	switch {
	case c.Params.Clients > mostClients:
		return fmt.Errorf("%d clients: a case has at most %d", c.Params.Clients, mostClients)
	case len(c.Plan.Steps)+len(c.Plan.Gates)+len(c.Plan.Turns) > mostSteps:
		return fmt.Errorf("the plan is longer than %d steps, gates and turns", mostSteps)
	case c.Deployment == "" && lock.Deployment != "":
		return fmt.Errorf("the deployment of %s is missing", lock.Name)
	case load.Reentrant && !lock.Reentrant:
		return fmt.Errorf("the workload %s needs a re-entrant lock, and %s is none", load.Name, lock.Name)
	case load.Fenced && !lock.Fences:
		return fmt.Errorf("the workload %s needs a lock with fencing tokens, and %s has none", load.Name, lock.Name)
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
			return fmt.Errorf("%v is too long: a duration in a case is at most %v", d, longest)
		}
	}
	return nil
}

func (c Case) checkStep(s faults.Step) error {
	switch on := s.When.On; {
	case s.Do.Client < 0 || int(s.Do.Client) >= c.Params.Clients:
		return fmt.Errorf("it strikes client %d, and there are %d", s.Do.Client, c.Params.Clients)
	case s.Do.Process < -1 || s.Do.Process >= c.Params.Processes:
		return fmt.Errorf("it strikes process %d, and there are %d", s.Do.Process, c.Params.Processes)
	case on != nil && (on.Process < 0 || on.Process >= c.Params.Processes || on.Nth < 1):
		return fmt.Errorf("it waits for command %d of process %d, and there are %d processes", on.Nth, on.Process, c.Params.Processes)
	}
	return cmp.Or(c.checkMoment(s.When.At), c.checkMoment(s.Until))
}

// checkMoment returns an error if m names an unknown client, or an unknown point of the client's iteration. The zero
// value, which means no moment, is valid.
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

// Scaled returns a copy of the case with every duration multiplied by a factor. Clock drifts are rates and stay the
// same.
func (c Case) Scaled(by float64) Case {
	scaled := c.clone()
	for _, d := range scaled.times() {
		*d = time.Duration(float64(*d) * by)
	}
	for i, s := range c.Plan.Steps {
		if faults.IsDrift(s.Do.Verb) {
			scaled.Plan.Steps[i].Do.By = s.Do.By
		}
	}
	return scaled
}
