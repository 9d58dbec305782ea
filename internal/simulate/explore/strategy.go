package explore

import (
	"math/rand/v2"
	"time"

	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// strategies are the ways to choose a plan. Seeds take them in turn.
var strategies = []struct {
	name string
	plan func(*scene) faults.Plan
}{{"uniform", uniform}, {"aimed", aimed}, {"priorities", priorities}}

// Strategies returns their names.
func Strategies() []string {
	var names []string
	for _, s := range strategies {
		names = append(names, s.name)
	}
	return names
}

// points are the points of an iteration, in order.
var points = []workloads.Point{workloads.Asking, workloads.Granted, workloads.Working, workloads.Releasing}

// ttl is the lease that is asked for: the usual one under a fault, so that a case takes no longer on real servers.
const ttl = 800 * time.Millisecond

// Subject is a lock to explore, and what limits its plans.
type Subject struct {
	Lock       string   `json:"lock"`
	Deployment string   `json:"deployment,omitempty"` // "": those that it is at home on, in turn
	Faults     []string `json:"faults,omitempty"`     // names of steps; none: all
}

// Choose returns the case of a seed, and the strategy that chose its plan. The same seed gives the same case.
func (s Subject) Choose(seed uint64) (Case, string, error) {
	lock, err := lockNamed(s.Lock)
	if err != nil {
		return Case{}, "", err
	}
	sc := &scene{rand: rand.New(rand.NewPCG(seed, 0)), lock: lock, allowed: s.Faults}
	strategy := strategies[seed%uint64(len(strategies))]
	sc.deployment = s.Deployment
	if homes := homes(lock); sc.deployment == "" {
		sc.deployment = homes[sc.rand.IntN(len(homes))]
	}
	sc.chooseParams(seed)
	c := Case{Lock: s.Lock, Deployment: sc.deployment, Workload: sc.chooseWorkload(), Params: sc.params,
		LockParams: map[string]string{"wait": "backoff"}, Plan: strategy.plan(sc)}
	return c, strategy.name, nil
}

// homes returns the deployments that a lock is explored on, the usual ones more than once.
func homes(lock impls.Impl) []string {
	if lock.Deployment == "five" {
		return []string{"five", "five", "five-delayed"}
	}
	return []string{lock.Deployment, lock.Deployment, "replica"}
}

// scene holds what the choice of a plan depends on.
type scene struct {
	rand       *rand.Rand
	lock       impls.Impl
	deployment string
	params     workloads.Params
	allowed    []string
	steps      int // chosen so far: each has nanoseconds of its own
	down       int // servers that do not come back
	promoted   bool
}

// chooseParams are few clients on one key, as a rule each in a process of its own.
func (s *scene) chooseParams(seed uint64) {
	r := s.rand
	p := workloads.Defaults()
	p.Clients = 2 + r.IntN(4)
	if p.Processes = p.Clients; r.IntN(4) == 0 {
		p.Processes = 1 + r.IntN(p.Clients)
	}
	p.TTL = ttl
	p.Hold = s.between(ttl/200, ttl*7/10)
	p.Think = s.between(time.Millisecond, ttl/8)
	p.Duration = s.between(4*ttl, 7*ttl)
	if r.IntN(4) == 0 {
		p.Wait = s.between(ttl/4, 2*ttl)
	}
	p.Seed = seed
	s.params = p
}

// chooseWorkload is the one in which a violation has an effect, or one that the lock is made for.
func (s *scene) chooseWorkload() string {
	names := []string{"counter", "counter", "counter", "contend"}
	if s.lock.Reentrant {
		names = append(names, "reentrant", "reentrant", "reentrant")
	}
	if s.lock.Fences {
		names = append(names, "write-fenced")
	}
	return names[s.rand.IntN(len(names))]
}

// between is a time between two, a short one more likely than a long one, in whole milliseconds where that is possible.
func (s *scene) between(low, high time.Duration) time.Duration {
	f := s.rand.Float64()
	d := low + time.Duration(f*f*float64(high-low))
	if d > 2*time.Millisecond {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Microsecond)
}

// around is a time about a lease: well within, just beyond, far beyond.
func (s *scene) around() time.Duration {
	parts := []time.Duration{30, 60, 110, 130, 150, 200}
	return ttl * parts[s.rand.IntN(len(parts))] / 100
}

func (s *scene) client() int32           { return int32(s.rand.IntN(s.params.Clients)) }
func (s *scene) iteration() uint64       { return uint64(s.rand.IntN(3)) }
func (s *scene) chance(percent int) bool { return s.rand.IntN(100) < percent }
func (s *scene) processOf(c int32) int   { return int(c) % s.params.Processes }
func (s *scene) several() bool           { return s.lock.Deployment == "five" }
func (s *scene) moment() time.Duration   { return s.between(0, s.params.Duration*3/4) }

// own makes a time that no other step has: what is due at one instant comes in any order.
func (s *scene) own(d time.Duration) time.Duration {
	s.steps++
	return d + time.Duration(s.steps)
}

// nodes are some of the servers, at most so many.
func (s *scene) nodes(most int) []int {
	if !s.several() {
		return []int{0}
	}
	return s.rand.Perm(5)[:1+s.rand.IntN(most)]
}

// Refused returns why the subject cannot be explored, nil if it can.
func (s Subject) Refused() error {
	c, _, err := s.Choose(0)
	if err != nil {
		return err
	}
	c.Plan = faults.Plan{}
	_, err = c.Trial()
	return err
}
