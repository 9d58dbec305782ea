package workloads

import (
	"github.com/samber/lo"

	"lockbench/histories"
	"lockbench/impls"
)

// Header returns the header of a history of the workload, as far as it is the same in virtual time and on real servers: the clients, and
// what the lock states about itself. The caller adds the run, the servers, the fault and the expectations.
func (w Workload) Header(l impls.Impl, p Params) histories.Header {
	program := lo.FromPtr(l.Program)
	return histories.Header{
		Lock: l.Name, Workload: w.Name, Clients: p.Clients, Processes: p.Processes, Seed: p.Seed,
		Params: map[string]string{"hold": p.Hold.String(), "think": p.Think.String(), "register": string(w.Checks())},
		TTL:    histories.Nanos(p.TTL), LeastGrant: histories.Nanos(w.LeastGrant(l, p)), BackOff: histories.Nanos(l.BackOff),
		Exact: l.ExactTry, CleansUp: l.CleansUp, ChecksLease: l.ChecksLease, SkipsDead: l.SkipsDead, Notifies: l.Notifies,
		ReportsLoss: l.ReportsLoss, SilentRenewals: program.SilentRenewals, WaitsInside: program.WaitsInside,
	}
}
