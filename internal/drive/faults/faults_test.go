package faults

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/workloads"
)

// nodes holds the number of servers of each deployment.
var nodes = map[string]int{servers.Single: 1, servers.Durable: 1, servers.Valkey: 1, servers.Replica: 2, servers.TwoReplicas: 3,
	servers.Sentinel: 3, servers.Five: 5, servers.FiveDelayed: 5, servers.Three: 3, servers.Cluster: 6}

// stages returns the deployments on which the fault can be injected into a Redis lock or an etcd lock.
func (f Fault) stages() []string {
	var all []string
	for usual, also := range map[string]string{servers.Single: servers.Durable, servers.Replica: "", servers.Five: servers.FiveDelayed} {
		lock := impls.Impl{Store: "redis", Deployment: usual, TwoSteps: true, TwoStepRelease: true, Notifies: true}
		switch {
		case f.NotFor(lock) != "":
		case f.On != nil:
			all = append(all, f.On(usual), servers.Sentinel, servers.Cluster)
		case also != "":
			all = append(all, usual, also)
		default:
			all = append(all, usual)
		}
	}
	session := impls.Impl{Store: "etcd", Deployment: servers.Single, Session: true}
	switch {
	case f.NotFor(session) != "":
	case f.On != nil:
		all = append(all, f.On(session.Deployment))
	default:
		all = append(all, session.Deployment)
	}
	return all
}

func TestTable(t *testing.T) {
	for _, d := range stores.Deployments(servers.Redis) {
		if nodes[d] == 0 {
			t.Errorf("the deployment %s is not tested", d)
		}
	}
	seen := map[string]bool{}
	for _, f := range All() {
		if seen[f.Name] || f.Name == "" {
			t.Errorf("there are two faults %q", f.Name)
		}
		seen[f.Name] = true
		if f.Doc == "" || strings.HasSuffix(f.Doc, ".") || strings.Contains(f.Doc, ". ") || strings.ToLower(f.Doc[:1]) != f.Doc[:1] {
			t.Errorf("%s: want one sentence, without a capital and a full stop: %q", f.Name, f.Doc)
		}
		if none := f.Kind == Nothing; none != (f.Plan == nil) || none != (f.Name == "none") {
			t.Errorf("%s of kind %q: has a plan: %t", f.Name, f.Kind, f.Plan != nil)
		}
		if len(f.stages()) == 0 && f.NotFor(impls.Impl{Store: "redis", Program: &impls.Program{}}) != "" {
			t.Errorf("%s applies to no lock", f.Name)
		}
	}
}

// TestReplicas checks faults that promote a replica. They must apply only to locks whose servers can have replicas. They
// must run on a deployment with replicas.
func TestReplicas(t *testing.T) {
	for _, f := range []Fault{failover, failoverSynced} {
		for on, applies := range map[string]bool{servers.Single: true, servers.Replica: true, servers.Five: false, servers.FiveDelayed: false, servers.Cluster: true} {
			if why := f.NotFor(impls.Impl{Store: servers.Redis, Deployment: on}); (why == "") != applies {
				t.Errorf("%s for a lock on %s: %q", f.Name, on, why)
			}
		}
	}
	for usual, want := range map[string]string{servers.Single: servers.Replica, servers.Replica: servers.TwoReplicas, servers.Sentinel: servers.Sentinel, servers.Cluster: servers.Cluster} {
		if got := failover.On(usual); got != want {
			t.Errorf("failover of a lock on %s: on %s, want %s", usual, got, want)
		}
	}
}

// TestPlans checks that plans name only existing clients and servers.
func TestPlans(t *testing.T) {
	for _, f := range All() {
		if f.Plan == nil {
			continue
		}
		for _, on := range f.stages() {
			for _, ttl := range []time.Duration{0, 100 * time.Millisecond, 5 * time.Second} {
				p := f.Params(workloads.Defaults(), ttl, on)
				if err := p.Check(); err != nil {
					t.Errorf("%s on %s: %v", f.Name, on, err)
				}
				x := scenery{t, f.Name + " on " + on, p, Scene{TTL: p.TTL, Deployment: on, Processes: p.Processes}}
				x.plan(f.Plan(x.scene))
			}
		}
	}
}

// scenery is the trial for which a test checks a fault plan. For example, every client and server in the plan must exist
// in the trial.
type scenery struct {
	t     *testing.T
	name  string
	p     workloads.Params
	scene Scene
}

func (x scenery) plan(plan Plan) {
	if len(plan.Steps) == 0 {
		x.t.Errorf("%s: no steps", x.name)
	}
	for _, g := range plan.Gates {
		x.client(g.Client)
		x.moment(g.Until)
		if g.Timeout <= 0 {
			x.t.Errorf("%s: a gate without a timeout", x.name)
		}
	}
	for _, s := range plan.Steps {
		x.moment(s.When.At)
		x.moment(s.Until)
		x.action(s.Do)
		if on := s.When.On; on != nil {
			x.process(on.Process)
			if on.Nth < 1 {
				x.t.Errorf("%s: %s at command %d", x.name, s.Do.Verb, on.Nth)
			}
		} else if s.Do.Verb == Delay || s.Do.Verb == Lose || s.Do.Verb == GiveUp {
			x.t.Errorf("%s: %s needs a command as its trigger", x.name, s.Do.Verb)
		}
		if s.For < 0 || s.For > 0 && s.Until != (workloads.Moment{}) {
			x.t.Errorf("%s: %s is healed after %v and at %v", x.name, s.Do.Verb, s.For, s.Until)
		}
	}
}

func (x scenery) action(a Action) {
	x.client(a.Client)
	if a.Process != -1 {
		x.process(a.Process)
	}
	there := nodes[x.scene.Deployment]
	switch a.Verb {
	case Cut:
		there = x.scene.Servers()
	case Restart, Down, Freeze, Unlink, Failover, Jump, Evict:
		if len(a.Nodes) == 0 {
			x.t.Errorf("%s: %s names no node", x.name, a.Verb)
		}
	case Stall, Slow:
		if a.By <= 0 {
			x.t.Errorf("%s: %s by %v", x.name, a.Verb, a.By)
		}
	}
	for _, n := range a.Nodes {
		if n < 0 || n >= there {
			x.t.Errorf("%s: %s names node %d of %d", x.name, a.Verb, n, there)
		}
		if n == 0 && (a.Verb == Unlink || a.Verb == Failover) {
			x.t.Errorf("%s: node 0 is the primary, and %s is for replicas", x.name, a.Verb)
		}
	}
}

func (x scenery) client(c int32) {
	if c < 0 || int(c) >= x.p.Clients {
		x.t.Errorf("%s: client %d of %d does not exist", x.name, c, x.p.Clients)
	}
}

func (x scenery) process(p int) {
	if p < 0 || p >= x.p.Processes {
		x.t.Errorf("%s: process %d of %d does not exist", x.name, p, x.p.Processes)
	}
}

func (x scenery) moment(m workloads.Moment) {
	x.client(m.Client)
	switch m.Point {
	case workloads.Asking, workloads.Granted, workloads.Working, workloads.Releasing:
	case "":
		if m != (workloads.Moment{}) {
			x.t.Errorf("%s: invalid moment %+v", x.name, m)
		}
	default:
		x.t.Errorf("%s: no client reaches %q", x.name, m.Point)
	}
}

// TestStaleReplicas checks the plan of the fault failover in deployments with replicas. The plan must stop the
// replication to at least one replica and promote a replica that no longer receives writes.
func TestStaleReplicas(t *testing.T) {
	for _, on := range []string{servers.Replica, servers.TwoReplicas, servers.Sentinel} {
		var behind, over []int
		for _, s := range failover.Plan(Scene{TTL: time.Second, Deployment: on, Processes: 3}).Steps {
			switch s.Do.Verb {
			case Unlink:
				behind = s.Do.Nodes
			case Failover:
				over = s.Do.Nodes
			}
		}
		if len(behind) == 0 || len(over) != 1 || !slices.Contains(behind, over[0]) {
			t.Errorf("%s: stale replicas %v, %v is promoted", on, behind, over)
		}
	}
}
