package decision

import (
	"cmp"
	"slices"
	"time"

	"lockbench/reports/selection"
	"lockbench/reports/stats"
)

// LeaseInputs is what a lease is advised from.
type LeaseInputs struct {
	Needs    selection.Needs
	Option   selection.Option
	Shortest time.Duration // lease that is advised; 0: any
	Acquire  Recorded      // from the sending of the attempt that won to its return
	HandOff  Recorded      // from the end of a lease to the next grant
}

// Recorded is what histories say of a time.
type Recorded struct {
	Sample   []time.Duration
	Where    string   // of which lock, under what conditions
	Evidence []string // ids of findings and figures
}

// Advice is the advice on a lease, and the leases to try.
type Advice struct {
	selection.LeaseAdvice
	Points []TrialPoint
}

// Model returns the model that the advice is worked out by.
func (in LeaseInputs) Model() LeaseModel {
	pauses := in.Needs.Pauses
	m := LeaseModel{Lease: in.Option.Lease, Acquire: FromSample(in.Acquire.Sample), Hold: FromTimes(in.Needs.Hold),
		Pause: FromTimes(selection.Times{P50: pauses.P50, P99: pauses.P99, Max: pauses.Longest}), PerHour: pauses.PerHour}
	if n := len(in.HandOff.Sample); n > 0 {
		for _, d := range in.HandOff.Sample {
			m.HandOffMean += d
		}
		m.HandOffMean /= time.Duration(n)
		m.HandOffMax = slices.Max(in.HandOff.Sample)
	}
	return m
}

// AdviseLease advises how long a lease to ask for; nil if the option is no lock. Only a lease that ends after a time has a
// length to choose.
func AdviseLease(in LeaseInputs) *Advice {
	o := in.Option
	if o.Kind != selection.ALock {
		return nil
	}
	a := &Advice{LeaseAdvice: selection.LeaseAdvice{Option: o.Name, Lease: o.Lease, Inputs: []selection.LeaseInput{}, Curve: []selection.LeasePoint{}, Confirmed: []selection.Confirmed{}}}
	if o.Lease != selection.Fixed && o.Lease != selection.Renewed {
		return a
	}
	m := in.Model()
	needed := m.Needed()
	a.NeededNS, a.Inputs = int64(max(needed, in.Shortest)), in.inputs()
	for _, ttl := range leases(needed) {
		p := m.Point(ttl)
		a.Curve = append(a.Curve, p)
		if a.AdvisedNS == 0 && p.TTLNS >= a.NeededNS && inTime(in.Needs, p.RecoveryMaxNS) {
			a.AdvisedNS = p.TTLNS
		}
	}
	a.Points = m.TrialPoints(time.Duration(a.AdvisedNS), time.Duration(o.ShortestNS), time.Duration(o.BackOffNS))
	for _, p := range a.Points { // the curve has those too, as they are in use
		a.Curve = append(a.Curve, m.Point(time.Duration(round(float64(p.TTL)/p.Scale, 4))))
	}
	slices.SortStableFunc(a.Curve, func(a, b selection.LeasePoint) int { return cmp.Compare(a.TTLNS, b.TTLNS) })
	a.Curve = slices.CompactFunc(a.Curve, func(a, b selection.LeasePoint) bool { return a.TTLNS == b.TTLNS })
	return a
}

// inTime reports whether the next client is granted the lock soon enough after the death of a holder.
func inTime(n selection.Needs, recoveryNS int64) bool {
	return n.Recovery == 0 || recoveryNS <= int64(n.Recovery)
}

// Needed returns the shortest lease that outlasts every single pause of the needs, whatever the hold.
func (m LeaseModel) Needed() time.Duration {
	pause, trip := m.Pause.Longest(), m.Acquire.Longest()
	least := trip + m.Hold.Longest() + pause
	if m.Lease == selection.Renewed { // a pause may begin when the next renewal is due: two thirds are left, less two round trips
		least = (pause + 2*trip) * 3 / 2
	}
	return (least + clockError) * 100 / 99
}

// clockError is left for clocks, besides one in a hundred of the lease, as in the judge's check of promises.
const clockError = 2 * time.Millisecond

// leases returns the lengths that are looked at, by rising length: short ones too, to show what they would mean, and none
// far longer than needed.
func leases(needed time.Duration) []time.Duration {
	var out []time.Duration
	for decade := 100 * time.Millisecond; decade <= time.Hour; decade *= 10 {
		for _, tenths := range []time.Duration{10, 15, 20, 30, 50, 70} {
			ttl := decade * tenths / 10
			if ttl <= time.Hour && (len(out) == 0 || out[len(out)-1] < 10*needed) {
				out = append(out, ttl)
			}
		}
	}
	return out
}

// inputs are the times that the curve is made from.
func (in LeaseInputs) inputs() []selection.LeaseInput {
	n, p := in.Needs, in.Needs.Pauses
	list := []selection.LeaseInput{{Name: "hold", Where: n.HoldRecorded, Times: n.Hold},
		{Name: "pauses", Where: p.Measured, Times: selection.Times{P50: p.P50, P99: p.P99, Max: p.Longest}}, in.Acquire.input("acquire"), in.HandOff.input("hand-off")}
	for i, input := range list {
		list[i].Tag = cmp.Or(input.Tag, map[bool]selection.Tag{true: selection.Assumed, false: selection.Measured}[input.Where == ""])
	}
	return list
}

func (r Recorded) input(name string) selection.LeaseInput {
	if len(r.Sample) == 0 {
		return selection.LeaseInput{Name: name, Tag: selection.Unknown}
	}
	d := FromSample(r.Sample)
	return selection.LeaseInput{Name: name, Tag: selection.Measured, N: len(r.Sample), Where: r.Where, Evidence: r.Evidence,
		Times: selection.Times{P50: time.Duration(d.quantile(0.5)), P99: time.Duration(d.quantile(0.01)), Max: d.Longest()}}
}

// What a lease is advised by before anything was recorded: a grant takes no longer to be read than slowGrant, and no lease is
// shorter than a second: what nobody has seen yet is longer than a short lease.
const (
	slowGrant    = 50 * time.Millisecond
	leastAdvised = time.Second
)

// AdviseTTL returns the lease that is advised by the needs alone, for locks that are renewed or not; 0: none does what is
// needed. Locks are tried with it.
func AdviseTTL(n selection.Needs, l selection.Lease) time.Duration {
	in := LeaseInputs{Needs: n, Option: selection.Option{Lease: l}, Acquire: Recorded{Sample: []time.Duration{slowGrant}}}
	needed := max(in.Model().Needed(), leastAdvised)
	for _, ttl := range leases(needed) {
		if ttl >= needed && inTime(n, int64(ttl)) {
			return ttl
		}
	}
	return 0
}

// PointsToTry returns the leases to try for what a report recommends.
func PointsToTry(r *selection.Report) []TrialPoint {
	a := newDeciding(r.Needs, r.Options, r.Evidence).leaseAdvice(r)
	if a == nil {
		return nil
	}
	return a.Points
}

// leaseAdvice advises on the lease of the recommended lock, or of the best one if none is needed.
func (d *deciding) leaseAdvice(r *selection.Report) *Advice {
	var o selection.Option
	for _, name := range slices.Concat(r.Decision.Recommended, r.Decision.Lock) {
		if o = d.option(name); o.Kind == selection.ALock {
			break
		}
	}
	a := AdviseLease(LeaseInputs{Needs: d.needs, Option: o, Shortest: max(leastAdvised, d.ttl[o.Lease]), Acquire: d.acquire(o), HandOff: d.handOff(o)})
	if a != nil {
		a.confirm(d.Stood)
	}
	return a
}

func (d *deciding) acquire(o selection.Option) Recorded {
	for _, t := range d.Times {
		if t.Lock == o.Name && t.What == "acquire" {
			return Recorded{Sample: t.Quantiles, Where: t.Where, Evidence: []string{t.ID}}
		}
	}
	return Recorded{}
}

// handOff is how much later than the end of a lease the next client was granted the lock, when holders died.
func (d *deciding) handOff(o selection.Option) Recorded {
	f, ok := d.recovery(o)
	if !ok || o.Lease != selection.Fixed {
		return Recorded{}
	}
	r := Recorded{Where: "after the death of a holder, lease " + time.Duration(f.Point.TTLNS).String(), Evidence: []string{f.ID}}
	for _, multiple := range f.Estimate.Values {
		r.Sample = append(r.Sample, max(0, time.Duration((multiple-1)*float64(f.Point.TTLNS))))
	}
	return r
}

// confirm compares what was tried with what was predicted: only for the leases that follow from the inputs, since others may
// have been tried for other needs.
func (a *Advice) confirm(tried []selection.StoodStill) {
	for _, p := range a.Points {
		i := slices.IndexFunc(tried, func(s selection.StoodStill) bool { return s.Lock == a.Option && s.TTLNS == int64(p.TTL) })
		if i >= 0 {
			a.Confirmed = append(a.Confirmed, p.Confirm(Paused{tried[i].Holds, tried[i].Doubled}, tried[i].Source, tried[i].Histories))
		}
	}
}

// Confirm compares what was observed with what was predicted. source is what the report calls the folder of the histories.
func (p TrialPoint) Confirm(seen Paused, source string, of []selection.History) selection.Confirmed {
	low, high := stats.BinomialInterval(seen.Doubled, seen.Holds)
	c := selection.Confirmed{TTLNS: int64(p.TTL), Scale: p.Scale, Predicted: p.Predicted, Pauses: seen.Holds, Doubles: seen.Doubled,
		Low: round(low, 4), High: round(high, 4), Source: source, Histories: of}
	c.Agrees = seen.Holds > 0 && c.Low <= p.Predicted && p.Predicted <= c.High
	return c
}
