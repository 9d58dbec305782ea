package advisor

import (
	"fmt"
	"math/rand/v2"
	"time"

	"lockbench/impls"
	"lockbench/internal/choose/decision"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/reports/selection"
	"lockbench/workloads"
)

const (
	// ConfirmTrials is how many trials each lease is tried in.
	ConfirmTrials = 6
	// pausesEach is how many pauses fall into holds in each of them.
	pausesEach = 10

	longerWork = "longer-work" // what the histories call work that stands still with its process
)

// Confirming returns the cells in which the lease that a report advises, and two that are too short, are tried; none if there
// is no lease to choose.
func Confirming(r *selection.Report) []trial.Cell {
	points := decision.PointsToTry(r)
	if len(points) == 0 {
		return nil
	}
	lock, on := kept{lock: r.Lease.Option}.in(table())
	return ConfirmCells(lock, on, points)
}

// ConfirmCells are the cells in which a lock's points are tried, one for each: its process stands still in one hold after
// the other. Each is to be tried ConfirmTrials times, with servers of its own; many at once do each other no harm,
// since they mostly wait. Nothing is claimed of what such a hold comes to.
func ConfirmCells(lock impls.Impl, deployment string, points []decision.TrialPoint) []trial.Cell {
	lock.Expect = nil
	var cells []trial.Cell
	for _, p := range points {
		cells = append(cells, trial.Cell{Lock: lock, Deployment: deployment, Workload: loadsNamed("contend")[0], Scenario: decision.LeaseScenario(p.TTL),
			Fault:  pausing(p),
			Partly: true, // a hold that was not to be had for long leaves fewer pauses, and those count
		})
	}
	return cells
}

func pausing(p decision.TrialPoint) faults.Fault {
	return faults.Fault{
		Name: decision.PauseFault, Kind: faults.Clients,
		Doc: fmt.Sprintf("the process of a holder stands still in each hold, with a lease of %s, for times drawn from the distribution of pauses", p.TTL),
		Shape: func(of *workloads.Params, _ faults.Scene) {
			seed := of.Seed
			*of = workloads.Defaults()
			of.Seed, of.TTL = seed, p.TTL
			of.Clients, of.Processes = 3, 3 // the victim, and two of whom one waits while the other thinks
			of.Hold, of.Think = othersHold, othersThink
			of.Duration = lasts(draw(p, seed))
		},
		Plan: func(s faults.Scene) faults.Plan { return standing(draw(p, s.Seed)) },
	}
}

// How the others live: they are there to wait, and leave the key alone soon, so that the victim gets it again.
const (
	othersHold  = 2 * time.Millisecond
	othersThink = 5 * time.Millisecond
	between     = 150 * time.Millisecond // from one hold of the victim to the next, at most as a rule
)

func draw(p decision.TrialPoint, seed uint64) []decision.Struck {
	r := rand.New(rand.NewPCG(seed, uint64(p.TTL)))
	var out []decision.Struck
	for range pausesEach {
		out = append(out, p.Draw(r))
	}
	return out
}

// standing stops the victim's process in one hold after the other. Its work is somebody's in this process, who would go on
// meanwhile: so it is longer by the pause.
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

// lasts is how long a trial may take: until the victim has had its holds.
func lasts(pauses []decision.Struck) time.Duration {
	d := between
	for _, s := range pauses {
		d += s.Hold + s.Pause + between
	}
	return d
}
