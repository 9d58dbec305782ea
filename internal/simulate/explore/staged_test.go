package explore

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// TestStages checks the strategy "staged" for a lock in another program on several stores. It must form each sequence of
// events, and real servers must support the cases.
func TestStages(t *testing.T) {
	for _, store := range []string{"redis", "postgres", "etcd"} {
		lock := impls.Impl{Name: "staged-" + store, Store: store, Deployment: "single", Renews: true, Leased: true,
			Program: &impls.Program{Rereleases: true}}
		Register(lock)
		seen := map[string]bool{}
		for seed := uint64(3); seed < 400; seed += 4 {
			c, strategy, err := Subject{Lock: lock.Name, Servers: servers.Local}.Choose(seed)
			if err != nil || strategy != "staged" {
				t.Fatalf("%s, seed %d: %s, %v", store, seed, strategy, err)
			}
			if err := checkCase(c); err != nil {
				t.Errorf("%s, seed %d: %v", store, seed, err)
			}
			seen[sequence(c)] = true
		}
		for _, want := range []string{"undisturbed", "pause", "cut", "restart", "delay", "cut release", "exit"} {
			if !seen[want] {
				t.Errorf("%s: no case with %s in %v", store, want, seen)
			}
		}
	}
}

// TestEndsWaiters checks which locks have cases in which the session of a waiter ends. Virtual time has no such case.
func TestEndsWaiters(t *testing.T) {
	for lock, want := range map[string]bool{"etcd": true, "zookeeper": true, "mysql-getlock": true, "postgres-advisory": true, "mysql-row-ttl": false, "redisson": false} {
		found := map[string]bool{}
		for seed := range uint64(600) {
			for _, on := range []string{servers.Local, ""} {
				c, strategy, err := Subject{Lock: lock, Servers: on}.Choose(seed)
				if err != nil {
					t.Fatal(err)
				}
				if slices.ContainsFunc(c.Plan.Steps, func(s faults.Step) bool { return s.Do.Waiter || s.Do.Verb == faults.Exit && on == "" }) {
					found[on+strategy] = true
				}
			}
		}
		for _, strategy := range Strategies() {
			if found[strategy] || found[servers.Local+strategy] != want {
				t.Errorf("%s, %s: %v", lock, strategy, found)
			}
		}
	}
}

// sequence returns a word for the sequence of events in a case.
func sequence(c Case) string {
	steps := c.Plan.Steps
	switch {
	case len(steps) == 0:
		return "undisturbed"
	case steps[0].When.At.Point == workloads.Releasing && c.Params.TTL > 2*steps[0].For:
		return "cut release"
	}
	return string(steps[len(steps)-1].Do.Verb)
}

// checkCase returns an error if the plan names a client or process that does not exist.
func checkCase(c Case) error {
	var errs []error
	for _, s := range c.Plan.Steps {
		errs = append(errs, c.checkStep(s))
	}
	for _, g := range c.Plan.Gates {
		errs = append(errs, c.checkMoment(g.Until))
	}
	return errors.Join(errs...)
}

// TestOvertaken checks the plans of the function overtaken. The other clients must have released the key when the holder
// continues. The holder must then still be working.
func TestOvertaken(t *testing.T) {
	for seed := range uint64(100) {
		s := &scene{rand: rand.New(rand.NewPCG(seed, 0)), lock: impls.Impl{Deployment: "single", Program: &impls.Program{}}, real: true}
		s.chooseParams(seed)
		p := overtaken(s)
		stall, away := p.Steps[0].Do.By, time.Duration(0)
		if len(p.Steps) == 2 {
			away = p.Steps[1].When.Later + p.Steps[1].For
		}
		rests := slices.ContainsFunc(p.Turns, func(x faults.Turns) bool { return x.Client == 1 })
		if brief := s.params.Hold <= s.params.TTL/3; stall <= away || !rests || !brief {
			t.Errorf("seed %d: works for %v, is away until %v; the others rest: %t, hold briefly: %t", seed, stall, away, rests, brief)
		}
	}
}
