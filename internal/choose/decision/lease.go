package decision

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// LeaseInputs is what a lease is advised from.
type LeaseInputs struct {
	Needs  Needs
	Option Option

	Shortest time.Duration // lease that is advised; 0: any
	Longest  time.Duration // likewise

	Acquire Recorded // from the sending of the attempt that won to its return
	Hold    Recorded // of the work under the lock; nothing: what the needs say
	HandOff Recorded // from the end of a lease to the grant of who waits for it
}

// Recorded is what histories say of a time.
type Recorded struct {
	Sample   []time.Duration
	Where    string   // in a phrase: of which lock, under what conditions
	Evidence []string // ids of findings and figures
}

// Model is what the advice is worked out by.
func (in LeaseInputs) Model() LeaseModel {
	m := LeaseModel{Lease: in.Option.Lease, Acquire: FromSample(in.Acquire.Sample), Hold: FromSample(in.Hold.Sample),
		Pause: FromTimes(Times{in.Needs.Pauses.P50, in.Needs.Pauses.P99, in.Needs.Pauses.Longest}), PerHour: in.Needs.Pauses.PerHour}
	if len(in.Hold.Sample) == 0 {
		m.Hold = FromTimes(in.Needs.Hold)
	}
	if n := len(in.HandOff.Sample); n > 0 {
		var sum time.Duration
		for _, d := range in.HandOff.Sample {
			sum += d
		}
		m.HandOffMean, m.HandOffMax = sum/time.Duration(n), slices.Max(in.HandOff.Sample)
	}
	return m
}

// AdviseLease says how long a lease to ask for; nil where the option is no lock. Only a lease that ends after a time has a
// length to choose.
func AdviseLease(in LeaseInputs) *LeaseAdvice {
	if in.Option.Kind != ALock {
		return nil
	}
	out := &LeaseAdvice{Option: in.Option.Name, Lease: in.Option.Lease, Inputs: []Statement{}, Curve: []LeasePoint{}, Confirmed: []Confirmed{}}
	switch in.Option.Lease {
	case Connection:
		out.Sentence = fmt.Sprintf("%s has no lease to choose: a hold lasts as long as the connection of its holder. A process that stands still keeps it while the server keeps the connection, and after the death of a holder the next is granted when the server has noticed.", out.Option)
	case Fixed, Renewed:
		m := in.Model()
		needed := m.Needed()
		out.Inputs = in.inputs()
		for _, ttl := range in.leases(needed) {
			p := m.Point(ttl)
			out.Curve = append(out.Curve, p)
			if out.AdvisedNS == 0 && in.fits(ttl, needed) && in.inTime(p) {
				out.AdvisedNS = p.TTLNS
			}
		}
		out.Sentence = in.sentence(m, needed, out)
		out.Points = m.TrialPoints(time.Duration(out.AdvisedNS), time.Duration(in.Option.ShortestNS), time.Duration(in.Option.BackOffNS))
		out.Curve = m.through(out.Curve, out.Points)
	default:
		out.Sentence = fmt.Sprintf("%s has no lease to choose: nothing ends a hold whose holder has died.", out.Option)
	}
	return out
}

// through is a curve that has in it the leases that are to be tried, as they are in use.
func (m LeaseModel) through(curve []LeasePoint, tried []TrialPoint) []LeasePoint {
	for _, p := range tried {
		ttl := time.Duration(digits4(float64(p.TTL) / p.Scale))
		if !slices.ContainsFunc(curve, func(c LeasePoint) bool { return c.TTLNS == int64(ttl) }) {
			curve = append(curve, m.Point(ttl))
		}
	}
	slices.SortFunc(curve, func(a, b LeasePoint) int { return cmp.Compare(a.TTLNS, b.TTLNS) })
	return curve
}

// fits tells whether a lease is long enough.
func (in LeaseInputs) fits(ttl, needed time.Duration) bool {
	return ttl >= needed && ttl >= in.Shortest
}

// inTime tells whether the next is granted as soon after the death of a holder as is needed.
func (in LeaseInputs) inTime(p LeasePoint) bool {
	return in.Needs.Recovery == 0 || p.RecoveryMaxNS <= int64(in.Needs.Recovery)
}

// Needed is the shortest lease that no single pause outlasts, of those that were ever seen, whatever the hold.
func (m LeaseModel) Needed() time.Duration {
	pause, trip := m.Pause.Longest(), m.Acquire.Longest()
	least := trip + m.Hold.Longest() + pause
	if m.Lease == Renewed { // a pause may begin when the next renewal is due: what is left then is two thirds, less two round trips
		least = (pause + 2*trip) * 3 / 2
	}
	return (least + clockError) * 100 / 99
}

// clockError is what is left for clocks beside one in a hundred of the lease, as where promises are judged.
const clockError = 2 * time.Millisecond

// leases are the lengths that are looked at, by rising length: short ones too, to show what they would mean, and none that
// is far longer than any need.
func (in LeaseInputs) leases(needed time.Duration) []time.Duration {
	var out []time.Duration
	for decade := 100 * time.Millisecond; decade <= time.Hour; decade *= 10 {
		for _, tenths := range []time.Duration{10, 15, 20, 30, 50, 70} {
			ttl := decade * tenths / 10
			long := len(out) > 0 && out[len(out)-1] >= 10*needed || in.Longest > 0 && ttl > in.Longest
			if ttl <= time.Hour && !long {
				out = append(out, ttl)
			}
		}
	}
	return out
}

// sentence is the advice, or what stands against every lease, with the figures that it follows from.
func (in LeaseInputs) sentence(m LeaseModel, needed time.Duration, a *LeaseAdvice) string {
	pause, within := m.Pause.Longest(), in.Needs.Recovery
	why, asks := fmt.Sprintf("the longest work of %s and the longest pause ever seen of %s", Lasting(m.Hold.Longest()), Lasting(pause)), "ask"
	if m.Lease == Renewed {
		why, asks = fmt.Sprintf("the longest pause ever seen of %s, which may begin when a third of the lease is over and its renewal due,", Lasting(pause)), "asks"
	}
	at := slices.IndexFunc(a.Curve, func(p LeasePoint) bool { return in.fits(time.Duration(p.TTLNS), needed) })
	const beyond = "Of a longer pause than any that was seen this says nothing: every probability of the curve is a lower bound."
	switch {
	case a.AdvisedNS > 0:
		p := a.Curve[slices.IndexFunc(a.Curve, func(p LeasePoint) bool { return p.TTLNS == a.AdvisedNS })]
		return fmt.Sprintf("Ask %s for a lease of %s: it outlasts %s. A hold is doubled with a probability of %s, with %s pauses an hour in each process and somebody always waiting; after the death of a holder the next is granted within %s, on average after %s. %s",
			in.Option.Name, Lasting(time.Duration(p.TTLNS)), strings.TrimSuffix(why, ","), share(p.Double), strconv.FormatFloat(m.PerHour, 'g', 4, 64),
			Lasting(time.Duration(p.RecoveryMaxNS)), Lasting(time.Duration(p.RecoveryMeanNS)), beyond)
	case at < 0:
		return fmt.Sprintf("No lease of %s does what is needed: %s %s for one of at least %s, and the longest that is looked at is %s. %s",
			in.Option.Name, why, asks, Lasting(needed), Lasting(in.longest()), beyond)
	}
	p := a.Curve[at]
	return fmt.Sprintf("No lease of %s does what is needed: %s %s for one of at least %s, with which the next is granted up to %s after the death of a holder, and that is to be within %s. Either holders recover more slowly, or pauses%s become shorter, or what is guarded checks fencing tokens.",
		in.Option.Name, why, asks, Lasting(time.Duration(p.TTLNS)), Lasting(time.Duration(p.RecoveryMaxNS)), Lasting(within), orWork(m.Lease))
}

// orWork is what decides the length of a lease beside pauses.
func orWork(l Lease) string {
	if l == Fixed {
		return " and work"
	}
	return ""
}

// longest is the longest lease that can be advised.
func (in LeaseInputs) longest() time.Duration {
	return min(cmp.Or(in.Longest, 3000*time.Second), 3000*time.Second)
}

// inputs says what the curve is made from.
func (in LeaseInputs) inputs() []Statement {
	n := in.Needs
	hold := Statement{Tag: Assumed, Text: fmt.Sprintf("The work under the lock takes %s, as %s.", quantiles(n.Hold), n.said("hold"))}
	if n.HoldRecorded != "" {
		hold = Statement{Tag: Measured, Text: fmt.Sprintf("The work under the lock took %s: %s.", quantiles(n.Hold), n.HoldRecorded)}
	}
	if s := in.Hold.Sample; len(s) > 0 {
		hold = in.Hold.statement("The work under the lock took")
	}
	often := fmt.Sprintf("%s times an hour, for %s", strconv.FormatFloat(n.Pauses.PerHour, 'g', 4, 64),
		quantiles(Times{n.Pauses.P50, n.Pauses.P99, n.Pauses.Longest}))
	pauses := Statement{Tag: Assumed, Text: fmt.Sprintf("A process stands still %s, as %s.", often, n.said("pauses"))}
	if n.Pauses.Measured != "" {
		pauses = Statement{Tag: Measured, Text: fmt.Sprintf("A process stood still %s: %s", often, n.Pauses.Measured)}
	}
	acquire := Statement{Tag: Unknown, Text: "No acquire was recorded: round trips are taken to last no time, so that a lease may have to be longer by some."}
	if len(in.Acquire.Sample) > 0 {
		acquire = in.Acquire.statement("From the sending of the attempt that won to its answer it took")
	}
	handOff := Statement{Tag: Unknown, Text: "How long it takes from the end of a lease to the next grant was not recorded: it is taken to last no time, so that recovery may take longer by some."}
	if len(in.HandOff.Sample) > 0 {
		handOff = in.HandOff.statement("From the end of a lease to the next grant it took")
	}
	return []Statement{hold, pauses, acquire, handOff, {Tag: Assumed, Text: "It is assumed that somebody always waits, that pauses come at random and do not depend on each other or on the work, and that between two quantiles of a time the share that takes longer falls as a power of it; the longest ever seen is taken for one in ten thousand where only quantiles were given."}}
}

// said is who said a need.
func (n Needs) said(key string) string {
	if n.Unstated(key) {
		return "is assumed where nobody says"
	}
	return "was stated"
}

// statement says what was recorded, by what it took.
func (r Recorded) statement(took string) Statement {
	d := FromSample(r.Sample)
	text := fmt.Sprintf("%s %s in %d recorded cases", took,
		quantiles(Times{time.Duration(d.quantile(0.5)), time.Duration(d.quantile(0.01)), d.Longest()}), len(r.Sample))
	if r.Where != "" {
		text += " (" + r.Where + ")"
	}
	return Statement{Tag: Measured, Text: text + ".", Evidence: r.Evidence}
}

func quantiles(t Times) string {
	return fmt.Sprintf("%s at the median, %s at the 99th percentile and %s at most", Lasting(t.P50), Lasting(t.P99), Lasting(t.Max))
}

// share writes a probability as a reader can take it in.
func share(p float64) string {
	switch {
	case p == 0:
		return "0"
	case p < 1e-3:
		return fmt.Sprintf("1 in %s", strconv.FormatFloat(digits2(1/p), 'f', -1, 64))
	}
	return strconv.FormatFloat(digits2(100*p), 'f', -1, 64) + " %"
}

func digits2(v float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 1, 64), 64)
	return rounded
}

// Lasting writes a time with a unit that fits it and three digits.
func Lasting(d time.Duration) string {
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d >= u.of && (u.of < time.Minute || d >= 2*u.of) {
			v, _ := strconv.ParseFloat(strconv.FormatFloat(float64(d)/float64(u.of), 'g', 3, 64), 64)
			return strconv.FormatFloat(v, 'f', -1, 64) + " " + u.name
		}
	}
	return strconv.FormatInt(int64(d), 10) + " ns"
}
