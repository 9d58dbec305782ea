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

// ConfirmTrials is how many trials each lease is tried in.
const ConfirmTrials = 6

const (
	pausesEach = 10            // that fall into holds in each trial
	longerWork = "longer-work" // the name in histories of work that is paused with its process
)

// Confirming returns the cells in which the advised lease and two shorter ones are tried; none if no lease expires.
func Confirming(r *selection.Report) []trial.Cell {
	points := decision.PointsToTry(r)
	if len(points) == 0 {
		return nil
	}
	lock, on := kept{lock: r.Lease.Option}.in(table())
	return ConfirmCells(lock, on, points)
}

// ConfirmCells returns a cell for each point to try, in which the process of a holder is paused in one hold after the other.
// Each takes ConfirmTrials, with its own servers. Many can run at once, since they mostly wait. Nothing is expected of them.
func ConfirmCells(lock impls.Impl, deployment string, points []decision.TrialPoint) []trial.Cell {
	lock.Expect = nil
	return lo.Map(points, func(p decision.TrialPoint, _ int) trial.Cell {
		return trial.Cell{Lock: lock, Deployment: deployment, Workload: loadsNamed("contend")[0], Scenario: decision.LeaseScenario(p.TTL),
			Partly: true, // a hold that was not granted for long leaves fewer pauses, which count
			Fault: faults.Fault{
				Name: decision.PauseFault, Kind: faults.Clients,
				Doc: fmt.Sprintf("the process of a holder stands still in each hold, with a lease of %s, for times drawn from the distribution of pauses", p.TTL),
				Shape: func(of *workloads.Params, _ faults.Scene) {
					seed := of.Seed
					*of = workloads.Defaults()
					of.Seed, of.TTL = seed, p.TTL
					of.Clients, of.Processes = 3, 3 // the victim, and two of whom one waits while the other thinks
					of.Hold, of.Think = othersHold, othersThink
					of.Duration = between + lo.SumBy(draw(p, seed), func(s decision.Struck) time.Duration { return s.Hold + s.Pause + between })
				},
				Plan: func(s faults.Scene) faults.Plan { return standing(draw(p, s.Seed)) },
			}}
	})
}

// The others wait, and hold the key briefly, so that the victim gets it again.
const (
	othersHold  = 2 * time.Millisecond
	othersThink = 5 * time.Millisecond
	between     = 150 * time.Millisecond // from one hold of the victim to the next, at most as a rule
)

func draw(p decision.TrialPoint, seed uint64) []decision.Struck {
	r := rand.New(rand.NewPCG(seed, uint64(p.TTL)))
	return lo.Times(pausesEach, func(int) decision.Struck { return p.Draw(r) })
}

// standing pauses the victim's process in each hold. Its work runs in this process, so it is made longer by the pause.
func standing(pauses []decision.Struck) faults.Plan {
	const victim int32 = 0
	p := faults.Plan{Turns: []faults.Turns{{Client: victim, Iterations: uint64(len(pauses))}}}
	for i, s := range pauses {
		granted := workloads.Moment{Client: victim, Iteration: uint64(i), Point: workloads.Granted}
		p.Steps = append(p.Steps,
			faults.Step{Name: longerWork, When: faults.Trigger{At: granted}, Do: faults.Action{Verb: faults.Stall, Client: victim, By: s.Hold + s.Pause}},
			faults.Step{Name: decision.PauseFault, When: faults.Trigger{At: granted, Later: max(s.After, 1)}, Do: faults.Action{Verb: faults.Pause}, For: max(s.Pause, 1),
				Until: workloads.Moment{Client: victim, Iteration: uint64(i + 1), Point: workloads.Asking}}) // at the latest, so that one is over before the next
	}
	return p
}
