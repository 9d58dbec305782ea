package advisor

import (
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"

	"lockbench/impls"
	"lockbench/internal/choose/decision"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/reports/selection"
	"lockbench/workloads"
)

// Stage is a part of what is tried. Only what the stages before did not eliminate is tried in it.
type Stage struct {
	Name   string
	Doc    string // one sentence
	Trials int    // of each cell
	cells  func(selection.Needs, impls.Impl) []trial.Cell
}

// AtOnce is how many trials run side by side: none of their figures are compared, and mostly they wait.
const AtOnce = 8

// Stages returns all stages, in order.
func Stages() []Stage {
	return []Stage{
		{"a-good-day", "without a fault: what excludes nobody then needs no more trials", 1, goodDay},
		{"a-death", "the process of a holder is killed", 3, death},
		{"the-store", "what befalls the store", 1, storeTrouble},
		{"pauses", "the process of a holder stands still", 1, pauses},
		{"the-network", "messages are late or lost, and callers give up", 1, network},
	}
}

// Cells returns what a stage tries of some options.
func (s Stage) Cells(n selection.Needs, options []selection.Option) []trial.Cell {
	var all []trial.Cell
	for _, o := range options {
		if o.Kind == selection.ALock {
			impl, on := kept{lock: o.Name}.in(table())
			for _, c := range s.cells(n, impl) {
				c.Deployment = lo.Ternary(on == impl.Deployment, c.Deployment, on)
				all = append(all, c)
			}
		}
	}
	return all
}

func goodDay(n selection.Needs, l impls.Impl) []trial.Cell {
	loads := []string{"counter", "contend"}
	if n.TwoHold == selection.Corruption {
		loads = append(loads, "misuse")
	}
	if n.Reenters {
		loads = append(loads, "reentrant")
	}
	return plan(l, loads, "none")
}

func death(_ selection.Needs, l impls.Impl) []trial.Cell {
	return plan(l, []string{"counter"}, "holder-kill")
}

// harmful returns trials of faults by which two clients may hold the lock. If tokens are checked on writes alone, a workload
// shows the data.
func harmful(n selection.Needs, l impls.Impl, breaks ...string) []trial.Cell {
	if n.TwoHold != selection.Corruption || len(breaks) == 0 {
		return nil
	}
	cells := plan(l, []string{"counter"}, breaks...)
	if n.Fence == selection.OnWrites {
		cells = append(cells, plan(l, []string{"write-fenced"}, breaks...)...)
	}
	return cells
}

func storeTrouble(n selection.Needs, l impls.Impl) []trial.Cell {
	return harmful(n, l, lo.FlatMap(n.Survives, func(t selection.Trouble, _ int) []string { return decision.StoreFaults(t) })...)
}

func pauses(n selection.Needs, l impls.Impl) []trial.Cell {
	cells := harmful(n, l, "process-pause")
	if len(cells) > 0 {
		cells = append(cells, longestPause(n, l)...)
	}
	return cells
}

func network(n selection.Needs, l impls.Impl) []trial.Cell {
	if n.TwoHold != selection.Corruption {
		return nil
	}
	return plan(l, []string{"counter"}, decision.NetworkFaults()...)
}

// plan returns the cells of some workloads and faults that apply to a lock.
func plan(l impls.Impl, loads []string, breaks ...string) []trial.Cell {
	return trial.Plan([]impls.Impl{l}, loadsNamed(loads...), lo.Filter(faults.All(), func(f faults.Fault, _ int) bool { return slices.Contains(breaks, f.Name) }))
}

func loadsNamed(names ...string) []workloads.Workload {
	return lo.Filter(workloads.All(), func(w workloads.Workload, _ int) bool { return slices.Contains(names, w.Name) })
}

// longTrial is the longest lease of a trial: beyond, all times are scaled down.
const longTrial = 2 * time.Second

// fewHolds is how many holds of the victim come before the paused one, so that others wait by then.
const fewHolds = 1

// longestPause pauses a process for the longest pause, in the longest work, with the advised lease, which must outlast both.
func longestPause(n selection.Needs, l impls.Impl) []trial.Cell {
	lease := leaseOf(l.Name)
	ttl := decision.AdviseTTL(n, lease)
	if ttl == 0 {
		return nil
	}
	scale := min(1, float64(longTrial)/float64(ttl))
	of := func(d time.Duration) time.Duration { return time.Duration(float64(d) * scale).Round(time.Millisecond) }
	pause, hold := of(n.Pauses.Longest), min(of(n.Hold.Max), longTrial)
	f := faults.Fault{Name: decision.LongestPause, Kind: faults.Clients, Doc: "the process of a holder is stopped for the longest pause that was ever seen, then goes on"}
	f.Shape = func(p *workloads.Params, _ faults.Scene) {
		p.TTL, p.Hold = max(of(ttl), l.Shortest), max(hold, time.Millisecond)
		p.Duration = pause + 5*hold + time.Second/2
	}
	f.Plan = func(s faults.Scene) faults.Plan {
		first := workloads.Moment{Point: workloads.Granted} // of the victim: the others ask when it holds
		gates := []faults.Gate{{Client: 1, Until: first, Patience: s.TTL}, {Client: 2, Until: first, Patience: s.TTL}}
		return faults.Plan{Gates: gates, Steps: []faults.Step{{
			When: faults.Trigger{At: workloads.Moment{Point: workloads.Working, Iteration: fewHolds}}, Do: faults.Action{Verb: faults.Pause}, For: pause}}}
	}
	cells := trial.Plan([]impls.Impl{l}, loadsNamed("counter"), []faults.Fault{f})
	for i := range cells {
		cells[i].Scenario = decision.PauseScenario(pause)
	}
	return cells
}

func leaseOf(lock string) selection.Lease {
	k, _ := lo.Find(choices(), func(k kept) bool { return strings.HasPrefix(k.lock+"@", lock+"@") })
	return k.lease
}

// Warning explains a scenario of an advice.
func Warning(scenario string) string {
	if pause, ok := strings.CutPrefix(scenario, decision.PauseScenario(0)[:len(decision.PauseScenario(0))-2]); ok {
		return "a process stands still for the longest that was ever seen: " + pause + " of a trial whose lease is the one that is advised"
	}
	return "processes stand still in their holds, for times drawn from the pauses there are: how many holds are doubled is what the curve of leases predicts"
}
