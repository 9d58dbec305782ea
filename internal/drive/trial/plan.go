// Package trial runs trials: it starts servers, runs clients, records every operation and judges the history.
// Setting.Try takes a Cell, writes a folder with a history, a verdict and counters, and returns an Outcome.
package trial

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/shop"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/workloads"
)

// Cell is one combination of lock, deployment, workload and fault, for which trials are run.
type Cell struct {
	Lock       impls.Impl
	Deployment string // deployment of the lock; "": the one that the fault requires, or else the lock's default
	Workload   workloads.Workload
	Fault      faults.Fault
	Scenario   string // name of the scenario; "": none
	Partly     bool   // whether to keep a trial in which some fault steps were not carried out
}

// On returns the deployment on which the lock runs. It returns "" if the lock uses no server.
func (c Cell) On() string {
	switch {
	case c.Deployment != "" || c.Lock.Store == "":
		return c.Deployment
	case c.Fault.On != nil:
		return c.Fault.On(c.Lock.Deployment)
	}
	return c.Lock.Deployment
}

// LockName returns the name of the lock. If the deployment is not the default, @ and the deployment follow.
func (c Cell) LockName() string {
	if on := c.On(); on != c.Lock.Deployment {
		return c.Lock.Name + "@" + on
	}
	return c.Lock.Name
}

// Dir returns the slash-separated path of the cell's folder within a run folder.
func (c Cell) Dir() string {
	return path.Join(c.Scenario, c.LockName(), c.Workload.Name+"+"+c.Fault.Name)
}

func (c Cell) String() string { return c.LockName() + " " + c.Workload.Name + "+" + c.Fault.Name }

func (c Cell) faulty() bool { return c.Fault.Plan != nil }

// InProcesses reports whether the clients run in separate processes. This is the case under a fault, or if the lock is an
// external program.
func (c Cell) InProcesses() bool { return c.faulty() || c.Lock.Program != nil }

// Plan returns a cell for each supported combination of lock, workload and fault, in the order of the arguments. A lock
// that uses no server is not combined with faults.
func Plan(locks []impls.Impl, loads []workloads.Workload, injected []faults.Fault) []Cell {
	var plan []Cell
	for _, l := range locks {
		for _, w := range loads {
			if w.Reentrant && !l.Reentrant || w.Fenced && !l.Fences || w.Special && l.Store == "" ||
				w.Served && l.Program != nil {
				continue
			}
			control := false
			for _, f := range injected {
				switch {
				case f.Kind != faults.Nothing && (w.Served || f.NotFor(l) != "" || w.Special && !w.Fenced):
					continue
				case f.Kind != faults.Nothing && l.Store == "":
					f = faults.None()
					if control {
						continue
					}
				}
				control = true
				plan = append(plan, Cell{Lock: l, Workload: w, Fault: f})
			}
		}
	}
	return plan
}

// Kills returns the cells that measure how long a lock remains unavailable after its holder is killed. There is one cell
// for each lock that is expected to recover.
func Kills(locks []impls.Impl) []Cell {
	const fault, workload = "holder-kill", "counter"
	locks = slices.DeleteFunc(slices.Clone(locks), func(l impls.Impl) bool {
		expected := slices.ContainsFunc(l.Expect, func(e impls.Expectation) bool { return e.Fault == fault && e.Property == "recovery" })
		return l.Store == "" || !expected
	})
	loads := slices.DeleteFunc(workloads.All(), func(w workloads.Workload) bool { return w.Name != workload })
	injected := slices.DeleteFunc(faults.All(), func(f faults.Fault) bool { return f.Name != fault })
	return Plan(locks, loads, injected)
}

// Usual removes from a plan the cells that run only on request. A user requests one of these cells by naming its lock
// and workload.
func Usual(plan []Cell) []Cell {
	return slices.DeleteFunc(plan, func(c Cell) bool {
		return c.Workload.Usual != nil && !slices.Contains(c.Workload.Usual, c.Lock.Name)
	})
}

// Fitting returns the cells that the servers support. The parameter how is the start method of the servers. For the
// omitted cells, Fitting returns the reasons.
func Fitting(plan []Cell, how string, remote servers.Remote) (fits []Cell, reasons []string) {
	for _, c := range plan {
		err := c.unfit(how, remote)
		if err == nil {
			fits = append(fits, c)
		} else if reason := fmt.Sprintf("%s is left out: %v", c.leftOut(err), err); !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	return fits, reasons
}

// unfit returns an error if the cell cannot run on the servers. The parameter how is the start method of the servers,
// such as docker.
func (c Cell) unfit(how string, remote servers.Remote) error {
	if c.Lock.Store != "" {
		if err := stores.Supported(c.spec(how, remote)); err != nil {
			return err
		}
		if c.Lock.Tracks && stores.Resolve(how, c.Lock.Store) == servers.Embedded {
			return fmt.Errorf("the emulator does not support client-side caching: %w", servers.ErrUnsupported)
		}
		if err := c.unreplicated(); err != nil {
			return err
		}
		if err := c.Reaches(how); err != nil {
			return err
		}
		if err := c.unclustered(); err != nil {
			return err
		}
		if c.InProcesses() && remote.TLS(c.Lock.Store) {
			return errors.New("faults cannot be injected into a TLS connection")
		}
	}
	if c.Workload.Gated {
		return shop.GateSupported()
	}
	return nil
}

// leftOut returns the name of the store or lock that a plan omits. If the store is not installed (error why), leftOut
// returns its name. Otherwise it returns the lock's name, followed by the workload or fault that may be the reason.
func (c Cell) leftOut(why error) string {
	if errors.As(why, new(servers.Absent)) {
		return c.Lock.Store
	}
	what := c.LockName()
	if c.Workload.Gated {
		what += " in " + c.Workload.Name
	}
	if c.faulty() {
		what += " under " + c.Fault.Name
	}
	return what
}

func (c Cell) spec(how string, remote servers.Remote) servers.Spec {
	return servers.Spec{How: how, Store: c.Lock.Store, Deployment: c.On(), Remote: remote, Clock: slices.Contains(c.verbs(), faults.Jump)}
}

func (c Cell) header(s Setting, server string) histories.Header {
	p := s.Params
	h := c.Workload.Header(c.Lock, p)
	h.Run, h.Server, h.Simulated = s.Run, server, !c.InProcesses() && !c.Workload.Served
	h.Deployment, h.Fault, h.Expectations = c.On(), c.Fault.Name, c.expectations(s)
	maps.Copy(h.Params, map[string]string{"keys": fmt.Sprint(p.Keys), "distribution": p.Spread.String(), "wait": p.Wait.String()})
	if c.Workload.Served {
		delete(h.Params, "register") // a shop's stock is in Redis, which does not check fencing tokens
		h.ReportsLoss = false
	}
	for name, value := range s.LockParams {
		h.Params["lock."+name] = value
	}
	if late := stores.ExpiryDelay(c.Lock.Store); late > 0 {
		h.Bound = histories.Nanos(p.TTL + late)
	}
	return h
}

const (
	// shortestLease is the shortest lease on real servers. If a lease were shorter, ordinary delays of the machine would
	// look like faults.
	shortestLease = 400 * time.Millisecond
	mostProcesses = 16 // maximum number of client processes; each needs proxies
)

// Planned returns a Cell that injects a fault plan instead of a built-in fault. The parameters p replace the parameters
// of the run. Only the seed still differs between trials. A trial is kept even if a step of the plan was not carried
// out. Planned returns an error if real processes and servers do not support an action of the plan.
func Planned(name string, lock impls.Impl, deployment string, w workloads.Workload, p workloads.Params, plan faults.Plan) (Cell, error) {
	w.Adapt = nil // the caller has already adapted p to the workload
	c := Cell{Lock: lock, Deployment: deployment, Workload: w, Partly: true, Fault: faults.Fault{
		Name: name, Kind: plan.Kind(),
		Shape: func(of *workloads.Params, _ faults.Scene) {
			seed := of.Seed
			*of = p
			of.Seed = seed
		},
		Plan: func(faults.Scene) faults.Plan { return plan },
	}}
	keeps := slices.ContainsFunc(plan.Steps, func(s faults.Step) bool { return s.Do.Keeps })
	if keeps && c.On() == servers.Single {
		c.Deployment = servers.Durable
	}
	if err := c.refused(p, plan); err != nil {
		return Cell{}, fmt.Errorf("real servers cannot show it: %w", err)
	}
	return c, nil
}

func (c Cell) refused(p workloads.Params, plan faults.Plan) error {
	switch {
	case c.Lock.Program == nil && c.Lock.Store == "":
		return fmt.Errorf("%s uses no server", c.Lock.Name)
	case p.Processes > mostProcesses:
		return fmt.Errorf("%d processes are more than the %d that one machine runs side by side", p.Processes, mostProcesses)
	case p.TTL < shortestLease:
		return fmt.Errorf("a lease of %v is too short for a real machine: want at least %v, with a larger --scale", p.TTL, shortestLease)
	case p.Hold > p.TTL*9/10 && !c.Lock.Renews:
		return fmt.Errorf("a hold of %v leaves no slack in a lease of %v: a late holder would prove nothing", p.Hold, p.TTL)
	}
	for _, s := range plan.Steps {
		if err := c.refusedStep(s.Do); err != nil {
			return err
		}
	}
	if why := c.Fault.NotFor(c.Lock); why != "" {
		return fmt.Errorf("the plan does not apply to %s: %s", c.Lock.Name, why)
	}
	return nil
}

// replicas maps a deployment to the number of replicas that can take over from its primary.
var replicas = map[string]int{servers.Replica: 1, servers.TwoReplicas: 2, servers.Cluster: 1, servers.Sentinel: 2}

func (c Cell) refusedStep(a faults.Action) error {
	on := c.On()
	asked := faults.Scene{Deployment: on}.Servers()
	if c.Lock.Store != "redis" && faults.RedisOnly(a.Verb) {
		return fmt.Errorf("%s is supported for Redis only", a.Verb)
	}
	switch a.Verb {
	case faults.ClientJump, faults.ClientDrift:
		if why := faults.FixedClock(c.Lock); why != "" {
			return fmt.Errorf("%s: %s", a.Verb, why)
		}
	case faults.ReadOnly:
		if replicas[on] > 0 {
			return fmt.Errorf("%s would make the replicas of the deployment %s follow another server", a.Verb, on)
		}
	case faults.Drift:
		return fmt.Errorf("%s: the rate of a server's clock cannot be changed", a.Verb)
	case faults.Unlink, faults.Failover:
		if replicas[on] == 0 {
			return fmt.Errorf("%s needs a replica, and the deployment %s has none", a.Verb, on)
		}
		if slices.ContainsFunc(a.Nodes, func(n int) bool { return n < 1 || n > replicas[on] }) || len(a.Nodes) == 0 {
			return fmt.Errorf("%s names the servers %v, and the replicas of %s are 1 to %d", a.Verb, a.Nodes, on, replicas[on])
		}
		return nil
	case faults.Restart:
		if a.Keeps != (on == servers.Durable) {
			return fmt.Errorf("%s with keeps:%t: on the deployment %s a restart has keeps:%t", a.Verb, a.Keeps, on, on == servers.Durable)
		}
	}
	if i := slices.IndexFunc(a.Nodes, func(n int) bool { return n < 0 || n >= asked }); i >= 0 {
		return fmt.Errorf("%s names server %d, and there are %d", a.Verb, a.Nodes[i], asked)
	}
	return nil
}
