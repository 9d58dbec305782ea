package decision

import (
	"fmt"
	"math"
	"strings"
	"time"

	"lockbench/reports/bench"
)

// criterion is a figure that survivors are compared by, and where it is found.
type criterion struct {
	Criterion
	contended bool                                             // at the point where clients want one lock; else where each has its own
	of        func(*deciding, Option, Figure, float64) float64 // what is compared, of what was measured; nil: the same
}

// Criteria are the names of all criteria, in display order.
func Criteria() []string {
	var all []string
	for _, c := range criteria() {
		all = append(all, c.Name)
	}
	return all
}

func criteria() []criterion {
	return []criterion{
		{Criterion{Name: "goodput", Title: "goodput", Metric: "goodput", Unit: "/s", Better: +1,
			Doc: "critical sections per second of the busiest lock, with all clients asking for it and the hold that is usual"}, true, atHold},
		{Criterion{Name: "acquire", Title: "uncontended acquire", Metric: "uncontended_p50", Unit: "ms", Better: -1,
			Doc: "the median time to be granted a lock that nobody else wants"}, false, nil},
		{Criterion{Name: "wait", Title: "longest wait", Metric: "longest_wait", Unit: "ms", Better: -1,
			Doc: "the longest that a client waited for the busiest lock in a trial"}, true, waitAtHold},
		{Criterion{Name: "fairness", Title: "min/max share", Metric: "min_max_share", Better: +1,
			Doc: "critical sections of the client with the fewest, divided by those of the one with the most"}, true, nil},
		{Criterion{Name: "recovery", Title: "recovery", Metric: RecoveryMetric, Unit: "ms", Better: -1,
			Doc: "from the death of a holder to the next grant, at the advised lease"}, false, atLease},
		{Criterion{Name: "commands", Title: "commands", Metric: "commands", Better: -1,
			Doc: "commands of the store for each grant of the busiest lock, those inside scripts counted"}, true, nil},
	}
}

// weighed are the criteria with their weights, which add up to 1.
func weighed(n Needs) []criterion {
	all := criteria()
	sum := 0.0
	for _, c := range all {
		sum += n.Weight(c.Name)
	}
	for i := range all {
		all[i].Weight = 1 / float64(len(all))
		if sum > 0 {
			all[i].Weight = n.Weight(all[i].Name) / sum
		}
		all[i].Enough = enough(n, all[i].Name)
	}
	return all
}

// plenty is how much better than what is asked for still counts: nobody chooses a lock for recovering in a hundredth of the
// time that there is rather than in a fiftieth.
const plenty = 10

// enough is the value beyond which a criterion counts no more; 0: none, where nothing was asked for.
func enough(n Needs, criterion string) float64 {
	switch criterion {
	case "goodput":
		return n.Rate * plenty
	case "wait":
		return n.Wait.Seconds() * 1e3 / plenty
	case "recovery":
		return n.Recovery.Seconds() * 1e3 / plenty
	case "commands":
		return n.Commands / plenty
	}
	return 0
}

// counted is a value as far as it counts.
func (c Criterion) counted(v float64) float64 {
	switch {
	case c.Enough == 0:
		return v
	case c.Better > 0:
		return min(v, c.Enough)
	}
	return max(v, c.Enough)
}

// value is a criterion of one option: the zero value is one that is not known.
type value struct {
	known   bool
	median  float64
	low     *float64
	high    *float64
	values  []float64 // by trial
	figure  Figure
	assumed string // what the value rests on beside the measurement
	why     string // it is not known
}

// value looks a criterion of an option up.
func (d *deciding) value(o Option, c criterion) value {
	f, why := d.figureOf(o, c)
	if why != "" {
		return value{why: why}
	}
	convert := c.of
	if convert == nil {
		convert = func(_ *deciding, _ Option, _ Figure, v float64) float64 { return v }
	}
	v := value{known: true, figure: f, median: convert(d, o, f, f.Estimate.Median)}
	for _, x := range f.Estimate.Values {
		v.values = append(v.values, convert(d, o, f, x))
	}
	v.low, v.high = converted(d, o, f, convert, f.Estimate.Low), converted(d, o, f, convert, f.Estimate.High)
	if v.low != nil && v.high != nil && *v.low > *v.high {
		v.low, v.high = v.high, v.low
	}
	if c.contended && d.away(f) != 0 && (c.Metric == "goodput" || c.Metric == "longest_wait") {
		v.assumed = fmt.Sprintf("; measured at a hold of %s, and worked out for one of %s", Lasting(time.Duration(f.Point.HoldNS)), Lasting(d.needs.Hold.P50))
	}
	return v
}

func converted(d *deciding, o Option, f Figure, by func(*deciding, Option, Figure, float64) float64, v *float64) *float64 {
	if v == nil {
		return nil
	}
	c := by(d, o, f, *v)
	return &c
}

// figureOf is the figure that a criterion is read from: of the benches' points the one nearest to the needs.
func (d *deciding) figureOf(o Option, c criterion) (best Figure, why string) {
	if c.Metric == RecoveryMetric {
		f, ok := d.recovery(o)
		if !ok {
			why = "it was not measured"
		}
		return f, why
	}
	distance := math.Inf(1)
	for _, f := range d.Figures {
		if subject(f) != o.Name || f.Metric != c.Metric || f.Point.Contended() != c.contended || f.Point.Fault != "none" {
			continue
		}
		if by := d.distance(f.Point); by < distance {
			best, distance = f, by
		}
	}
	switch {
	case math.IsInf(distance, 1), len(best.Estimate.Values) == 0:
		return best, "it was not measured"
	case best.Unsafe != "":
		return best, "in a trial of it two held at once, so that its figures mean nothing: " + best.Unsafe
	case d.withheld(best.Source) != "":
		return best, "the bench failed a control of its own: " + d.withheld(best.Source)
	}
	return best, ""
}

// subject is the option that a figure is of.
func subject(f Figure) string { return f.Lock }

func (d *deciding) withheld(source string) string {
	for _, s := range d.Sources {
		if s.ID == source && len(s.Withheld) > 0 {
			return strings.Join(s.Withheld, "; ")
		}
	}
	return ""
}

// distance is how far a point is from the needs: a hold or a number of clients twice as large is as far as one of half.
func (d *deciding) distance(p bench.Point) float64 {
	return math.Abs(math.Log2(float64(p.Clients)/float64(d.needs.Clients))) +
		math.Abs(math.Log2(float64(p.HoldNS+1e5)/float64(d.needs.Hold.P50.Nanoseconds()+1e5)))
}

// away is by how much longer work takes than it did in the measurement.
func (d *deciding) away(f Figure) float64 {
	return (d.needs.Hold.P50 - time.Duration(f.Point.HoldNS)).Seconds()
}

// atHold is a goodput at the hold that is usual: the time from grant to grant grows by as much as the hold does.
func atHold(d *deciding, _ Option, f Figure, v float64) float64 {
	if v <= 0 || f.Point.HoldNS <= 0 {
		return v
	}
	return 1 / max(1/v+d.away(f), 1e-6)
}

// waitAtHold is a wait at the hold that is usual: as many periods, each longer by as much as the hold is.
func waitAtHold(d *deciding, _ Option, f Figure, v float64) float64 {
	hold := time.Duration(f.Point.HoldNS).Seconds()
	if hold <= 0 {
		return v
	}
	return v * (1 + d.away(f)/hold)
}

// atLease is a recovery in milliseconds at the advised lease.
func atLease(d *deciding, o Option, f Figure, v float64) float64 {
	return float64(d.recoveryTime(o, v, f)) / 1e6
}

// cell is a value as it stands in the report.
func (v value) cell(o Option, c criterion) Cell {
	if !v.known {
		return Cell{Option: o.Name, Of: c.Name, Tag: Unknown, Text: "not known: " + v.why}
	}
	median := round(v.median, 4)
	cell := Cell{Option: o.Name, Of: c.Name, Tag: Measured, Value: &median, Low: rounded(v.low), High: rounded(v.high), Evidence: []string{v.figure.ID}}
	cell.Text = fmt.Sprintf("%s%s, median of %s%s", figure(v.median), unit(c.Unit), plural(len(v.values), "trial"), v.at(c))
	if v.low != nil {
		cell.Text += fmt.Sprintf(", 95 %% interval %s to %s", figure(*v.low), figure(*v.high))
	}
	if c.Metric == "longest_wait" && v.figure.Estimate.Median >= 0.95*float64(v.figure.Point.DurationNS)/1e6 {
		cell.Text += "; cut off by the end of the trial: it would have been longer"
	}
	if v.figure.Limited != "" {
		cell.Text += "; the lock may do better: " + v.figure.Limited
	}
	return cell
}

// at is the conditions of a value.
func (v value) at(c criterion) string {
	p := v.figure.Point
	if c.Metric == RecoveryMetric {
		return fmt.Sprintf(" of holder-kill, measured at a lease of %s", Lasting(time.Duration(p.TTLNS)))
	}
	where := fmt.Sprintf(" with %s on %s", plural(p.Clients, "client"), plural(p.Keys, "lock"))
	return where + fmt.Sprintf(", each held for %s", Lasting(time.Duration(p.HoldNS))) + v.assumed
}

func unit(u string) string {
	if u == "" || strings.HasPrefix(u, "/") {
		return u
	}
	return " " + u
}

func rounded(v *float64) *float64 {
	if v == nil {
		return nil
	}
	r := round(*v, 4)
	return &r
}
