package decision

import (
	"cmp"
	"slices"
	"time"

	"github.com/samber/lo"

	"lockbench/reports/selection"
	"lockbench/reports/stats"
)

// LeaseInputs holds the requirements, the candidate and the measured times from which AdviseLease computes a lease.
type LeaseInputs struct {
	Needs    selection.Needs
	Option   selection.Option
	Shortest time.Duration // shortest lease that may be advised; 0: no minimum
	Acquire  Recorded      // durations of the successful acquire attempts
	HandOff  Recorded      // times from the expiry of a lease to the next grant
}

// Recorded contains durations from histories, with a description of their source.
type Recorded struct {
	Sample   []time.Duration
	Where    string   // conditions under which the durations were recorded, such as "contended, 16 clients"
	Evidence []string // ids of the findings and figures
}

// Advice holds the advised lease and the leases to test.
type Advice struct {
	selection.LeaseAdvice
	Points []TrialPoint
}

// Model returns the LeaseModel for these inputs. The model predicts how often two clients hold the lock at once, for a lease
// of any length.
func (in LeaseInputs) Model() LeaseModel {
	pauses := in.Needs.Pauses
	return LeaseModel{Lease: in.Option.Lease, Acquire: FromSample(in.Acquire.Sample), Hold: FromTimes(in.Needs.Hold),
		Pause: FromTimes(selection.Times{P50: pauses.P50, P99: pauses.P99, Max: pauses.Longest}), PerHour: pauses.PerHour,
		HandOffMean: lo.Mean(in.HandOff.Sample), HandOffMax: lo.Max(in.HandOff.Sample)}
}

// AdviseLease returns the advised lease, or nil if the candidate is not a lock. AdvisedNS is 0 if the lock has no expiring
// lease, or if no lease meets the requirements.
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
	a.Curve = lo.Map(leases(needed), func(ttl time.Duration, _ int) selection.LeasePoint { return m.Point(ttl) })
	advised, _ := lo.Find(a.Curve, func(p selection.LeasePoint) bool { return p.TTLNS >= a.NeededNS && inTime(in.Needs, p.RecoveryMaxNS) })
	a.AdvisedNS = advised.TTLNS
	a.Points = m.TrialPoints(time.Duration(a.AdvisedNS), time.Duration(o.ShortestNS), time.Duration(o.BackOffNS))
	for _, p := range a.Points { // add the prediction for each tested lease; p.TTL is a scaled time, so divide it by p.Scale
		a.Curve = append(a.Curve, m.Point(time.Duration(round(float64(p.TTL)/p.Scale, 4))))
	}
	slices.SortStableFunc(a.Curve, func(a, b selection.LeasePoint) int { return cmp.Compare(a.TTLNS, b.TTLNS) })
	a.Curve = slices.CompactFunc(a.Curve, func(a, b selection.LeasePoint) bool { return a.TTLNS == b.TTLNS })
	return a
}

func inTime(n selection.Needs, recoveryNS int64) bool {
	return n.Recovery == 0 || recoveryNS <= int64(n.Recovery)
}

// Needed returns the shortest lease with which two holds cannot overlap, even during the longest pause that the requirements
// state.
func (m LeaseModel) Needed() time.Duration {
	pause, trip := m.Pause.Longest(), m.Acquire.Longest()
	least := trip + m.Hold.Longest() + pause
	if m.Lease == selection.Renewed { // worst case: the pause begins when a renewal is due; then two thirds of the lease remain, minus two round trips
		least = (pause + 2*trip) * 3 / 2
	}
	return (least + clockError) * 100 / 99
}

const clockError = 2 * time.Millisecond // allowance for clock errors, the same as in checker/judge; Needed also adds 1 % of the lease

// leases returns the leases for which predictions are made, up to about ten times the needed lease.
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

func (in LeaseInputs) inputs() []selection.LeaseInput {
	n, p := in.Needs, in.Needs.Pauses
	stated := func(name, where string, times selection.Times) selection.LeaseInput {
		return selection.LeaseInput{Name: name, Where: where, Times: times, Tag: lo.Ternary(where == "", selection.Assumed, selection.Measured)}
	}
	return []selection.LeaseInput{stated("hold", n.HoldRecorded, n.Hold),
		stated("pauses", p.Measured, selection.Times{P50: p.P50, P99: p.P99, Max: p.Longest}), in.Acquire.input("acquire"), in.HandOff.input("hand-off")}
}

func (r Recorded) input(name string) selection.LeaseInput {
	if len(r.Sample) == 0 {
		return selection.LeaseInput{Name: name, Tag: selection.Unknown}
	}
	d := FromSample(r.Sample)
	return selection.LeaseInput{Name: name, Tag: selection.Measured, N: len(r.Sample), Where: r.Where, Evidence: r.Evidence,
		Times: selection.Times{P50: time.Duration(d.quantile(0.5)), P99: time.Duration(d.quantile(0.01)), Max: d.Longest()}}
}

// slowGrant is the assumed longest acquire if no acquire was recorded. leastAdvised is the shortest lease that may be advised.
const (
	slowGrant    = 50 * time.Millisecond
	leastAdvised = time.Second
)

// AdviseTTL returns the lease that follows from the requirements alone. It is used to test locks before there is evidence. It
// returns 0 if no lease meets the requirements.
func AdviseTTL(n selection.Needs, l selection.Lease) time.Duration {
	in := LeaseInputs{Needs: n, Option: selection.Option{Lease: l}, Acquire: Recorded{Sample: []time.Duration{slowGrant}}}
	needed := max(in.Model().Needed(), leastAdvised)
	ttl, _ := lo.Find(leases(needed), func(ttl time.Duration) bool { return ttl >= needed && inTime(n, int64(ttl)) })
	return ttl
}

// PointsToTry returns the leases to test for the recommended lock of a report.
func PointsToTry(r *selection.Report) []TrialPoint {
	return lo.FromPtr(newDeciding(r.Needs, r.Options, r.Evidence).leaseAdvice(r)).Points
}

// leaseAdvice returns the advised lease of the recommended lock, and the leases to test. If the report recommends no lock, the
// advice is for the best lock.
func (d *deciding) leaseAdvice(r *selection.Report) *Advice {
	name, _ := lo.Find(slices.Concat(r.Decision.Recommended, r.Decision.Lock), func(name string) bool { return d.option(name).Kind == selection.ALock })
	o, _ := lo.Find(d.options, func(o selection.Option) bool { return o.Name == name })
	a := AdviseLease(LeaseInputs{Needs: d.needs, Option: o, Shortest: max(leastAdvised, d.ttl[o.Lease]), Acquire: d.acquire(o), HandOff: d.handOff(o)})
	if a != nil {
		a.confirm(d.Paused)
	}
	return a
}

func (d *deciding) acquire(o selection.Option) Recorded {
	t, found := lo.Find(d.Times, func(t selection.RecordedTime) bool { return t.Lock == o.Name && t.What == "acquire" })
	return lo.Ternary(found, Recorded{Sample: t.Quantiles, Where: t.Where, Evidence: []string{t.ID}}, Recorded{})
}

// handOff returns the times from the expiry of a dead holder's lease to the next grant.
func (d *deciding) handOff(o selection.Option) Recorded {
	f, ok := d.recovery(o)
	if !ok || o.Lease != selection.Fixed {
		return Recorded{}
	}
	late := func(multiple float64, _ int) time.Duration {
		return max(0, time.Duration((multiple-1)*float64(f.Point.TTLNS)))
	}
	return Recorded{Sample: lo.Map(f.Estimate.Values, late), Evidence: []string{f.ID},
		Where: "after the death of a holder, lease " + time.Duration(f.Point.TTLNS).String()}
}

// confirm compares the results of trials with the predictions in the field Points. It ignores trials with other lease durations,
// because they may belong to other requirements.
func (a *Advice) confirm(tried []selection.PausedHolds) {
	for _, p := range a.Points {
		s, found := lo.Find(tried, func(s selection.PausedHolds) bool { return s.Lock == a.Option && s.TTLNS == int64(p.TTL) })
		if found {
			a.Confirmed = append(a.Confirmed, p.Confirm(Paused{s.Holds, s.Overlapped}, s.Source, s.Histories))
		}
	}
}

// Confirm compares the predicted share of overlapping holds with the share observed in trials. Only holds during which the
// holder was paused are counted. The parameter source is the evidence id of the folder with the histories.
func (p TrialPoint) Confirm(seen Paused, source string, of []selection.History) selection.Confirmed {
	low, high := stats.BinomialInterval(seen.Overlapped, seen.Holds)
	c := selection.Confirmed{TTLNS: int64(p.TTL), Scale: p.Scale, Predicted: p.Predicted, Pauses: seen.Holds, Overlaps: seen.Overlapped,
		Low: round(low, 4), High: round(high, 4), Source: source, Histories: of}
	c.Agrees = seen.Holds > 0 && c.Low <= p.Predicted && p.Predicted <= c.High
	return c
}
