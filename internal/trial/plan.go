// Package trial runs trials: servers are brought up, clients are driven, what happens is recorded and
// judged. A cell of a plan goes in; a folder with a history, a verdict and counters comes out.
package trial

import (
	"fmt"
	"path"
	"slices"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/internal/faults"
	"lockbench/internal/servers"
	"lockbench/workloads"
)

// Cell is one combination to try.
type Cell struct {
	Lock     impls.Impl
	Workload workloads.Workload
	Fault    faults.Fault
}

// Dir is where the cell's trials are kept in a run folder, with slashes.
func (c Cell) Dir() string { return path.Join(c.Lock.Name, c.Workload.Name+"+"+c.Fault.Name) }

func (c Cell) String() string { return c.Lock.Name + " " + c.Workload.Name + "+" + c.Fault.Name }

// Plan is every cell that applies, in the order of the lists: not every workload makes sense with every lock.
func Plan(locks []impls.Impl, loads []workloads.Workload, breaks []faults.Fault) []Cell {
	var plan []Cell
	for _, l := range locks {
		for _, w := range loads {
			if w.Reentrant && !l.Reentrant || w.Special && l.Store == "" {
				continue
			}
			for _, f := range breaks {
				plan = append(plan, Cell{l, w, f})
			}
		}
	}
	return plan
}

// Fitting splits a plan into the cells that servers brought up that way can serve, and the reasons why the
// others cannot be, one for each lock.
func Fitting(plan []Cell, how string, remote servers.Remote) (fits []Cell, reasons []string) {
	for _, c := range plan {
		var why error
		if c.Lock.Store != "" {
			why = servers.Spec{How: how, Deployment: c.Lock.Deployment, Remote: remote}.Supported()
		}
		if why == nil {
			fits = append(fits, c)
		} else if reason := fmt.Sprintf("%s is left out: %v", c.Lock.Name, why); !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	return fits, reasons
}

// header is what a cell's histories say of themselves.
func (c Cell) header(s Setting, server string) histories.Header {
	p := s.Params
	params := map[string]string{"hold": p.Hold.String(), "think": p.Think.String(), "keys": fmt.Sprint(p.Keys),
		"distribution": p.Spread.String(), "wait": p.Wait.String()}
	for name, value := range s.LockParams {
		params["lock."+name] = value
	}
	return histories.Header{
		Run: s.Run, Lock: c.Lock.Name, Deployment: c.Lock.Deployment, Workload: c.Workload.Name, Fault: c.Fault.Name,
		Server: server, Clients: p.Clients, Processes: p.Processes, Simulated: true, Seed: p.Seed, Params: params,
		TTL: histories.Nanos(p.TTL), BackOff: histories.Nanos(c.Lock.BackOff), Exact: c.Lock.ExactTry, Claims: c.claims(p),
	}
}

// claims are the lock's expectations. What breaks only where clients meet is open where there is but one.
func (c Cell) claims(p workloads.Params) []histories.Claim {
	var claims []histories.Claim
	for _, e := range c.Lock.Expected(c.Workload.Name, c.Workload.Special, c.Fault.Name, p.Processes) {
		claim := histories.Claim{Property: e.Property, Because: e.Because}
		switch {
		case e.Verdict == impls.Holds:
			claim.Expected = histories.Holds
		case e.Verdict == impls.Breaks && p.Clients > 1:
			claim.Expected = histories.Breaks
		}
		claims = append(claims, claim)
	}
	return claims
}
