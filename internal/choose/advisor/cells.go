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

// Stage is a group of test cells. A cell is a combination of lock, workload and fault. Later stages do not try locks that
// earlier stages eliminated.
type Stage struct {
	Name   string
	Doc    string // one sentence that describes the stage
	Trials int    // number of trials per cell
	loads  func(selection.Needs) []string
	faults func(selection.Needs) []string
}

// AtOnce is the number of concurrent trials. Trials can run concurrently because they mostly wait and their measured times
// are not compared.
const AtOnce = 8

// Stages returns all stages in the order in which they run.
func Stages() []Stage {
	always := func(all ...string) func(selection.Needs) []string {
		return func(selection.Needs) []string { return all }
	}
	return []Stage{
		{"a-good-day", "no fault: a lock that does not exclude without a fault needs no more trials", 1, goodDay, always("none")},
		{"a-death", "the process of a holder is killed", 3, always("counter"), always("holder-kill")},
		{"the-store", "the store fails", 1, checked, func(n selection.Needs) []string {
			return lo.FlatMap(n.Survives, func(t selection.Trouble, _ int) []string { return decision.StoreFaults(t) })
		}},
		{"pauses", "the process of a holder is paused", 1, checked, always(decision.PauseFault, decision.LongestPause)},
		{"the-network", "messages are late or lost, and callers cancel", 1, guarded, always(decision.NetworkFaults()...)},
	}
}

func goodDay(n selection.Needs) []string {
	misuse := lo.Ternary(n.TwoHold == selection.Corruption, "misuse", "")
	return lo.Compact([]string{"counter", "contend", misuse, lo.Ternary(n.Reenters, "reentrant", "")})
}

// guarded returns the workload "counter" if two holders at once could corrupt the team's data. Otherwise it returns
// nil.
func guarded(n selection.Needs) []string {
	return lo.Ternary(n.TwoHold == selection.Corruption, []string{"counter"}, nil)
}

// checked returns the workload "counter" if two holders at once could corrupt data, and nil otherwise. To "counter" it adds
// the workload "write-fenced" if the resource checks fencing tokens only on writes.
func checked(n selection.Needs) []string {
	if n.TwoHold == selection.Corruption && n.Fence == selection.OnWrites {
		return []string{"counter", "write-fenced"}
	}
	return guarded(n)
}

// Cells returns the test cells of the stage for the given candidates. A cell is a combination of lock, deployment, workload
// and fault.
func (s Stage) Cells(n selection.Needs, options []selection.Option) (all []trial.Cell) {
	loads, injected := loadsNamed(s.loads(n)...), s.faults(n)
	tried := lo.Filter(faults.All(), func(f faults.Fault, _ int) bool { return slices.Contains(injected, f.Name) })
	for _, o := range lo.Filter(options, func(o selection.Option, _ int) bool { return o.Kind == selection.ALock }) {
		impl, on := candidate{lock: o.Name}.in(table())
		cells := trial.Plan([]impls.Impl{impl}, loads, tried)
		if len(cells) > 0 && slices.Contains(injected, decision.LongestPause) {
			cells = append(cells, longestPause(n, impl)...)
		}
		for _, c := range cells {
			c.Deployment = lo.Ternary(on == impl.Deployment, c.Deployment, on)
			all = append(all, c)
		}
	}
	return all
}

func loadsNamed(names ...string) []workloads.Workload {
	return lo.Filter(workloads.All(), func(w workloads.Workload, _ int) bool { return slices.Contains(names, w.Name) })
}

const (
	longTrial = 2 * time.Second // longest lease in a trial; for a longer advised lease, all times are scaled down
	fewHolds  = 1               // number of holds that a client completes before the hold in which it is paused
)

// longestPause returns the configurations (cells) of trials that pause a holder during its work. The pause and the work
// have the maximum lengths that the requirements state. The lease is the one that decision.AdviseTTL advises. If the
// lease is too long for a trial, all times are scaled down.
func longestPause(n selection.Needs, l impls.Impl) []trial.Cell {
	k, _ := lo.Find(choices(), func(k candidate) bool { return strings.HasPrefix(k.lock+"@", l.Name+"@") })
	ttl := decision.AdviseTTL(n, k.lease)
	if ttl == 0 {
		return nil
	}
	scale := min(1, float64(longTrial)/float64(ttl))
	of := func(d time.Duration) time.Duration { return time.Duration(float64(d) * scale).Round(time.Millisecond) }
	pause, hold := of(n.Pauses.Longest), min(of(n.Hold.Max), longTrial)
	f := faults.Fault{Name: decision.LongestPause, Kind: faults.Clients, Doc: "the process of a holder is paused for the longest pause of the requirements"}
	f.Shape = func(p *workloads.Params, _ faults.Scene) {
		p.TTL, p.Hold = max(of(ttl), l.Shortest), max(hold, time.Millisecond)
		p.Duration = pause + 5*hold + time.Second/2
	}
	f.Plan = func(s faults.Scene) faults.Plan {
		first := workloads.Moment{Point: workloads.Granted} // the other clients start when the victim is granted the key
		gates := []faults.Gate{{Client: 1, Until: first, Timeout: s.TTL}, {Client: 2, Until: first, Timeout: s.TTL}}
		return faults.Plan{Gates: gates, Steps: []faults.Step{{
			When: faults.Trigger{At: workloads.Moment{Point: workloads.Working, Iteration: fewHolds}}, Do: faults.Action{Verb: faults.Pause}, For: pause}}}
	}
	cells := trial.Plan([]impls.Impl{l}, loadsNamed("counter"), []faults.Fault{f})
	for i := range cells {
		cells[i].Scenario = decision.PauseScenario(pause)
	}
	return cells
}

// Warning returns a sentence about the named scenario, to be printed in the report.
func Warning(scenario string) string {
	if pause, ok := strings.CutPrefix(scenario, decision.PauseScenario(0)[:len(decision.PauseScenario(0))-2]); ok {
		return "a holder is paused for " + pause + ", the longest pause of the requirements, with the advised lease"
	}
	return "holders are paused for times drawn from the distribution of pauses; the lease curve predicts how often two clients then hold at once"
}
