package measure

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"lockbench/checker/judge"
	"lockbench/histories"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/internal/measure/spread"
	"lockbench/internal/world/servers"
	"lockbench/reports/bench"
	"lockbench/reports/figures"
	"lockbench/workloads"
)

// Spread changes a plan so that agents run the clients. It leaves out baselines that need one machine. It returns an error if the plan
// has a workload or a fault that one machine must run.
func (p *Plan) Spread(agents int) error {
	for _, point := range p.Points {
		w, f, err := workloadAndFault(point.Workload, point.Fault)
		switch {
		case point.ID == pingPoint:
		case err != nil:
			return err
		case f.Name != faults.None().Name:
			return fmt.Errorf("the fault %s needs all clients on one machine", f.Name)
		case time.Duration(point.DurationNS+point.TTLNS+point.WaitNS) > longestSpread:
			return fmt.Errorf("duration, lease and wait of a trial on agents are longer than %s together", longestSpread)
		case !w.Divides():
			return fmt.Errorf("clients of the workload %s share a resource in memory, so they need one machine", w.Name)
		}
	}
	p.Agents = agents
	p.Pairs = slices.DeleteFunc(p.Pairs, func(pair bench.Pair) bool {
		s := p.Subjects[pair.Subject]
		return s.Lock == "local-mutex" || s.Lock == "" && p.Points[pair.Point].ID != pingPoint
	})
	for i := range p.Points {
		if p.Points[i].ID == controls+"-crowd" { // holds must be longer than the uncertainty of the clocks, or the violations are hidden
			p.Points[i].HoldNS, p.Points[i].DurationNS = int64(spreadHold), int64(10*spreadHold)
		}
		if p.Points[i].ID == controls+"-alone" { // long enough for a median of acquires on a distant server
			p.Points[i].DurationNS = int64(time.Second)
		}
	}
	p.Notes = append(p.Notes, "clients run on agents: the round trip is the coordinator's, and processor time and round trips of clients are not counted")
	return nil
}

// longestSpread bounds the time that a trial on agents may take. Agents refuse calls that may last for an hour.
const longestSpread = 30 * time.Minute

// spreadHold is the hold time of the known-broken lock on agents.
const spreadHold = 50 * time.Millisecond

// spread runs a trial on agents, writes its merged history, judges it, and computes its figures.
func (b *Bench) spread(ctx context.Context, c trial.Cell, setting trial.Setting, g *servers.Group, delay time.Duration, point bench.Point, t *bench.Trial, granted *atomic.Int64) error {
	setting.Params.Seed += uint64(t.Block)
	share := spread.Share{Run: setting.Run, Lock: c.Lock.Name, Deployment: c.Deployment,
		Workload: c.Workload.Name, Params: setting.Params, LockParams: setting.LockParams, Delay: delay, Servers: b.Crew.Servers}
	var recorded *spread.Trial
	var err error
	for range spreadTries {
		share.ID, share.Prefix = rand.Text()[:16], trial.UniquePrefix(setting.Run)
		recorded, err = b.Crew.Run(ctx, share)
		if g != nil { // the agents have ended, or use other keys next time
			err = errors.Join(err, g.Sweep(setting.Run))
		}
		if !errors.Is(err, spread.ErrDiscarded) {
			break
		}
	}
	if err != nil {
		return err
	}
	granted.Store(int64(recorded.Grants))
	return b.spreadMeasured(recorded, point, t)
}

// spreadTries is the number of times that a discarded trial is tried.
const spreadTries = 5

// spreadMeasured writes and judges the merged history of a trial, and computes the figures.
func (b *Bench) spreadMeasured(recorded *spread.Trial, point bench.Point, t *bench.Trial) error {
	dir := filepath.Join(b.Dir, filepath.FromSlash(t.Dir))
	file := filepath.Join(dir, "history.jsonl.zst")
	if err := recorded.Write(file); err != nil {
		return err
	}
	verdict, header, err := judge.File(file, judge.Options{})
	if err != nil {
		return err
	}
	if t.Judged, err = judged(b.Dir, file, trial.Outcome{Header: header, Verdict: verdict}); err != nil {
		return err
	}
	if 2*recorded.Hidden > recorded.Grants {
		t.Judged.Undecided = append(t.Judged.Undecided, unjudged(&header, t.Judged)...)
	}
	window := figures.Window{From: recorded.From, To: recorded.From + time.Duration(point.DurationNS)}
	t.WarmupNS, t.FromNS, t.MeasuredNS = int64(spread.WarmUp), int64(window.From), point.DurationNS
	line := newTimeline(point.Clients, spread.WarmUp+time.Duration(point.DurationNS))
	rates := &steadiness{until: window.From}
	stats, err := figures.Of(&recorded.Header, histories.Ops(recorded.Measured), window, line.visit, rates.visit)
	if err != nil {
		return err
	}
	t.Steady = rates.steady()
	t.Figures, t.Shares = ofHistory(stats, point, 0), stats.PerClient
	addLateness(t.Figures, stats, verdict.MaxStall)
	if t.Block == 0 {
		t.Timeline = line.timeline(verdict)
	}
	t.Agents = &bench.Agents{Names: recorded.Agents, UncertaintyNS: int64(recorded.Uncertainty), Grants: recorded.Grants, Hidden: recorded.Hidden, LateNS: int64(recorded.Late)}
	if t.Curves, err = curves(stats, point); err != nil || !b.Forget || !t.Judged.AsExpected() {
		return err
	}
	t.Judged.History = ""
	return os.Remove(file)
}

// unjudged returns the properties about which a history says too little, because most holds were shorter than the uncertainty of
// the clocks.
func unjudged(h *histories.Header, j *bench.Judged) (names []string) {
	for _, name := range []string{"lease-exclusion", "mutual-exclusion"} {
		violated := slices.ContainsFunc(j.Violated, func(v bench.Violation) bool { return v.Property == name })
		if h.Expectation(name).Expected == histories.ToHold && !violated && !slices.Contains(j.Undecided, name) {
			names = append(names, name)
		}
	}
	return names
}

// steadiness counts grants in the last two time slices before the measured window.
type steadiness struct {
	until         time.Duration
	before, after int64
}

func (s *steadiness) visit(ev histories.Event) {
	if ev.Op.Kind != histories.Acquire || !ev.Return || ev.Op.Outcome != histories.OK {
		return
	}
	switch at := ev.Op.Return; {
	case at >= s.until || at < s.until-2*slice:
	case at < s.until-slice:
		s.before++
	default:
		s.after++
	}
}

func (s *steadiness) steady() bool { return alike(s.before, s.after) }

// Divisible returns the names of the workloads whose clients can run on agents.
func Divisible() (names []string) {
	for _, w := range workloads.All() {
		if w.Divides() {
			names = append(names, w.Name)
		}
	}
	return names
}
