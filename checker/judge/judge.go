// Package judge judges histories. File judges a history file, and History judges the lines of a history. Both return a
// checker.Verdict.
package judge

import (
	"fmt"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/checker/oracle"
	"lockbench/checker/projection"
	"lockbench/checker/properties"
	"lockbench/histories"
	"lockbench/histories/edn"
)

// Options selects how much of a history the linearizability checker Porcupine checks.
type Options struct {
	// FullOracle makes Porcupine check all of a long history instead of a sample of it.
	FullOracle bool
	// NoOracle skips the check by Porcupine and leaves Verdict.Oracle zero.
	NoOracle bool
}

// File reads a history file and returns the verdict on every property, and the header of the history.
func File(path string, o Options) (*checker.Verdict, histories.Header, error) {
	r, err := histories.Open(path, edn.Format)
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

// History reads a history and returns the verdict on every property. It ignores the expectations in the header.
func History(h histories.Header, next func() (histories.Line, error), o Options) (*checker.Verdict, error) {
	j := newJudge(h, o)
	cover, err := histories.Replay(next, j.visit)
	if err != nil {
		return nil, err
	}
	return j.verdict(cover), nil
}

type judge struct {
	*properties.Facts
	projection *projection.Projection
	judgements []properties.Judgement
	tally      *tally
	oracle     *oracle.Oracle // nil if Options.NoOracle is set
	granted    time.Duration  // time of the last grant during the workload
}

func newJudge(h histories.Header, o Options) *judge {
	f := properties.NewFacts(h)
	j := &judge{Facts: f, tally: &tally{Counts: f.Counts, lost: map[int32]histories.Op{}, fresh: f.Fresh}}
	if !o.NoOracle {
		j.oracle = oracle.New(o.FullOracle, h.Seed, projection.Lived(), projection.Promised())
	}
	j.projection = projection.New(f.Slack, j.change)
	if h.SilentRenewals {
		j.projection.ExtendByObservation(h.ObservedStep.D())
	}
	if h.WaitsInside {
		j.projection.PromiseFromReleases()
	}
	for _, p := range properties.All() {
		x := p.Open(f)
		j.judgements = append(j.judgements, x)
		if m, ok := x.(oracle.Monitor); ok && j.oracle != nil {
			j.oracle.Watch(m)
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
		j.ChoosesKeys = true
		return nil // skip the call of an acquire without a key: the lock itself chooses the key, which is known at the return
	}
	if ev.Return && (ev.Op.Kind == histories.Acquire || ev.Op.Kind == histories.Renew) {
		j.Granted(ev.Op)
	}
	j.Answered(ev)
	j.TimeRead(ev.Op)
	k := j.projection.Key(ev.Op.Key)
	j.projection.Event(k, ev)
	j.Past.Event(k, ev)
	j.tally.event(k, ev)
	for _, x := range j.judgements {
		x.Event(k, ev)
	}
	return nil
}

// fault handles an event of an operation that starts or ends a fault. Many faults do not concern a single key, so the
// event may have no key.
func (j *judge) fault(ev histories.Event) {
	j.tally.fault(ev)
	if ev.Op.Kind == histories.Inject && ev.Op.Client == histories.Harness {
		j.Shaken = true
		j.ShakenPrimary = j.ShakenPrimary || ev.Op.Value != histories.Replicas
	}
	j.Facts.Fault(ev)
	if !ev.Op.EndsClient() {
		return
	}
	for _, x := range j.judgements {
		x.Fault(ev)
	}
	if !ev.Return {
		j.projection.Gone(ev.Op)
	}
}

func (j *judge) change(k *projection.Key, h *projection.Hold, c projection.Change) {
	j.Past.Change(h, c)
	j.tally.change(k, h, c)
	for _, x := range j.judgements {
		x.Change(k, h, c)
	}
	switch {
	case c == projection.Closed && j.oracle != nil:
		j.oracle.Add(k, h)
	case c == projection.Began && !j.Fresh(&h.Acquire):
		j.granted = h.Granted
	}
}

func (j *judge) verdict(cover histories.Coverage) *checker.Verdict {
	cover.MaxStall = max(cover.MaxStall, j.Header.Stall.D())
	j.Until, j.Stall = cover.Until, cover.MaxStall
	j.projection.Finish()
	j.Counts.Operations = cover.Ops
	v := &checker.Verdict{Until: cover.Until, Counts: *j.Counts, Slack: j.Slack, Bound: j.Bound, MaxStall: cover.MaxStall}
	for i, p := range properties.All() {
		f := j.judgements[i].Finding()
		f.Property = p.Name
		if f.Observed == checker.Held {
			j.weigh(&f, p.NeedsGrant)
		}
		if j.Header.Uncertainty > 0 && !slices.Contains(acrossClocks, p.Name) {
			f = checker.Finding{Property: p.Name, Observed: checker.NotApplicable, Why: "the clocks of several machines cannot decide it"}
		}
		if cover.Ops == 0 && j.Header.Marks {
			f.Observed, f.Why = checker.Undecided, "the history was cut off before an operation could be judged"
		}
		v.Findings = append(v.Findings, f)
	}
	if j.oracle != nil {
		v.Oracle = j.oracle.Judge()
	}
	v.Recoveries, v.Faults = j.Recovered, j.tally.bands
	if cover.LeftOut > 0 {
		v.Warnings = append(v.Warnings, fmt.Sprintf("the run was cut off: judged up to its last mark at %s; %s after it left out",
			checker.Milliseconds(cover.Until), checker.Count(cover.LeftOut, "operation")))
	}
	if ttl := j.Header.TTL.D(); ttl > 0 && cover.MaxStall > ttl {
		v.Warnings = append(v.Warnings, fmt.Sprintf("the harness itself was paused for %s, longer than the TTL of %s: its results about leases are not valid",
			cover.MaxStall.Round(time.Millisecond), ttl))
	}
	return v
}

// acrossClocks lists the properties that can be judged if several machines recorded the history. They depend only on when a
// grant was received, when a hold ended, and when an acquire was called, and these times are shifted so that a violation is certain.
var acrossClocks = []string{"lease-exclusion", "mutual-exclusion", "fencing"}

// settledLeast is the minimum number of returned acquires and releases to judge their outcomes. If there are at least
// this many, and most have an unknown outcome, the history is undecided.
const settledLeast = 8

// weigh changes a finding to Undecided if most outcomes are unknown, or if the fault of the trial was not verified. If
// needsGrant is set, a finding is also Undecided if nothing was granted after the fault began.
func (j *judge) weigh(f *checker.Finding, needsGrant bool) {
	fault := j.Header.Fault
	switch {
	case j.tally.settled >= settledLeast && j.tally.unsettled*2 > j.tally.settled:
		f.Observed, f.Why = checker.Undecided, fmt.Sprintf("%d of %d acquires and releases have an unknown outcome", j.tally.unsettled, j.tally.settled)
	case fault == "" || fault == "none":
	case !j.tally.injected:
		f.Observed, f.Why = checker.Undecided, "the fault "+fault+" was not verified"
	case j.granted < j.tally.first && needsGrant:
		f.Observed, f.Why = checker.Undecided, "nothing was granted after the fault "+fault+" began"
	}
}
