package explore

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/servers/zookeeper"
	"lockbench/workloads"
)

// outage describes a sequence of events of outages.go, and the cases that contain it.
type outage struct {
	name  string
	locks []string // locks for which the search draws it
	real  bool     // whether only the search on real servers draws it
	is    func(Case) bool
}

var outages = []outage{
	{"a cut after the first renewal", []string{"fenced", "etcd"}, false, func(c Case) bool {
		return only(c, faults.Cut) && c.Params.Hold > 2*c.Params.TTL && c.Plan.Steps[0].When.Later > c.Params.TTL/3
	}},
	{"a late grant", []string{"fenced", "etcd"}, false, func(c Case) bool {
		return only(c, faults.Delay, faults.Cut) && c.Plan.Steps[0].Do.By > c.Params.TTL/3
	}},
	{"a waiter without connections", []string{"redisson", "fenced"}, false, func(c Case) bool { return only(c, faults.Reset, faults.Pause) && c.Params.TTL >= 5*ttl }},
	{"late replies to two waiters", []string{"redisson"}, false, func(c Case) bool { return only(c, faults.GiveUp, faults.Delay, faults.Delay) }},
	{"a lost release", []string{"set-px-lua", "zookeeper"}, false, func(c Case) bool { return only(c, faults.Cut, faults.Interrupt) }},
	{"a slow waiter that gives up", []string{"set-px-lua", "zookeeper"}, false, func(c Case) bool { return only(c, faults.Slow, faults.GiveUp) && c.Params.TTL > ttl/2 }},
	{"long pauses between holds", []string{"etcd"}, true, func(c Case) bool { return only(c) && c.Params.Think >= c.Params.TTL }},
	{"a shortened lease", []string{"zookeeper"}, true, func(c Case) bool { return only(c, faults.Cut) && c.Params.TTL > zookeeper.LongestSession }},
	{"a cancelled acquire of a free key", []string{"redlock", "etcd"}, false, func(c Case) bool { return only(c, faults.GiveUp) && c.Params.Clients == 2 }},
	{"replicas that receive nothing", []string{"set-px-wait"}, true, func(c Case) bool { return only(c, faults.Unlink) }},
	{"fast servers", []string{"redlock"}, false, func(c Case) bool { return only(c, faults.Drift, faults.Stall) && c.Params.TTL == longLease }},
}

// only reports whether the steps of a case have exactly these verbs.
func only(c Case, verbs ...faults.Verb) bool {
	return slices.EqualFunc(c.Plan.Steps, verbs, func(s faults.Step, v faults.Verb) bool { return s.Do.Verb == v })
}

// TestOutages checks that the strategy "staged" draws each sequence of events, and that the cases are valid.
func TestOutages(t *testing.T) {
	for _, o := range outages {
		for _, lock := range o.locks {
			on := ""
			if o.real || (Subject{Lock: lock}).Refused() != nil {
				on = servers.Local
			}
			found := 0
			for seed := uint64(3); seed < 1200; seed += 4 {
				c, _, err := Subject{Servers: on, Lock: lock}.Choose(seed)
				if err == nil && o.is(c) {
					found++
					err = checkCase(c)
				}
				if err != nil {
					t.Errorf("%s, %s, seed %d: %v", o.name, lock, seed, err)
				}
			}
			if found < 3 {
				t.Errorf("%s: %d of 300 cases have %s", lock, found, o.name)
			}
		}
	}
}

// eachSeed calls a function with the scene and the plan of a stage for each of 100 seeds.
func eachSeed(t *testing.T, lock string, stage func(*scene) faults.Plan, check func(seed uint64, s *scene, p faults.Plan)) {
	t.Helper()
	l, err := lockNamed(lock)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(100) {
		s := &scene{rand: rand.New(rand.NewPCG(seed, 0)), lock: l, workload: usual}
		s.chooseParams(seed)
		check(seed, s, stage(s))
	}
}

// TestOutlived checks the plans of the function outlived. The cut must begin after the first renewal. The lease must end during the
// cut, and the holder must still be working.
func TestOutlived(t *testing.T) {
	eachSeed(t, "fenced", outlived, func(seed uint64, s *scene, p faults.Plan) {
		cut, lease := p.Steps[0], s.params.TTL
		from, renewed := cut.When.Later, cut.When.Later/(lease/3)*(lease/3)
		if renewed == 0 || from+cut.For < renewed+lease || s.params.Hold < renewed+lease+lease/2 {
			t.Errorf("seed %d: lease %v, cut off from %v for %v, hold %v", seed, lease, from, cut.For, s.params.Hold)
		}
	})
}

// TestResetWaiter checks that the waiter of resetWaiter is away at the release, and not for so long that messages count as lost.
func TestResetWaiter(t *testing.T) {
	eachSeed(t, "redisson", resetWaiter, func(seed uint64, s *scene, p faults.Plan) {
		pause := p.Steps[1]
		if released := s.params.Hold; pause.When.Later >= released || pause.When.Later+pause.For <= released || pause.For > 2*time.Second {
			t.Errorf("seed %d: hold %v, away from %v for %v", seed, released, pause.When.Later, pause.For)
		}
	})
}

// TestLocalNames checks that the search lets two processes use the same owner names, but only for locks that tell them apart.
func TestLocalNames(t *testing.T) {
	for lock, want := range map[string]bool{"redisson": true, "redisson-lease": true, "reentrant-count-fixed": true, "fenced": false, "set-px-lua": false} {
		found := false
		for seed := range uint64(40) {
			c, _, err := Subject{Lock: lock}.Choose(seed)
			if err != nil {
				t.Fatal(err)
			}
			found = found || slices.Contains(c.Params.Habits, workloads.NamesLocally)
		}
		if found != want {
			t.Errorf("%s: %t", lock, found)
		}
	}
}
