package trial

import (
	"slices"
	"strings"
	"time"

	"lockbench/histories"
	"lockbench/impls/expect"
	"lockbench/workloads"
)

// renewable lists the faults under which the process of a holder can still renew its lease. Under these faults, a lock
// that renews excludes other clients during a hold of any length.
const renewable = "holder-stall slow-network server-pause lost-wakeup"

// MostClients is the maximum number of clients under a fault. Each has its own process, so that a fault affects one client.
const MostClients = mostProcesses

// longer applies the user's hold time and number of clients to the parameters of a trial with a fault.
func (s Setting) longer(p workloads.Params) workloads.Params {
	if s.FaultHold > 0 {
		p.Hold, p.Duration = s.FaultHold, max(p.Duration, 3*s.FaultHold)
		p.Grace = max(p.Grace, p.TTL+time.Second) + 2*s.FaultHold
	}
	if s.FaultClients > p.Clients {
		p.Clients, p.Processes = s.FaultClients, s.FaultClients
	}
	return p
}

// expectations returns the expectations of the cell's lock. For built-in locks under a fault, they are stated for the
// default hold. If the user sets the hold, properties that are expected to hold regardless of its length keep their
// expectation. All other properties become observed.
func (c Cell) expectations(s Setting) []histories.Expectation {
	all := workloads.Expectations(c.Lock, c.Workload, c.Fault.Name, c.On(), s.Params)
	if s.FaultHold == 0 || !c.faulty() || c.Partly || c.Lock.Program != nil {
		return all
	}
	for i, e := range all {
		if e.Expected != histories.ToHold || !c.holdsLonger(e.Property) {
			all[i].Expected, all[i].Because = histories.Unspecified, "the lock's author states it for the default hold only"
		}
	}
	return all
}

// holdsLonger reports whether the expectation that a property holds applies to any hold time.
func (c Cell) holdsLonger(property string) bool {
	switch {
	case slices.Contains([]string{"lease-exclusion", "owner-release", "fencing"}, property):
		return true
	case slices.Contains(expect.Exclusion, property):
		return c.Lock.Renews && slices.Contains(strings.Fields(renewable), c.Fault.Name)
	}
	return false
}
