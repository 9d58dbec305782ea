package trial

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// plannedFor calls Planned with a fault plan of a single action. The lock supports the deployment.
func plannedFor(t *testing.T, deployment string, p workloads.Params, do faults.Action) (Cell, error) {
	t.Helper()
	name := "set-px"
	if strings.HasPrefix(deployment, "five") {
		name = "redlock"
	}
	lock := lockNamed(t, name)
	loads := workloads.All()
	counter := loads[slices.IndexFunc(loads, func(w workloads.Workload) bool { return w.Name == "counter" })]
	return Planned("explored", lock, deployment, counter, p, faults.Plan{Steps: []faults.Step{{Do: do}}})
}

func plannedParams() workloads.Params {
	p := workloads.Defaults()
	p.Clients, p.Processes, p.TTL, p.Hold, p.Seed = 4, 2, 800*time.Millisecond, 80*time.Millisecond, 77
	return p
}

// TestPlanned checks that the parameters passed to Planned replace the parameters of the run, except for the seed.
func TestPlanned(t *testing.T) {
	p := plannedParams()
	c, err := plannedFor(t, "single", p, faults.Action{Verb: faults.Jump, Nodes: []int{0}, By: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s := Setting{Params: workloads.Defaults()}
	s.Params.Seed = 5
	p.Seed = 5
	if got := s.params(c); !reflect.DeepEqual(got, p) {
		t.Errorf("%+v, want %+v", got, p)
	}
	if !c.faulty() || !c.spec("local", s.Remote).Clock || c.Fault.Kind != faults.Servers || c.header(s, "").Fault != "explored" {
		t.Errorf("the cell %+v is not one under a fault of servers whose clock is set", c)
	}
	for verb, want := range map[faults.Verb]faults.Kind{faults.Stall: faults.Clients, faults.Cut: faults.Network, faults.Freeze: faults.Servers} {
		if c, err := plannedFor(t, "single", p, faults.Action{Verb: verb}); err != nil || c.Fault.Kind != want {
			t.Errorf("%s is of the kind %s (%v), want %s", verb, c.Fault.Kind, err, want)
		}
	}
}

// TestPlannedOn checks a plan that restarts a server without data loss. The server must then store its data on disk.
func TestPlannedOn(t *testing.T) {
	c, err := plannedFor(t, "single", plannedParams(), faults.Action{Verb: faults.Restart, Nodes: []int{0}, Keeps: true})
	if err != nil || c.On() != "durable" {
		t.Errorf("on %s: %v", c.On(), err)
	}
}

// TestPlannedRefused checks that the error for an unsupported action names the action.
func TestPlannedRefused(t *testing.T) {
	for _, c := range []struct {
		on     string
		do     faults.Action
		change func(*workloads.Params)
		want   string
	}{
		{"single", faults.Action{Verb: faults.Drift, Nodes: []int{0}}, nil, "the rate of a server's clock cannot be changed"},
		{"five", faults.Action{Verb: faults.Restart, Nodes: []int{0}, Keeps: true}, nil, "on the deployment five a restart has keeps:false"},
		{"five", faults.Action{Verb: faults.Failover, Nodes: []int{1}}, nil, "failover needs a replica, and the deployment five has none"},
		{"replica", faults.Action{Verb: faults.Unlink, Nodes: []int{2}}, nil, "unlink names the servers [2], and the replicas of replica are 1 to 1"},
		{"replica", faults.Action{Verb: faults.Failover}, nil, "failover names the servers []"},
		{"single", faults.Action{Verb: faults.Freeze, Nodes: []int{1}}, nil, "freeze names server 1, and there are 1"},
		{"five", faults.Action{Verb: faults.Down, Nodes: []int{-1}}, nil, "down names server -1"},
		{"single", faults.Action{Verb: faults.Stall}, func(p *workloads.Params) { p.TTL, p.Hold = 300*time.Millisecond, 0 }, "a lease of 300ms is too short"},
		{"single", faults.Action{Verb: faults.Stall}, func(p *workloads.Params) { p.Hold = p.TTL }, "leaves no slack in a lease"},
		{"single", faults.Action{Verb: faults.Stall}, func(p *workloads.Params) { p.Clients, p.Processes = 40, 40 }, "40 processes are more than the 16"},
	} {
		p := plannedParams()
		if c.change != nil {
			c.change(&p)
		}
		if _, err := plannedFor(t, c.on, p, c.do); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s on %s: %v, want %s", c.do.Verb, c.on, err, c.want)
		}
	}
}
