package explore

import (
	"math/rand/v2"
	"time"

	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// strategy chooses a fault plan.
type strategy struct {
	name string
	plan func(*scene) faults.Plan
}

// strategies lists the strategies for choosing a fault plan. Seed n uses strategy n modulo their number, in virtual time.
// The last one is "staged".
var strategies = []strategy{{"uniform", uniform}, {"aimed", aimed}, {"priorities", priorities}, {"staged", staged}}

// Strategies returns the names of the strategies for choosing a fault plan.
func Strategies() []string {
	var names []string
	for _, s := range strategies {
		names = append(names, s.name)
	}
	return names
}

// points lists the points of a client's iteration at which a fault can begin. They are in the order in which they
// happen.
var points = []workloads.Point{workloads.Asking, workloads.Granted, workloads.Working, workloads.Releasing}

// ttl is the lease in explored cases, unless the lock supports only longer leases. It equals the lease of fault trials
// on real servers, so explored cases can be replayed there.
const ttl = 800 * time.Millisecond

// Subject is a lock to explore. Deployment and Faults optionally restrict the explored cases.
type Subject struct {
	Servers    string   `json:"servers,omitempty"` // start method of real servers, such as local; "": virtual time
	Lock       string   `json:"lock"`
	Deployment string   `json:"deployment,omitempty"` // deployment of the lock; "": a random one
	Faults     []string `json:"faults,omitempty"`     // names of allowed fault steps; empty: all
}

// Store returns the name of the store of the subject's lock, or "" if there is no such lock. The result several is true if the
// lock needs several servers.
func (s Subject) Store() (store string, several bool) {
	lock, err := lockNamed(s.Lock)
	if err != nil {
		return "", false
	}
	return lock.Store, lock.Deployment == "five"
}

// strategyOf returns the strategy that a seed uses. Cases on real servers take seconds, so half of the others are staged too.
func (s Subject) strategyOf(seed uint64) strategy {
	n := seed % uint64(len(strategies))
	if s.Servers != "" && also(seed, moreStaged).IntN(2) == 0 {
		n = uint64(len(strategies)) - 1
	}
	return strategies[n]
}

// Choose returns the case that a seed determines, and the name of the strategy that chose its fault plan.
func (s Subject) Choose(seed uint64) (Case, string, error) {
	lock, err := lockNamed(s.Lock)
	if err != nil {
		return Case{}, "", err
	}
	strategy := s.strategyOf(seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const draws = 50
	for range draws {
		c := s.draw(&scene{rand: random, lock: lock, allowed: s.Faults, real: s.Servers != ""}, seed, strategy.plan)
		if s.Servers == "" {
			return c, strategy.name, nil
		}
		if _, err = c.Cell(); err == nil { // a random case may need an action that real servers do not support
			return c, strategy.name, nil
		}
	}
	return Case{}, "", err
}

// draw returns a random case. The function plan, from a strategy, returns its fault plan.
func (s Subject) draw(sc *scene, seed uint64, plan func(*scene) faults.Plan) Case {
	sc.deployment = s.Deployment
	if all := deployments(sc.lock, s.Servers); sc.deployment == "" {
		sc.deployment = all[sc.rand.IntN(len(all))]
	}
	sc.workload = sc.chooseWorkload()
	sc.chooseParams(seed)
	c := Case{Servers: s.Servers, Lock: s.Lock, Deployment: sc.deployment, Plan: plan(sc)}
	sc.chooseRests(&c.Plan, seed)
	c.Workload, c.Params = sc.workload, sc.params // the strategy may have changed them
	if sc.lock.Program == nil {
		c.LockParams = map[string]string{"wait": "backoff"}
	}
	return c
}

// deployments returns the deployments on which a lock is explored. A deployment that is listed twice is chosen more
// often.
func deployments(lock impls.Impl, on string) []string {
	switch {
	case lock.Program != nil, on == servers.External:
		return []string{lock.Deployment}
	case lock.Deployment == "five":
		return []string{"five", "five", "five-delayed"}
	case lock.Store == "etcd" || lock.Store == "zookeeper":
		return []string{lock.Deployment, lock.Deployment, "three"}
	case lock.Store != "redis":
		return []string{lock.Deployment}
	}
	if on != "" && lock.Deployment == servers.Replica {
		return []string{servers.Replica, servers.TwoReplicas}
	}
	all := []string{lock.Deployment, lock.Deployment, "replica"}
	if on != "" && lock.Deployment == "single" {
		all = append(all, servers.Durable) // keeps the data after a restart
	}
	return all
}

// scene holds the random source and the choices made so far for one case. A strategy builds a fault plan from it.
type scene struct {
	rand       *rand.Rand
	lock       impls.Impl
	deployment string
	workload   string
	params     workloads.Params
	allowed    []string
	real       bool // whether the case is for real servers, on which trials take real time
	steps      int  // number of durations that were made unique by adding nanoseconds
	down       int  // number of servers that are stopped until the trial ends
	promoted   bool
}

// randomDuration returns a random duration from low to high. Short durations are more likely. Durations above 2 ms
// are rounded to milliseconds, others to microseconds.
func (s *scene) randomDuration(low, high time.Duration) time.Duration {
	f := s.rand.Float64()
	d := low + time.Duration(f*f*float64(high-low))
	if d > 2*time.Millisecond {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Microsecond)
}

// durationNearLease returns a random duration between 0.3 and 2 times the lease.
func (s *scene) durationNearLease() time.Duration {
	parts := []time.Duration{30, 60, 110, 130, 150, 200}
	return s.params.TTL * parts[s.rand.IntN(len(parts))] / 100
}

// messageDelay returns a random delay for a message: a fraction of a lease, or up to three leases.
func (s *scene) messageDelay() time.Duration {
	parts := []time.Duration{5, 10, 25, 50, 90, 110, 150, 200, 300}
	return s.params.TTL * parts[s.rand.IntN(len(parts))] / 100
}

// another returns a client other than c. If c is the only client, it returns c.
func (s *scene) another(c int32) int32 {
	if n := int32(s.params.Clients); n > 1 {
		return (c + 1 + s.rand.Int32N(n-1)) % n
	}
	return c
}

func (s *scene) client() int32           { return int32(s.rand.IntN(s.params.Clients)) }
func (s *scene) iteration() uint64       { return uint64(s.rand.IntN(3)) }
func (s *scene) chance(percent int) bool { return s.rand.IntN(100) < percent }
func (s *scene) processOf(c int32) int   { return int(c) % s.params.Processes }
func (s *scene) several() bool           { return s.lock.Deployment == "five" }
func (s *scene) moment() time.Duration   { return s.randomDuration(0, s.params.Duration*3/4) }

// uniqueDuration makes a duration unique in the fault plan by adding some nanoseconds. Two equal times would have an
// undefined order.
func (s *scene) uniqueDuration(d time.Duration) time.Duration {
	s.steps++
	return d + time.Duration(s.steps)
}

// nodes returns the indexes of randomly chosen servers. Their number is between 1 and most.
func (s *scene) nodes(most int) []int {
	if !s.several() {
		return []int{0}
	}
	return s.rand.Perm(5)[:1+s.rand.IntN(most)]
}

// Refused returns the reason why the subject cannot be explored. It returns nil if the subject can be explored.
func (s Subject) Refused() error {
	c, _, err := s.Choose(0)
	if err != nil {
		return err
	}
	c.Plan = faults.Plan{}
	_, err = c.Trial()
	return err
}
