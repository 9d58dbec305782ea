package explore

import (
	"fmt"
	"slices"
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// The most that a case kept in a file may ask for: beyond, running it would take for ever.
const (
	longest     = time.Hour // any time in it
	mostClients = 1000
	mostSteps   = 1000
)

// checkPlan says what in a case speaks of something that there is not. What a step of a plan can do to servers is
// for the trial to say.
func (c Case) checkPlan() error {
	p := c.Params
	switch {
	case p.Clients > mostClients:
		return fmt.Errorf("%d clients: a case has at most %d", p.Clients, mostClients)
	case len(c.Plan.Steps)+len(c.Plan.Gates)+len(c.Plan.Turns) > mostSteps:
		return fmt.Errorf("the plan is longer than %d steps, gates and turns", mostSteps)
	}
	if err := c.checkUse(); err != nil {
		return err
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

// checkUse says why the lock cannot be used so.
func (c Case) checkUse() error {
	lock, err := lockNamed(c.Lock)
	if err != nil {
		return err
	}
	loads := workloads.All()
	w := loads[slices.IndexFunc(loads, func(w workloads.Workload) bool { return w.Name == c.Workload })]
	switch {
	case c.Deployment == "" && lock.Deployment != "":
		return fmt.Errorf("it does not say what %s is deployed on: want a deployment", lock.Name)
	case w.Reentrant && !lock.Reentrant:
		return fmt.Errorf("the workload %s needs a lock that grants again to its owner, and %s does not", w.Name, lock.Name)
	case w.Fenced && !lock.Fences:
		return fmt.Errorf("the workload %s needs a lock that mints fencing tokens, and %s does not", w.Name, lock.Name)
	}
	return nil
}

func (c Case) checkStep(s faults.Step) error {
	if s.Do.Client < 0 || int(s.Do.Client) >= c.Params.Clients {
		return fmt.Errorf("it befalls client %d, and there are %d", s.Do.Client, c.Params.Clients)
	}
	if s.Do.Process < -1 || s.Do.Process >= c.Params.Processes {
		return fmt.Errorf("it befalls process %d, and there are %d", s.Do.Process, c.Params.Processes)
	}
	if on := s.When.On; on != nil && (on.Process < 0 || on.Process >= c.Params.Processes || on.Nth < 1) {
		return fmt.Errorf("it waits for command %d of process %d, and there are %d processes", on.Nth, on.Process, c.Params.Processes)
	}
	if err := c.checkMoment(s.When.At); err != nil {
		return err
	}
	return c.checkMoment(s.Until)
}

// checkMoment takes a moment that may come, or none.
func (c Case) checkMoment(m workloads.Moment) error {
	points := []workloads.Point{workloads.Asking, workloads.Granted, workloads.Working, workloads.Releasing}
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

// times returns all times of a case.
func (c *Case) times() []*time.Duration {
	p := &c.Params
	all := []*time.Duration{&p.Duration, &p.Grace, &p.TTL, &p.Wait, &p.Hold, &p.Think}
	for i := range c.Plan.Gates {
		all = append(all, &c.Plan.Gates[i].Patience)
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
