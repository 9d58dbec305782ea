package explore

import (
	"math/rand/v2"
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

const (
	usual = "counter"
	many  = 40 // number of keys in some cases; larger than the caches of some libraries

	brief = 100 * time.Millisecond // during a shorter lease, the usual delays of the network matter
)

// chooseWorkload chooses a random workload that the lock supports. In half of the cases this is the workload "varied".
func (s *scene) chooseWorkload() string {
	if s.chance(50) {
		return "varied"
	}
	names := []string{usual, usual, usual, "contend"}
	if s.lock.Reentrant {
		names = append(names, "reentrant", "reentrant", "reentrant")
	}
	if s.lock.Fences {
		names = append(names, "write-fenced")
	}
	return names[s.rand.IntN(len(names))]
}

// chooseParams chooses the parameters of a case with two to five clients. In three of four cases, each client has a
// separate process.
func (s *scene) chooseParams(seed uint64) {
	r := s.rand
	p := workloads.Defaults()
	p.Clients = 2 + r.IntN(4)
	if p.Processes = p.Clients; r.IntN(4) == 0 {
		p.Processes = 1 + r.IntN(p.Clients)
	}
	p.TTL = s.lock.Granting(s.chooseLease(seed))
	p.Hold = s.randomDuration(p.TTL/200, p.TTL*7/10)
	if p.TTL < brief {
		p.Hold /= 2 // reading and writing takes time too
	}
	p.Think = s.randomDuration(time.Millisecond, p.TTL/8)
	p.Duration = s.randomDuration(4*p.TTL, 7*p.TTL)
	if s.real {
		p.Duration = s.randomDuration(2*p.TTL, 4*p.TTL)
	}
	if r.IntN(4) == 0 {
		p.Wait = s.randomDuration(p.TTL/4, 2*p.TTL)
	}
	p.Seed = seed
	s.params = p
	switch {
	case s.workload == "varied":
		s.chooseHabits()
	case s.lock.Renews && s.chance(15):
		s.params.Hold = s.randomDuration(p.TTL, p.TTL*5/2)
		s.params.Grace = 4 * p.TTL
	}
}

// briefLeases lists leases in milliseconds. They are prime numbers: a part of one, such as a delay, seldom ends at the same time as a
// timeout of the lock, and the order of two events at one time is not determined.
var briefLeases = []time.Duration{23, 29, 31, 37, 41, 43, 47, 53, 59}

// chooseLease chooses the requested lease. In virtual time it may be long, so that a waiter that is not woken waits for longer. If the
// lock checks its lease before a grant, the lease may be so short that requests last as long. A store whose leases are whole seconds is
// also requested another one, but not from a worker program: a library may get its lease when it is opened, so that each lease needs new
// processes.
func (s *scene) chooseLease(seed uint64) time.Duration {
	lease, r := max(ttl, s.lock.Shortest), also(seed, limits)
	switch {
	case s.real && s.lock.Program == nil && s.lock.Shortest > 0 && r.IntN(3) == 0:
		lease += time.Duration(1+r.IntN(999)) * time.Millisecond
	case s.real:
	case also(seed, longLeases).IntN(5) == 0:
		lease = max(4*ttl, s.lock.Shortest)
	case s.lock.ChecksLease && s.workload != "varied" && r.IntN(4) == 0: // what clients do in varied takes longer
		lease = briefLeases[r.IntN(len(briefLeases))] * time.Millisecond
	}
	return lease
}

// choice identifies a choice that was added later.
type choice uint64

const (
	secondKey choice = iota + 1
	rests
	longLeases
	cancelledContext
	localNames
	moreStaged
	limits
)

// also returns a separate source of random numbers for a choice. The other choices of a seed thus stay the same.
func also(seed uint64, c choice) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(c))) }

// chooseRests makes all clients stop after one to five iterations, in a third of the cases. A waiter that was not woken then
// stays alone, and no newcomer is granted the lock in its place.
func (s *scene) chooseRests(p *faults.Plan, seed uint64) {
	r := also(seed, rests)
	if len(p.Turns) > 0 || r.IntN(3) > 0 {
		return
	}
	for c := range s.params.Clients {
		p.Rest(int32(c), 1+uint64(r.IntN(5)))
	}
}

// chooseHabits chooses about half of the habits that suit the lock. In a third of the cases, clients use several keys.
// Most of these keys have names that are prefixes of each other, or long names.
func (s *scene) chooseHabits() {
	p := &s.params
	if p.TTL < brief { // a sequence of events chose this workload afterwards
		p.TTL = ttl
	}
	p.Grace = 6 * p.TTL // some holds last four leases
	for _, h := range workloads.HabitsOf(s.lock) {
		// Habits that were added later are drawn elsewhere, so that a seed still draws the same values.
		if h < workloads.HoldsTwo && s.chance(50) {
			p.Habits = append(p.Habits, h)
		}
	}
	if s.lock.LocalOwners && also(p.Seed, localNames).IntN(2) == 0 {
		p.Habits = append(p.Habits, workloads.NamesLocally)
	}
	if p.Habits == nil { // an empty list would mean all habits
		p.Habits = []workloads.Habit{workloads.Idles}
	}
	if s.chance(33) {
		p.Keys, p.Spread = 2+s.rand.IntN(2), workloads.Uniform
	}
	if s.chance(8) {
		p.Keys, p.Spread = many, workloads.Zipf
	}
	if p.Keys > 1 && also(p.Seed, secondKey).IntN(2) == 0 {
		p.Habits = append(p.Habits, workloads.HoldsTwo)
	}
	if p.Keys > 1 && s.chance(50) {
		p.Names = workloads.Prefixes
	} else if p.Keys > 1 && s.lock.Program == nil && s.chance(40) { // a library may limit the length
		p.Names = workloads.Long
	}
}
