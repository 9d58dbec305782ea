package checker

import (
	"fmt"
	"time"

	"lockbench/histories"
)

// Options say how a history is judged.
type Options struct {
	// FullOracle has Porcupine search all of a long history; it searches a sample of its windows otherwise.
	FullOracle bool
	// NoOracle leaves Porcupine out: the verdict's Oracle is zero then. For searches; what they find is judged again.
	NoOracle bool
}

// File judges a history file by everything it can show.
func File(path string, o Options) (*Verdict, histories.Header, error) {
	r, err := histories.Open(path)
	if err != nil {
		return nil, histories.Header{}, err
	}
	defer r.Close()
	v, err := History(r.Header, r.Next, o)
	if err != nil {
		return nil, r.Header, fmt.Errorf("%s: %w", path, err)
	}
	v.Warnings = append(v.Warnings, r.Warnings...)
	return v, r.Header, nil
}

// History reads a history once and judges it by every property. The header's TTL, bound and slack are used,
// its claims are not: what was expected decides nothing about what is observed.
func History(h histories.Header, next func() (histories.Line, error), o Options) (*Verdict, error) {
	j := newJudge(h, o)
	cover, err := histories.Replay(next, j.visit)
	if err != nil {
		return nil, err
	}
	return j.verdict(cover), nil
}

type judge struct {
	*facts
	projection *projection
	judgements []judgement
	tally      *tally
	oracle     *oracle       // nil: left out
	granted    time.Duration // the last grant to a client of the workload
}

func newJudge(h histories.Header, o Options) *judge {
	f := newFacts(h)
	j := &judge{facts: f, tally: &tally{Counts: f.counts, lost: map[int32]histories.Op{}}}
	if !o.NoOracle {
		j.oracle = newOracle(o.FullOracle, h.Seed, lived(), promised())
	}
	j.projection = newProjection(f.slack, j.change)
	for _, p := range Properties() {
		x := p.open(f)
		j.judgements = append(j.judgements, x)
		if m, ok := x.(monitor); ok && j.oracle != nil {
			j.oracle.watch(m)
		}
	}
	return j
}

func (j *judge) visit(ev histories.Event) error {
	if ev.Op.Kind == histories.Inject || ev.Op.Kind == histories.Heal {
		j.fault(ev)
		return nil
	}
	if ev.Op.Kind == histories.Acquire && ev.Op.Key == "" {
		return nil // which key is asked for is not known before it returns
	}
	k := j.projection.key(ev.Op.Key)
	j.projection.event(k, ev)
	j.past.event(k, ev)
	j.tally.event(k, ev)
	for _, x := range j.judgements {
		x.event(k, ev)
	}
	return nil
}

// fault takes in what was injected. It may be of no key.
func (j *judge) fault(ev histories.Event) {
	j.tally.fault(ev)
	if ev.Op.Kind == histories.Inject && ev.Op.Client == histories.Harness {
		j.shaken = true
	}
	if !ev.Op.EndsClient() {
		return
	}
	for _, x := range j.judgements {
		if x, ok := x.(faulted); ok {
			x.fault(ev)
		}
	}
	if !ev.Return {
		j.projection.gone(ev.Op)
	}
}

func (j *judge) change(k *key, h *hold, c change) {
	j.past.change(h, c)
	j.tally.change(k, h, c)
	for _, x := range j.judgements {
		x.change(k, h, c)
	}
	switch {
	case c == closed && j.oracle != nil:
		j.oracle.add(k, h)
	case c == began && !j.fresh(&h.acquire):
		j.granted = h.granted
	}
}

func (j *judge) verdict(cover histories.Coverage) *Verdict {
	j.until = cover.Until
	j.projection.finish()
	j.counts.Operations = cover.Ops
	v := &Verdict{Until: cover.Until, Counts: *j.counts, Slack: j.slack, Bound: j.bound, MaxStall: cover.MaxStall}
	for i, p := range Properties() {
		f := j.judgements[i].finding()
		f.Property = p.Name
		if f.Observed == Held {
			j.weigh(&f, p.NeedsGrant)
		}
		v.Findings = append(v.Findings, f)
	}
	if j.oracle != nil {
		v.Oracle = j.oracle.judge()
	}
	v.Recoveries, v.Faults = j.recovered, j.tally.bands
	v.Warnings = j.warnings(cover)
	return v
}

// weigh takes a pass back where the history cannot bear it.
func (j *judge) weigh(f *Finding, needsGrant bool) {
	fault := j.header.Fault
	switch {
	case fault == "" || fault == "none":
	case !j.tally.injected:
		f.Observed, f.Why = Undecided, "the fault "+fault+" was not seen to take effect"
	case j.granted < j.tally.first && needsGrant:
		f.Observed, f.Why = Undecided, "nothing was granted after the fault "+fault+" began"
	}
}

func (j *judge) warnings(cover histories.Coverage) []string {
	var w []string
	if cover.LeftOut > 0 {
		w = append(w, fmt.Sprintf("the run was cut off: judged up to its last mark at %s; %s after it left out", ms(cover.Until), count(cover.LeftOut, "operation")))
	}
	if ttl := j.header.TTL.D(); ttl > 0 && cover.MaxStall > ttl {
		w = append(w, fmt.Sprintf("the harness itself stood still for %s, longer than the TTL of %s: what it shows of leases is void", cover.MaxStall.Round(time.Millisecond), ttl))
	}
	return w
}
