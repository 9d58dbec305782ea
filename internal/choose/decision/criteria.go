package decision

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/samber/lo"

	"lockbench/reports/bench"
	"lockbench/reports/selection"
)

type criterion struct {
	selection.Criterion
	contended bool                          // true: measured with one key for all clients; false: with one key per client
	of        convert                       // adjusts a measured value to the requirements, such as to a longer hold; nil: no adjustment
	asked     func(selection.Needs) float64 // limit that the requirements set, in the unit of the criterion; 0 or nil: no limit
	limit     limit
}

// limit describes a requirement that limits the values of a criterion. The zero value means that there is no such requirement.
type limit struct{ requirement, title, need string }

type convert func(d *deciding, o selection.Option, f selection.Figure, measured float64) float64

// Criteria returns the names of all criteria, in display order.
func Criteria() []string {
	return lo.Map(criteria(), func(c criterion, _ int) string { return c.Name })
}

// The constant evenly is the lowest fairness at which a lock counts as fair. Fairness is the number of critical sections of the
// least served client, divided by that of the most served client.
const evenly = 0.5

func criteria() []criterion {
	return []criterion{
		{Criterion: selection.Criterion{Name: "goodput", Title: "goodput", Metric: "goodput", Unit: "/s", Better: +1,
			Doc: "critical sections per second of the busiest lock, with all clients waiting for it and the usual hold"},
			contended: true, of: atHold, limit: limit{"rate", "grant rate", "rate"}, asked: func(n selection.Needs) float64 { return n.Rate }},
		{Criterion: selection.Criterion{Name: "acquire", Title: "uncontended acquire", Metric: "uncontended_p50", Unit: "ms", Better: -1,
			Doc: "the median time to be granted a lock that no other client wants"}},
		{Criterion: selection.Criterion{Name: "wait", Title: "longest wait", Metric: "longest_wait", Unit: "ms", Better: -1,
			Doc: "the longest time that a client waited for the busiest lock in a trial"},
			contended: true, of: waitAtHold, limit: limit{"waiting", "waiting time", "wait"}, asked: func(n selection.Needs) float64 { return milliseconds(n.Wait) }},
		{Criterion: selection.Criterion{Name: fairness, Title: "min/max share", Metric: "min_max_share", Better: +1,
			Doc: "critical sections of the least served client, divided by those of the most served one"},
			contended: true, limit: limit{"fairness", "fairness", "fair"}, asked: func(n selection.Needs) float64 { return map[bool]float64{true: evenly}[n.Fair] }},
		{Criterion: selection.Criterion{Name: "recovery", Title: "recovery", Metric: selection.RecoveryMetric, Unit: "ms", Better: -1,
			Doc: "from the death of a holder to the next grant, at the advised lease"},
			of: func(d *deciding, o selection.Option, f selection.Figure, v float64) float64 {
				return float64(d.recoveryTime(o, v, f)) / 1e6
			},
			asked: func(n selection.Needs) float64 { return milliseconds(n.Recovery) }},
		{Criterion: selection.Criterion{Name: "commands", Title: "commands", Metric: "commands", Better: -1,
			Doc: "commands of the store for each grant of the busiest lock, including those inside scripts"},
			contended: true, limit: limit{"cost", "commands per grant", "commands"}, asked: func(n selection.Needs) float64 { return n.Commands }},
	}
}

const fairness = "fairness" // name of the criterion for fairness; its values are at most 1, so they need no upper limit

// weighed returns all criteria with their weights, which add up to 1.
func weighed(n selection.Needs) []criterion {
	all := criteria()
	sum := lo.SumBy(all, func(c criterion) float64 { return n.Weight(c.Name) })
	for i, c := range all {
		all[i].Weight = 1 / float64(len(all))
		if sum > 0 {
			all[i].Weight = n.Weight(c.Name) / sum
		}
		if c.asked != nil && c.Name != fairness {
			all[i].Enough = lo.Ternary(c.Better > 0, c.asked(n)*plenty, c.asked(n)/plenty)
		}
	}
	return all
}

const plenty = 10 // maximum factor by which a value can be better than the limit and still raise the score

// counted returns v, capped at c.Enough: a value better than c.Enough counts as c.Enough.
func (c criterion) counted(v float64) float64 {
	if c.Enough == 0 {
		return v
	}
	return lo.Ternary(c.Better > 0, min(v, c.Enough), max(v, c.Enough))
}

type value struct {
	unknown   selection.Reason // reason why the value is unknown; "" if it is known
	median    float64
	low, high *float64
	values    []float64 // measured values, one per trial
	figure    selection.Figure
}

func (d *deciding) value(o selection.Option, c criterion) value {
	f, unknown := d.figureOf(o, c)
	v := value{unknown: unknown, figure: f}
	if unknown != "" {
		return v
	}
	of := func(v float64) float64 { return v }
	if c.of != nil {
		of = func(v float64) float64 { return c.of(d, o, f, v) }
	}
	v.median, v.low, v.high = of(f.Estimate.Median), changed(f.Estimate.Low, of), changed(f.Estimate.High, of)
	v.values = lo.Map(f.Estimate.Values, func(x float64, _ int) float64 { return of(x) })
	if v.low != nil && v.high != nil && *v.low > *v.high {
		v.low, v.high = v.high, v.low
	}
	return v
}

func changed(v *float64, by func(float64) float64) *float64 {
	if v == nil {
		return nil
	}
	return lo.ToPtr(by(*v))
}

// figureOf returns the measurement (figure) for a criterion. If there are several, it selects the one whose conditions are
// nearest to the requirements. If none is usable, it returns the reason.
func (d *deciding) figureOf(o selection.Option, c criterion) (best selection.Figure, unknown selection.Reason) {
	if c.Metric == selection.RecoveryMetric {
		f, ok := d.recovery(o)
		if !ok {
			unknown = selection.NotMeasured
		}
		return f, unknown
	}
	best = lo.MinBy(lo.Filter(d.Figures, func(f selection.Figure, _ int) bool {
		return f.Lock == o.Name && f.Metric == c.Metric && f.Point.Contended() == c.contended && f.Point.Fault == "none"
	}), func(a, b selection.Figure) bool { return d.distance(a.Point) < d.distance(b.Point) })
	switch {
	case len(best.Estimate.Values) == 0:
		return best, selection.NotMeasured
	case best.Unsafe != "":
		return best, selection.UnsafeFigure
	case slices.ContainsFunc(d.Sources, func(s selection.Source) bool { return s.ID == best.Source && len(s.Withheld) > 0 }):
		return best, selection.Withheld
	}
	return best, ""
}

// distance returns how much the conditions of a measurement differ from the requirements. It adds the logarithmic differences
// of client count and hold duration.
func (d *deciding) distance(p bench.Point) float64 {
	return math.Abs(math.Log2(float64(p.Clients)/float64(d.needs.Clients))) +
		math.Abs(math.Log2(float64(p.HoldNS+1e5)/float64(d.needs.Hold.P50.Nanoseconds()+1e5)))
}

// longer returns the median hold time in the requirements minus the hold time of the measurement, in seconds.
func (d *deciding) longer(f selection.Figure) float64 {
	return (d.needs.Hold.P50 - time.Duration(f.Point.HoldNS)).Seconds()
}

// atHold converts a measured goodput (parameter v) to the hold time in the requirements, which is a median. It assumes that the
// time between two grants grows by as much as the hold time.
func atHold(d *deciding, _ selection.Option, f selection.Figure, v float64) float64 {
	if v <= 0 || f.Point.HoldNS <= 0 {
		return v
	}
	return 1 / max(1/v+d.longer(f), 1e-6)
}

// waitAtHold scales a measured wait to the median hold time in the requirements. It assumes that the wait is proportional to
// the hold time.
func waitAtHold(d *deciding, _ selection.Option, f selection.Figure, v float64) float64 {
	hold := time.Duration(f.Point.HoldNS).Seconds()
	if hold <= 0 {
		return v
	}
	return v * (1 + d.longer(f)/hold)
}

func (v value) cell(o selection.Option, criterion string) selection.Cell {
	c := selection.Cell{Option: o.Name, Of: criterion, Tag: selection.Measured, Reason: selection.MedianOfTrials}
	if v.figure.ID != "" {
		c.Evidence = []string{v.figure.ID}
	}
	if v.unknown != "" {
		c.Tag, c.Reason = selection.Unknown, v.unknown
		return c
	}
	digits := func(v float64) float64 { return round(v, 4) }
	c.Value, c.Low, c.High = four(v.median), changed(v.low, digits), changed(v.high, digits)
	return c
}

// round rounds v to a number of significant digits (parameter digits). NaN becomes 0.
func round(v float64, digits int) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	return lo.Ternary(err != nil || math.IsNaN(r), 0, r)
}
