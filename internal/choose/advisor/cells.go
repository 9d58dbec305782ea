package advisor

import (
	"slices"
	"strings"
	"time"

	"lockbench/impls"
	"lockbench/internal/choose/decision"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/reports/selection"
	"lockbench/workloads"
)

// Stage is a part of what is tried. Each is tried only of what is not out by what was tried before: there is no need to know
// how a lock bears a lost message that excludes nobody on a good day.
type Stage struct {
	Name   string
	Doc    string // one sentence
	Trials int    // of each cell
	cells  func(selection.Needs, impls.Impl) []trial.Cell
}

// AtOnce is how many trials run side by side: none of their figures is compared with another, and most of the time they wait.
const AtOnce = 8

// Stages are all, in the order in which they are tried.
func Stages() []Stage {
	return []Stage{
		{"a-good-day", "without a fault: what excludes nobody then needs no more trials", 1, goodDay},
		{"a-death", "the process of a holder is killed", 3, death},
		{"the-store", "what befalls the store", 1, storeTrouble},
		{"pauses", "the process of a holder stands still", 1, pauses},
		{"the-network", "messages are late or lost, and callers give up", 1, network},
	}
}

// Cells are what a stage tries of some options.
func (s Stage) Cells(n selection.Needs, options []selection.Option) []trial.Cell {
	var all []trial.Cell
	for _, o := range options {
		if o.Kind != selection.ALock {
			continue
		}
		impl, on := kept{lock: o.Name}.in(table())
		for _, c := range s.cells(n, impl) {
			if on != impl.Deployment {
				c.Deployment = on
			}
			all = append(all, c)
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

// harmful are faults in which two are let in, with what becomes of the data where fencing tokens are checked on writes alone.
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
	var breaks []string
	for _, t := range n.Survives {
		breaks = append(breaks, decision.StoreFaults(t)...)
	}
	return harmful(n, l, breaks...)
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

// plan is what applies of some workloads and faults to a lock.
func plan(l impls.Impl, loads []string, breaks ...string) []trial.Cell {
	return trial.Plan([]impls.Impl{l}, loadsNamed(loads...),
		slices.DeleteFunc(faults.All(), func(f faults.Fault) bool { return !slices.Contains(breaks, f.Name) }))
}

func loadsNamed(names ...string) []workloads.Workload {
	return slices.DeleteFunc(workloads.All(), func(w workloads.Workload) bool { return !slices.Contains(names, w.Name) })
}

// longTrial is how long a lease a trial is made with at most: where it is longer, all times are made shorter alike.
const longTrial = 2 * time.Second

// fewHolds are those of the victim before the one that it stands still in: by then others wait, as they do in use.
const fewHolds = 1

// longestPause is a process that stands still for as long as was ever seen, in work that takes as long as it ever does, with
// the lease that is advised: it must outlast both.
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
	for _, k := range choices() {
		if strings.HasPrefix(k.lock+"@", lock+"@") {
			return k.lease
		}
	}
	return ""
}

// Warning is what a scenario of ours is about.
func Warning(scenario string) string {
	if pause, ok := strings.CutPrefix(scenario, decision.PauseScenario(0)[:len(decision.PauseScenario(0))-2]); ok {
		return "a process stands still for the longest that was ever seen: " + pause + " of a trial whose lease is the one that is advised"
	}
	return "processes stand still in their holds, for times drawn from the pauses there are: how many holds are doubled is what the curve of leases predicts"
}
