package selection

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"lockbench/reports/charts"
	"lockbench/reports/format"

	"lockbench/internal/choose/decision"
)

// The measures of the chart of leases: two panels above each other, with one axis of leases.
const (
	leaseLeft    = 78
	leaseRight   = 640
	doublesTop   = 34
	doublesFoot  = 250
	recoveryTop  = 306
	recoveryFoot = 430
	leaseHeight  = 476
)

// leastShown is the smallest probability that the chart has room for, below the greatest.
const leastShown = 1e-9

// leaseChart shows what each length of the lease would mean; ok is false where there is no curve.
func (v *view) leaseChart() (charts.Chart, bool) {
	l := v.Lease
	if l == nil || len(l.Curve) < 2 || l.Curve[0].TTLNS <= 0 {
		return charts.Chart{}, false
	}
	c := charts.Chart{
		ID: "lease-chart", Name: l.Option, Takeaway: v.leaseTakeaway(),
		Note: "Above: how likely it is that another is granted before the holder is done. A bar through a mark is the 95 % interval of what was observed where the lease was tried; a mark at the foot was observed never. Below: from the death of a holder to the next grant.",
		Head: []string{"lease", "double hold, each acquisition", "double hold, given a pause", "recovery, mean", "recovery, at most"},
	}
	for _, p := range l.Curve {
		name := format.Setting(p.TTLNS)
		if p.TTLNS == l.AdvisedNS {
			name += " (advised)"
		}
		c.Rows = append(c.Rows, []string{name, chance(p.Double), chance(p.GivenPause), format.Duration(float64(p.RecoveryMeanNS)), format.Duration(float64(p.RecoveryMaxNS))})
	}
	c.SVG = newLeaseDrawing(v).draw().SVG(c.ID, "lease", "The probability of a double hold, and the time to recover, by the length of the lease", c.Takeaway)
	return c, true
}

func (v *view) leaseTakeaway() string {
	l := v.Lease
	first, last := l.Curve[0], l.Curve[len(l.Curve)-1]
	at := func(p decision.LeasePoint) string {
		doubled := "no double hold by what is known"
		if p.Double > 0 {
			doubled = "a double hold in " + oneIn(p.Double)
		}
		return fmt.Sprintf("a lease of %s means %s, and a recovery within %s", format.Setting(p.TTLNS), doubled, format.Duration(float64(p.RecoveryMaxNS)))
	}
	for _, p := range l.Curve {
		if p.TTLNS == l.AdvisedNS {
			text := at(p)
			return strings.ToUpper(text[:1]) + text[1:] + "."
		}
	}
	text := at(first)
	return strings.ToUpper(text[:1]) + text[1:] + "; " + at(last) + "."
}

// chance writes a probability: small ones as powers of ten, which read better than zeros.
func chance(p float64) string {
	switch {
	case p == 0:
		return "0"
	case p < .001:
		power := math.Floor(math.Log10(p))
		digits := strconv.FormatFloat(p/math.Pow(10, power), 'f', 1, 64)
		if digits == "10.0" {
			digits, power = "1.0", power+1
		}
		return fmt.Sprintf("%s·10%s", digits, raised(int(power)))
	}
	return percent(p)
}

// power writes a power of ten on an axis.
func power(p float64) string {
	if p >= .001 {
		return percent(p)
	}
	return "10" + raised(int(math.Round(math.Log10(p))))
}

// oneIn writes the probability of an acquisition as people say it.
func oneIn(p float64) string {
	switch {
	case p > .01:
		return percent(p) + " of the acquisitions"
	case p < 1e-12:
		return "less than one acquisition in a million million"
	}
	n, _ := strconv.ParseFloat(strconv.FormatFloat(1/p, 'e', 1, 64), 64)
	return "one acquisition in " + format.Count(int(n))
}

// raised writes a power.
func raised(n int) string {
	return strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹").Replace(strconv.Itoa(n))
}

// leaseDrawing has the scales of the two panels.
type leaseDrawing struct {
	*charts.Canvas
	v                 *view
	x, chances, spans charts.Scale
}

func newLeaseDrawing(v *view) *leaseDrawing {
	l := v.Lease
	var leases, chances, spans []float64
	for _, p := range l.Curve {
		leases = append(leases, float64(p.TTLNS))
		chances = append(chances, p.Double, p.GivenPause)
		spans = append(spans, float64(p.RecoveryMeanNS), float64(p.RecoveryMaxNS))
	}
	for _, c := range l.Confirmed {
		leases = append(leases, asNeeded(c))
		chances = append(chances, observedShare(c), c.Low, c.High)
	}
	spans = append(spans, float64(v.Needs.Recovery))
	d := &leaseDrawing{Canvas: &charts.Canvas{Width: charts.ChartWidth, Height: leaseHeight}, v: v}
	low, high := charts.Limits(leases)
	d.x = charts.Scale{Low: low, High: high, From: leaseLeft, To: leaseRight, Log: true}
	low, high = charts.Limits(chances)
	if high == 0 { // nothing ever happens twice
		low, high = 1e-3, 1
	}
	d.chances = charts.Scale{Low: decade(max(low, high*leastShown)), High: min(1, decade(high)*10), From: doublesFoot, To: doublesTop, Log: true}
	low, high = charts.Limits(spans)
	if high == 0 {
		low, high = 1e6, 1e9
	}
	d.spans = charts.Scale{Low: low / 1.3, High: high * 1.3, From: recoveryFoot, To: recoveryTop, Log: true}
	return d
}

func decade(v float64) float64 { return math.Pow(10, math.Floor(math.Log10(v)+1e-9)) }

// asNeeded is a lease as the needs would have it, where it was tried with all times scaled.
func asNeeded(c decision.Confirmed) float64 {
	if c.Scale > 0 {
		return float64(c.TTLNS) / c.Scale
	}
	return float64(c.TTLNS)
}

func observedShare(c decision.Confirmed) float64 {
	if c.Pauses == 0 {
		return 0
	}
	return float64(c.Doubles) / float64(c.Pauses)
}

func (d *leaseDrawing) draw() *charts.Canvas {
	xTicks := durationTicks(d.x, apart)
	var powers []charts.Tick
	for _, t := range d.chances.Ticks() {
		if math.Abs(math.Log10(t)-math.Round(math.Log10(t))) < 1e-9 {
			powers = append(powers, charts.Tick{At: t, Text: power(t)})
		}
	}
	if len(powers) > 7 {
		var fewer []charts.Tick
		for i := len(powers) - 1; i >= 0; i -= 2 {
			fewer = append(fewer, powers[i])
		}
		powers = fewer
	}
	d.Text("soft", "start", leaseLeft, doublesTop-18, "probability of a double hold")
	d.Frame(d.x, d.chances, xTicks, powers)
	d.Text("soft", "start", leaseLeft, recoveryTop-12, "from the death of a holder to the next grant")
	d.Frame(d.x, d.spans, xTicks, durationTicks(d.spans, apart/2))
	d.Text("axis", "middle", (leaseLeft+leaseRight)/2, leaseHeight-6, "length of the lease")
	d.advised()
	d.lines()
	d.needed()
	for _, c := range d.v.Lease.Confirmed {
		d.confirmed(c)
	}
	return d.Canvas
}

// curve is a line of the chart with the name at its end.
func (d *leaseDrawing) curve(s charts.Style, name string, y charts.Scale, of func(decision.LeasePoint) float64) charts.End {
	var dots []charts.Dot
	for _, p := range d.v.Lease.Curve {
		value := of(p)
		dots = append(dots, charts.Dot{X: d.x.At(float64(p.TTLNS)), Y: y.At(max(value, y.Low))})
		if value < y.Low*(1-1e-9) { // it leaves the panel through its foot
			break
		}
	}
	end := charts.End{Text: name, Style: s, At: charts.Dot{X: leaseRight, Y: y.From}}
	if len(dots) > 0 {
		d.Track(s, dots)
		end.At = dots[len(dots)-1]
	}
	return end
}

func (d *leaseDrawing) lines() {
	d.Ends(charts.Ends{
		d.curve(charts.Style{Color: 0}, "each acquisition", d.chances, func(p decision.LeasePoint) float64 { return p.Double }),
		d.curve(charts.Style{Color: 1, Dash: "7 3", Marker: 1}, "given a pause in the hold", d.chances, func(p decision.LeasePoint) float64 { return p.GivenPause }),
	}, leaseRight+6, doublesTop+4, doublesFoot-4)
	d.Ends(charts.Ends{
		d.curve(charts.Style{Color: 2, Marker: 2}, "at most", d.spans, func(p decision.LeasePoint) float64 { return float64(p.RecoveryMaxNS) }),
		d.curve(charts.Style{Color: 3, Dash: "2 3", Marker: 3}, "on average", d.spans, func(p decision.LeasePoint) float64 { return float64(p.RecoveryMeanNS) }),
	}, leaseRight+6, recoveryTop+4, recoveryFoot-4)
}

// advised marks the lease that is advised, through both panels.
func (d *leaseDrawing) advised() {
	at := float64(d.v.Lease.AdvisedNS)
	if at < d.x.Low || at > d.x.High || at == 0 {
		return
	}
	x := d.x.At(at)
	d.Rect("advised", x-5, doublesTop-6, 10, recoveryFoot-doublesTop+6)
	anchor, text := "start", "advised: "+format.Setting(d.v.Lease.AdvisedNS)
	if x > (leaseLeft+leaseRight)/2 {
		anchor, x = "end", x-12
	}
	d.Text("name", anchor, x+6, doublesTop-10, text)
}

// needed marks within what the needs ask the next grant to come.
func (d *leaseDrawing) needed() {
	need := float64(d.v.Needs.Recovery)
	if need <= 0 {
		return
	}
	y := d.spans.At(need)
	d.Line("needed", leaseLeft, y, leaseRight, y)
	if y -= 5; y < recoveryTop+10 {
		y += 19 // below the line, where there is no room above
	}
	d.Text("soft", "start", leaseLeft+6, y, "needed: within "+format.Setting(int64(d.v.Needs.Recovery)))
}

// confirmed draws what was observed where a lease was tried.
func (d *leaseDrawing) confirmed(c decision.Confirmed) {
	clamp := func(p float64) float64 { return d.chances.At(min(max(p, d.chances.Low), d.chances.High)) }
	x, y := d.x.At(asNeeded(c)), clamp(observedShare(c))
	style := charts.Style{Color: 6, Marker: 3}
	if !c.Agrees {
		style.Marker = 5
	}
	low, high := clamp(c.Low), clamp(c.High)
	class := "whisker " + style.Class()
	d.Line(class, x, low, x, high)
	d.Line(class, x-4, low, x+4, low)
	d.Line(class, x-4, high, x+4, high)
	d.Marker(style, x, y)
	d.Text("", "start", x+9, y-7, fmt.Sprintf("tried: %d of %d", c.Doubles, c.Pauses))
}

// apart is how far the words of two ticks must be from each other.
const apart = 46

// durationTicks are round times, each with its unit, as many as there is room for.
func durationTicks(s charts.Scale, room float64) []charts.Tick {
	var all []charts.Tick
	last := math.Inf(-1)
	for _, round := range roundTimes() {
		at := s.At(float64(round))
		if float64(round) < s.Low || float64(round) > s.High || math.Abs(at-last) < room {
			continue
		}
		all, last = append(all, charts.Tick{At: float64(round), Text: format.Setting(int64(round))}), at
	}
	return all
}

// roundTimes are those that people set.
func roundTimes() []time.Duration {
	var all []time.Duration
	for unit := time.Microsecond; unit < time.Second; unit *= 10 {
		all = append(all, unit, 2*unit, 5*unit)
	}
	for _, s := range []time.Duration{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 6 * 3600, 24 * 3600} {
		all = append(all, s*time.Second)
	}
	return all
}
