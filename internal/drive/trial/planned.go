package trial

import (
	"fmt"
	"slices"
	"time"

	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

const (
	// shortestLease is the shortest lease on real servers: with less, what a machine does by itself looks like a fault.
	shortestLease = 400 * time.Millisecond
	mostProcesses = 16 // of clients, each with its network
)

// Planned is the cell of a plan that is no fault of the table: what goes wrong is the plan as it stands, and the
// parameters are the ones given, whatever the run's are. The seed is the run's, so that each trial has its own. A trial
// counts though a step did not come about: chance decides what a plan of several meets, and a violation is one. The error says, in one sentence, what real processes and servers cannot do.
func Planned(name string, lock impls.Impl, deployment string, w workloads.Workload, p workloads.Params, plan faults.Plan) (Cell, error) {
	w.Adapt = nil // the parameters were adapted when the plan was made
	c := Cell{Lock: lock, Deployment: deployment, Workload: w, Partly: true, Fault: faults.Fault{
		Name: name, Kind: kindOf(plan),
		Shape: func(of *workloads.Params, _ faults.Scene) {
			seed := of.Seed
			*of = p
			of.Seed = seed
		},
		Plan: func(faults.Scene) faults.Plan { return plan },
	}}
	if keeps(plan) && c.On() == servers.Single {
		c.Deployment = servers.Durable
	}
	if err := c.refused(p, plan); err != nil {
		return Cell{}, fmt.Errorf("real servers cannot show it: %w", err)
	}
	return c, nil
}

func keeps(plan faults.Plan) bool {
	return slices.ContainsFunc(plan.Steps, func(s faults.Step) bool { return s.Do.Keeps })
}

// kindOf is the gravest kind of thing that a plan does: servers of our own are needed for what befalls them.
func kindOf(plan faults.Plan) faults.Kind {
	kind := faults.Clients
	for _, s := range plan.Steps {
		switch s.Do.Verb {
		case faults.Stall, faults.Abandon, faults.GiveUp, faults.Pause, faults.Kill:
		case faults.Delay, faults.Lose, faults.Cut, faults.Slow, faults.Mute:
			kind = faults.Network
		default:
			return faults.Servers
		}
	}
	return kind
}

func (c Cell) refused(p workloads.Params, plan faults.Plan) error {
	switch {
	case len(c.Lock.Worker) == 0 && c.Lock.Store == "":
		return fmt.Errorf("%s talks to no server", c.Lock.Name)
	case p.Processes > mostProcesses:
		return fmt.Errorf("%d processes are more than the %d that one machine runs side by side", p.Processes, mostProcesses)
	case p.TTL < shortestLease:
		return fmt.Errorf("a lease of %v is too short for a real machine: want at least %v, which a larger scale gives", p.TTL, shortestLease)
	case p.Hold > p.TTL*9/10:
		return fmt.Errorf("work of %v leaves no time of a lease of %v, and whoever is late by itself is no evidence", p.Hold, p.TTL)
	}
	for _, s := range plan.Steps {
		if err := c.refusedStep(s.Do); err != nil {
			return err
		}
	}
	return nil
}

func (c Cell) refusedStep(a faults.Action) error {
	on := c.On()
	asked := faults.Scene{Deployment: on}.Servers()
	replicas := map[string]int{servers.Replica: 1, servers.TwoReplicas: 2, servers.Cluster: 1, servers.Sentinel: 2}[on]
	switch a.Verb {
	case faults.Drift:
		return fmt.Errorf("%s: the clock of a server can be set, and its rate cannot", a.Verb)
	case faults.Unlink, faults.Failover:
		if replicas == 0 {
			return fmt.Errorf("%s needs a replica, and the deployment %s has none", a.Verb, on)
		}
		if slices.ContainsFunc(a.Nodes, func(n int) bool { return n < 1 || n > replicas }) || len(a.Nodes) == 0 {
			return fmt.Errorf("%s befalls the servers %v, and the replicas of %s are 1 to %d", a.Verb, a.Nodes, on, replicas)
		}
		return nil
	case faults.Restart:
		if a.Keeps != (on == servers.Durable) {
			return fmt.Errorf("%s with keeps:%t: on the deployment %s it comes back with keeps:%t", a.Verb, a.Keeps, on, on == servers.Durable)
		}
	}
	if i := slices.IndexFunc(a.Nodes, func(n int) bool { return n < 0 || n >= asked }); i >= 0 {
		return fmt.Errorf("%s befalls server %d, and there are %d", a.Verb, a.Nodes[i], asked)
	}
	return nil
}
