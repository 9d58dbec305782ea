package selection

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/samber/lo"

	"lockbench/reports/charts"
	"lockbench/reports/format"
)

// Scores returns the chart of the scores and their intervals, or nil.
func (v *view) Scores() *charts.Chart {
	scores := v.Decision.Scores
	if len(scores) == 0 {
		return nil
	}
	c := &charts.Chart{ID: "scores-chart", Name: "Weighted score", Takeaway: fmt.Sprintf("%s has the highest score: %s.", scores[0].Option, score(scores[0].Score)),
		Head: append([]string{"candidate", "rank", "score, 95 % interval"}, lo.Map(v.Report.Criteria, func(k Criterion, _ int) string { return k.Title })...)}
	rows := charts.Rows{X: charts.Axis{High: 1, Label: "weighted score; 1: the best in everything"}, Names: true, Texts: true}
	for i, s := range scores {
		c.Rows = append(c.Rows, append([]string{s.Option, fmt.Sprint(s.Rank), scored(s)}, lo.Map(v.Report.Criteria, func(k Criterion, _ int) string {
			return lo.Ternary(s.Parts == nil, format.None, score(s.Parts[k.Name]))
		})...))
		style := charts.StyleAt(i)
		rows.Rows = append(rows.Rows, charts.Row{Name: s.Option, Style: style, Marks: []charts.Mark{{At: s.Score, Style: style}}, Low: s.Low, High: s.High,
			Text: fmt.Sprintf("rank %d: %s", s.Rank, scored(s))})
	}
	c.Draw(rows, "The weighted score of each candidate of the Pareto set")
	return c
}

const leastShown = 1e-9 // lowest value of the axis, divided by the highest probability

// Leases returns the chart of the predictions for different lease durations, or nil if there are too few predictions.
func (v *view) Leases() *charts.Chart {
	l := v.Lease
	if l == nil || len(l.Curve) < 2 || l.Curve[0].TTLNS <= 0 {
		return nil
	}
	c := &charts.Chart{ID: "lease-chart", Name: l.Option, Takeaway: v.leaseTakeaway(),
		Note: "Above: the probability that another client is granted the lock before its holder has finished. A bar through a mark is the 95 % interval of what was observed in trials of a lease. Below: from the death of a holder to the next grant.",
		Head: []string{"lease", "two holders, each acquisition", "two holders, given a pause", "recovery, mean", "recovery, at most"}}
	c.Rows = lo.Map(l.Curve, func(p LeasePoint, _ int) []string {
		name := format.Setting(p.TTLNS) + lo.Ternary(p.TTLNS == l.AdvisedNS, " (advised)", "")
		return []string{name, chance(p.Overlap), chance(p.GivenPause), format.Duration(p.RecoveryMeanNS), format.Duration(p.RecoveryMaxNS)}
	})
	c.Draw(charts.Grid{Columns: 1, Panels: []charts.Panel{v.overlaps(), v.recoveries()}},
		"The probability of two holders at once, and the time to recover, by the length of the lease")
	return c
}

func (v *view) leaseTakeaway() string {
	p, _ := lo.Find(v.Lease.Curve, func(at LeasePoint) bool { return at.TTLNS == v.Lease.AdvisedNS })
	p = cmp.Or(p, v.Lease.Curve[len(v.Lease.Curve)-1])
	chances := lo.Ternary(p.Overlap > 0, "a probability of two holders of "+chance(p.Overlap)+" for each acquisition", "no two holders at once")
	return fmt.Sprintf("With a lease of %s the model predicts %s, and recovery within %s.", format.Setting(p.TTLNS), chances, format.Duration(p.RecoveryMaxNS))
}

func (v *view) leaseLine(name string, style int, of func(LeasePoint) float64) charts.Line {
	return charts.Line{Name: name, Style: charts.Style{Color: style, Dash: style, Marker: style},
		Points: lo.FilterMap(v.Lease.Curve, func(p LeasePoint, _ int) (charts.Point, bool) {
			return charts.Point{X: float64(p.TTLNS) / 1e9, Y: of(p)}, of(p) > 0
		})}
}

// leaseAxis returns the axis of lease lengths, with a line at the advised lease.
func (v *view) leaseAxis() (axis charts.Axis, advised []charts.Rule) {
	l := v.Lease
	axis = charts.Axis{Label: "length of the lease, s", Log: true, Low: float64(l.Curve[0].TTLNS) / 1e9, High: float64(l.Curve[len(l.Curve)-1].TTLNS) / 1e9}
	for _, c := range l.Confirmed {
		axis.Low, axis.High = min(axis.Low, c.InUse()/1e9), max(axis.High, c.InUse()/1e9)
	}
	if l.AdvisedNS > 0 {
		advised = []charts.Rule{{At: float64(l.AdvisedNS) / 1e9, Upright: true, Emphasis: true, Text: "advised: " + format.Setting(l.AdvisedNS)}}
	}
	return axis, advised
}

func (v *view) overlaps() charts.Lines {
	x, rules := v.leaseAxis()
	for i := range rules {
		rules[i].Text = "" // omit the text, because the panel below shows it
	}
	most := 0.0
	for _, p := range v.Lease.Curve {
		most = max(most, p.Overlap, p.GivenPause)
	}
	tried := charts.Line{Style: charts.Style{Color: 6, Marker: 3}, Marks: true, Alone: true}
	for _, c := range v.Lease.Confirmed {
		most = max(most, c.Share(), c.High)
		tried.Points = append(tried.Points, charts.Point{X: c.InUse() / 1e9, Y: c.Share(), Low: c.Low, High: c.High, Text: fmt.Sprintf("tried: %d of %d", c.Overlaps, c.Pauses)})
	}
	y := charts.Axis{Label: "probability of two holders", Log: true, Low: cmp.Or(most, 1) * leastShown, High: 1}
	for power := math.Ceil(math.Log10(y.Low)); power <= 0; power++ {
		if at := math.Pow(10, power); int(power)%2 == 0 {
			y.Ticks = append(y.Ticks, charts.Tick{At: at, Text: chance(at)})
		}
	}
	return charts.Lines{X: x, Y: y, Rules: rules, Height: 280, Lines: []charts.Line{tried,
		v.leaseLine("each acquisition", 0, func(p LeasePoint) float64 { return p.Overlap }),
		v.leaseLine("given a pause in the hold", 1, func(p LeasePoint) float64 { return p.GivenPause })}}
}

func (v *view) recoveries() charts.Lines {
	x, rules := v.leaseAxis()
	if need := v.Needs.Recovery; need > 0 {
		rules = append(rules, charts.Rule{At: need.Seconds(), Text: "required: " + setting(need)})
	}
	return charts.Lines{X: x, Y: charts.Axis{Label: "from the death of a holder to the next grant", Log: true, Unit: " s"}, Rules: rules, Height: 220, Lines: []charts.Line{
		v.leaseLine("at most", 2, func(p LeasePoint) float64 { return time.Duration(p.RecoveryMaxNS).Seconds() }),
		v.leaseLine("on average", 3, func(p LeasePoint) float64 { return time.Duration(p.RecoveryMeanNS).Seconds() })}}
}

// chance formats a probability: with a power of ten below 0.001, else as a percentage.
func chance(p float64) string {
	if p == 0 || p >= .001 {
		return format.Percent(p)
	}
	digits, power, _ := strings.Cut(strconv.FormatFloat(p, 'e', 1, 64), "e-")
	raised := strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")
	return digits + "·10⁻" + raised.Replace(strings.TrimLeft(power, "0"))
}
