package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
)

// openApart starts a worker process for each client process. It starts another worker for the check at the end of the
// trial.
func (t *trial) openApart(ctx context.Context) error {
	t.world.scene = scene(t.Cell, t.Params)
	if t.stage == nil {
		var err error
		if t.stage, err = newStage(t.program(t.Lock)); err != nil {
			return err
		}
		t.later(t.stage.close)
	}
	return t.stage.prepare(ctx, t)
}

// program returns the program that runs the lock of the cell in a separate process.
func (s Setting) program(l impls.Impl) impls.Program {
	if l.Program != nil {
		return *l.Program
	}
	return impls.Program{Command: s.Worker}
}

// OwnWorker returns the command that runs a built-in lock in a separate process: this program with the argument "worker".
func OwnWorker() ([]string, error) {
	self, err := os.Executable()
	return []string{self, "worker"}, err
}

func subtract(before, after map[string]float64) map[string]float64 {
	for name, n := range before {
		after[name] -= n
	}
	return after
}

// Deployed returns an error if a lock cannot run on a deployment.
func Deployed(l impls.Impl, on string) error {
	known := stores.Deployments(l.Store)
	several := []string{servers.Five, servers.FiveDelayed}
	switch {
	case l.Store == "":
		return fmt.Errorf("%s uses no server", l.Name)
	case !slices.Contains(known, on):
		return fmt.Errorf("there is no deployment %q of %s (there are %s)", on, l.Store, strings.Join(known, ", "))
	case on == servers.Cluster && !slices.ContainsFunc(l.Expect, func(e impls.Expectation) bool { return e.Deployment == on }):
		return fmt.Errorf("%s has no expectations on a cluster, where all keys of a command must be in one slot", l.Name)
	case slices.Contains(several, on) != slices.Contains(several, l.Deployment):
		return fmt.Errorf("%s is made for the deployment %s, and %s has another number of servers", l.Name, l.Deployment, on)
	}
	return nil
}

// On sets the deployment of every cell in a plan and returns the plan. A cell is a combination of lock, workload and
// fault.
func On(deployment string, plan []Cell) []Cell {
	for i := range plan {
		plan[i].Deployment = deployment
	}
	return plan
}

// Reaches returns an error if lockbench cannot inject the trial's server fault. The parameter how is the start method of
// the servers. In containers, lockbench can pause and kill servers, but not inject other server faults.
func (c Cell) Reaches(how string) error {
	how = stores.Resolve(how, c.Lock.Store)
	if c.Fault.Kind != faults.Servers || how == servers.Local {
		return nil
	}
	if how == servers.Docker && c.onlyDoes(faults.Freeze, faults.Down) {
		return nil
	}
	return fmt.Errorf("%s needs servers of lockbench's own: %s, and --servers local", c.Fault.Name, stores.Provide(c.Lock.Store))
}

// unreplicated returns an error if the fault promotes a replica and the servers have none.
func (c Cell) unreplicated() error {
	on := c.On()
	if on == servers.Replica && c.Lock.Deployment == on && slices.Contains(c.verbs(), faults.Unlink) {
		return errors.New("it grants only what its one replica has, so no replica can lack a grant")
	}
	if replicas[on] > 0 || !slices.ContainsFunc(c.verbs(), func(v faults.Verb) bool { return v == faults.Unlink || v == faults.Failover }) {
		return nil
	}
	return fmt.Errorf("it needs a replica, and the deployment %s has none", on)
}

func (c Cell) verbs() (all []faults.Verb) {
	if c.faulty() {
		for _, s := range c.Fault.Plan(faults.Scene{TTL: time.Second, Deployment: c.On(), Processes: 3}).Steps {
			all = append(all, s.Do.Verb)
		}
	}
	return all
}

func (c Cell) onlyDoes(verbs ...faults.Verb) bool {
	return !slices.ContainsFunc(c.verbs(), func(v faults.Verb) bool { return !slices.Contains(verbs, v) })
}

// unclustered returns an error if the cell runs on a cluster with an unsupported server fault. Only failovers and server
// pauses are supported.
func (c Cell) unclustered() error {
	if c.On() != servers.Cluster || c.Fault.Kind != faults.Servers {
		return nil
	}
	if c.onlyDoes(faults.Unlink, faults.Failover, faults.Freeze) {
		return nil
	}
	return errors.New("of the server faults only failover, failover-synced and server-pause apply to a cluster")
}
