package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockbench/reports/format"
	"lockbench/reports/stats"
)

const rankedBy = "goodput"

// Ranking lists the locks measured under one set of conditions, the highest goodput first. Locks without a significant
// difference share a rank.
type Ranking struct {
	Point string   `json:"point"`
	Order []Ranked `json:"order"`
}

// Ranked is a lock and its rank.
type Ranked struct {
	Subject string           `json:"subject"`
	Rank    int              `json:"rank"`          // rank from 1; 0 if the lock is not ranked
	ToBest  stats.Comparison `json:"to_best"`       // goodput divided by the goodput of the best lock, with a significance test
	Why     string           `json:"why,omitempty"` // reason why the lock has no rank
}

// ranking ranks locks by median goodput under one set of conditions. Locks that do not differ significantly from the
// best lock share rank 1. The remaining locks are ranked in the same way. Holm's method corrects the p-values.
func (r *Results) ranking(point string) Ranking {
	k := Ranking{Point: point, Order: []Ranked{}}
	var running, out []*Row
	for i := range r.Rows {
		switch row := &r.Rows[i]; {
		case row.Point != point || row.subject.Role != Lock:
		case row.whyOut() != "":
			out = append(out, row)
		default:
			running = append(running, row)
		}
	}
	slices.SortStableFunc(running, func(a, b *Row) int {
		return cmp.Compare(b.Estimates[rankedBy].Median, a.Estimates[rankedBy].Median)
	})
	toBest := map[*Row]*stats.Comparison{}
	for rest := running; len(rest) > 0; {
		rank, behind := len(k.Order)+1, []*Row{}
		compared := collect(rest, func(row *Row) *stats.Comparison { return r.paired(row, rest[0]) })
		stats.Holm(compared[1:]) // leave out the first comparison, in which the best lock is compared with itself
		for i, row := range rest {
			if rank == 1 {
				toBest[row] = compared[i]
			}
			if compared[i].Differs {
				behind = append(behind, row)
			} else {
				k.Order = append(k.Order, Ranked{Subject: row.Subject, Rank: rank, ToBest: *toBest[row]})
			}
		}
		rest = behind
	}
	for _, row := range out {
		ranked := Ranked{Subject: row.Subject, Why: row.whyOut()}
		if len(running) > 0 {
			ranked.ToBest = *r.paired(row, running[0])
		}
		k.Order = append(k.Order, ranked)
	}
	return k
}

// whyOut returns the reason why a lock has no rank, or "" if the lock has a rank.
func (r *Row) whyOut() string {
	switch {
	case r.Unsafe != nil:
		return "violated: " + r.unsafeText()
	case r.subject.Defect != "":
		return "known defect: " + r.subject.Defect
	case r.Estimates[rankedBy].N == 0:
		return "not measured"
	case r.Starving != "":
		return "starves clients: " + r.Starving
	}
	return ""
}

func (r *Row) unsafeText() string {
	return fmt.Sprintf("%s in %d of %d trials", r.Unsafe.Property, r.UnsafeIn, r.Trials)
}

func (r *Results) paired(a, b *Row) *stats.Comparison {
	c := r.blockwise(a.Estimates[rankedBy], b.Estimates[rankedBy])
	c.A, c.B, c.Point, c.Metric = a.Subject, b.Subject, a.Point, rankedBy
	return &c
}

// Limits for measured values. If a value is above its limit, the test machine or lockbench determined the result, not
// the lock.
const (
	mostOfNone   = 0.5  // maximum goodput, as a fraction of the goodput of the baseline "none"
	lateMS       = 1.0  // limit for the 99th percentile of the start delay of iterations, in milliseconds; the planned hold time is added to it
	stallMS      = 50.0 // maximum pause of lockbench in milliseconds, median over the trials
	allProcessor = 0.95 // maximum number of processors in use, as a fraction of all processors
)

// limited returns the reason why the test machine or lockbench limited the result. It returns "" if neither did.
func (r *Results) limited(row *Row) string {
	late, stall, busy := row.Estimates["late_p99"].Median, row.Estimates["stall_max"].Median, row.Estimates["processors"].Median
	part, cores := r.partOfNone(row), float64(r.Plan.Environment.Cores)
	switch {
	case part > mostOfNone:
		return fmt.Sprintf("harness: %.0f %% of what it reaches with no lock at all", 100*part)
	case late > lateMS+float64(row.point.HoldNS)/1e6:
		return fmt.Sprintf("harness: clients began late (p99 %.3g ms)", late)
	case stall > stallMS:
		return fmt.Sprintf("harness: it was stopped for up to %.3g ms", stall)
	case cores > 0 && busy >= allProcessor*cores:
		return fmt.Sprintf("processors: %.3g of %g busy", busy, cores)
	}
	return ""
}

// partOfNone returns a lock's goodput as a fraction of the goodput of the baseline "none". It returns 0 if the baseline
// was not measured, or if a hold time limits the goodput.
func (r *Results) partOfNone(row *Row) float64 {
	none, ok := find(r.Rows, func(n Row) bool {
		return n.Point == row.Point && n.subject.Role == Baseline && n.subject.Lock == "none"
	})
	if !ok || row.point.HoldNS > 0 || row.Subject == none.Subject || none.Estimates[rankedBy].N == 0 {
		return 0
	}
	return row.Estimates[rankedBy].Median / none.Estimates[rankedBy].Median
}

func (v *view) changes() []string {
	var all []string
	for _, p := range v.compared() {
		all = append(all, v.changeAt(p)...)
	}
	var few []string // names of conditions with too few trials
	for _, row := range v.Rows {
		compared := row.point.Section != ControlSection && row.subject.Role == Lock && row.Unsafe == nil
		isFew := compared && row.Trials > 0 && row.Estimates[rankedBy].Low == nil
		if name := v.name(*row.point); isFew && !slices.Contains(few, name) {
			few = append(few, name)
			all = append(all, fmt.Sprintf("%s: some locks have too few trials for an interval, which needs six; more could change any rank.", name))
		}
	}
	if v.Plan.unfinished() {
		all = append(all, "The bench is unfinished: the missing trials could change any rank.")
	}
	return all
}

func (v *view) changeAt(p Point) []string {
	order := v.ranked(p.ID)
	if len(order) < 2 {
		return nil
	}
	var all []string
	add := func(text string, args ...any) { all = append(all, v.name(p)+": "+fmt.Sprintf(text, args...)) }
	first, best := v.first(p.ID), order[0].Subject
	if text := v.powerless(p); text != "" {
		add("%s. More trials might rank them.", text)
	} else if len(first) > 1 {
		add("%s tie with %s of trials; more trials might rank them. %s", format.Joined(first), format.Plural(order[1].ToBest.Pairs, "pair"), widest(order, first))
	}
	if r, ok := v.next(p); ok {
		least := ""
		if high := r.ToBest.High; high != nil && *high < 1 {
			least = fmt.Sprintf(", and by the interval at least %s", percentMore(1 / *high))
		}
		add("%s is next, at %s of %s %s; a tie needs %s more goodput%s.", r.Subject, ratioText(r.ToBest), best, format.Span(r.ToBest.Low, r.ToBest.High), percentMore(1/r.ToBest.Ratio), least)
	}
	limited := collect(filter(v.drawnAt(p).rows, func(row *Row) bool { return row.Limited != "" }), func(row *Row) string {
		return fmt.Sprintf("%s (%s)", row.Subject, row.Limited)
	})
	if len(limited) > 0 {
		add("the harness or the machine limited %s; more processors, or clients on another machine, may change their ranks.", format.Joined(limited))
	}
	return all
}

func widest(order []Ranked, first []string) string {
	tied := filter(order[1:], func(r Ranked) bool { return r.Rank == 1 && r.ToBest.Low != nil && r.ToBest.High != nil })
	if len(tied) == 0 {
		return ""
	}
	return "At present " + strings.Join(collect(tied, func(r Ranked) string {
		return fmt.Sprintf("%s may complete %s to %s of what %s does", r.Subject, format.Times(*r.ToBest.Low), format.Times(*r.ToBest.High), first[0])
	}), "; ") + "."
}

func percentMore(ratio float64) string { return format.Significant(100*(ratio-1)) + " %" }
