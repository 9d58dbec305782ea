package advisor

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/samber/lo"

	"lockbench/impls"
	"lockbench/internal/choose/decision"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/reports/selection"
	"lockbench/workloads"
)

// ConfirmTrials is the number of trials that test the predictions for one lease.
const ConfirmTrials = 6

const (
	pausesEach = 10            // number of pauses in each trial; a hold has at most one pause
	longerWork = "longer-work" // name, in histories, of the fault that lengthens a hold in which the client is paused
)

// Confirming returns the configurations (cells) of trials that test the advised lease and two other leases, which are usually
// shorter. It returns nil if there is no lease to test.
func Confirming(r *selection.Report) []trial.Cell {
	points := decision.PointsToTry(r)
	if len(points) == 0 {
		return nil
	}
	lock, on := candidate{lock: r.Lease.Option}.in(table())
	return ConfirmCells(lock, on, points)
}

// ConfirmCells returns one cell for each lease in points. In each cell, one client is paused in every hold. Each cell takes
// ConfirmTrials trials, which can run concurrently because they mostly wait. The cells have no expectations.
func ConfirmCells(lock impls.Impl, deployment string, points []decision.TrialPoint) []trial.Cell {
	lock.Expect = nil
	return lo.Map(points, func(p decision.TrialPoint, _ int) trial.Cell {
		return trial.Cell{Lock: lock, Deployment: deployment, Workload: loadsNamed("contend")[0], Scenario: decision.LeaseScenario(p.TTL),
			Partly: true, // a trial with fewer pauses than planned is not discarded
			Fault: faults.Fault{
				Name: decision.PauseFault, Kind: faults.Clients,
				Doc: fmt.Sprintf("the process of a holder is paused in each hold, with a lease of %s, for times drawn from the distribution of pauses", p.TTL),
				Shape: func(of *workloads.Params, _ faults.Scene) {
					seed := of.Seed
					*of = workloads.Defaults()
					of.Seed, of.TTL = seed, p.TTL
					of.Clients, of.Processes = 3, 3 // the victim and two clients that wait for the lock
					of.Hold, of.Think = othersHold, othersThink
					of.Duration = between + lo.SumBy(draw(p, seed), func(s decision.Struck) time.Duration { return s.Hold + s.Pause + between })
				},
				Plan: func(s faults.Scene) faults.Plan { return pausing(draw(p, s.Seed)) },
			}}
	})
}

// Times of the clients. One client is paused in each hold. The other clients hold the key only briefly, so the paused
// client soon acquires it again.
const (
	othersHold  = 2 * time.Millisecond
	othersThink = 5 * time.Millisecond
	between     = 150 * time.Millisecond // assumed maximum time between two holds of the paused client
)

func draw(p decision.TrialPoint, seed uint64) []decision.Struck {
	r := rand.New(rand.NewPCG(seed, uint64(p.TTL)))
	return lo.Times(pausesEach, func(int) decision.Struck { return p.Draw(r) })
}

// pausing returns a plan that pauses the victim's process in each hold. The victim's work is simulated outside this process, so
// a pause does not stop the work. The plan therefore lengthens the work by the duration of the pause.
func pausing(pauses []decision.Struck) faults.Plan {
	const victim int32 = 0
	p := faults.Plan{Turns: []faults.Turns{{Client: victim, Iterations: uint64(len(pauses))}}}
	for i, s := range pauses {
		granted := workloads.Moment{Client: victim, Iteration: uint64(i), Point: workloads.Granted}
		p.Steps = append(p.Steps,
			faults.Step{Name: longerWork, When: faults.Trigger{At: granted}, Do: faults.Action{Verb: faults.Stall, Client: victim, By: s.Hold + s.Pause}},
			faults.Step{Name: decision.PauseFault, When: faults.Trigger{At: granted, Later: max(s.After, 1)}, Do: faults.Action{Verb: faults.Pause}, For: max(s.Pause, 1),
				Until: workloads.Moment{Client: victim, Iteration: uint64(i + 1), Point: workloads.Asking}}) // each pause ends before the next acquire
	}
	return p
}
