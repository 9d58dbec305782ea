package bench

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"lockbench/reports/stats"
)

// Row holds the results of one lock, baseline or self-check under one set of conditions, over all trials.
type Row struct {
	Subject   string                    `json:"subject"`
	Point     string                    `json:"point"`
	Trials    int                       `json:"trials"` // number of trials that were not discarded
	Discarded int                       `json:"discarded,omitempty"`
	Estimates map[string]stats.Estimate `json:"estimates"` // median and confidence interval by metric name
	// Unsafe is the first violation of exclusion, or nil. A violation makes the measured values invalid. UnsafeIn is
	// the number of trials with a violation of exclusion.
	Unsafe   *Violation `json:"unsafe,omitempty"`
	UnsafeIn int        `json:"unsafe_in,omitempty"`
	// Starving states how many clients completed no critical section. It is empty if all clients completed at least
	// one. If it is set, latencies are not compared, because starved clients have none.
	Starving string `json:"starving,omitempty"`
	// Limited is the reason why the test machine or lockbench limited the result. It is empty if the lock was the
	// limit.
	Limited string `json:"limited,omitempty"`
	// Unsteady is the number of trials whose rate was not steady at the end of the warm-up.
	Unsteady int `json:"unsteady,omitempty"`

	subject *Subject
	point   *Point
	counted []*Trial // trials that were not discarded, sorted by block (round of trials)
}

// rowOf returns the results of one lock under one set of conditions. It counts discarded trials but ignores their
// values.
func rowOf(s *Subject, p *Point, trials []*Trial) Row {
	row := Row{Subject: s.Name, Point: p.ID, Estimates: map[string]stats.Estimate{}, subject: s, point: p}
	for _, t := range trials {
		switch {
		case t.Subject != s.Name || t.Point != p.ID:
			continue
		case t.Discarded != "":
			row.Discarded++
			continue
		case !t.Steady:
			row.Unsteady++
		}
		row.counted = append(row.counted, t)
		if v := t.Unsafe(); v != nil {
			row.UnsafeIn++
			row.Unsafe = cmp.Or(row.Unsafe, v)
		}
	}
	row.Trials = len(row.counted)
	for _, m := range Metrics() {
		var values []float64
		var blocks []int
		for _, t := range row.counted {
			if v, ok := t.Figures[m.Name]; ok {
				values, blocks = append(values, v), append(blocks, t.Block)
			}
		}
		if len(values) > 0 {
			row.Estimates[m.Name] = stats.EstimateOf(values, blocks)
		}
	}
	row.Starving = row.starving()
	return row
}

// estimate returns the median and the confidence interval of a metric. If the metric was not measured or is invalid, ok
// is false.
func (r *Row) estimate(metric string) (e stats.Estimate, ok bool) {
	e = r.Estimates[metric]
	return e, e.N > 0 && r.Unsafe == nil && !r.selective(metric)
}

// starving returns the value of Row.Starving. With a fixed arrival rate, it returns "": a client may then complete no
// critical section because none was due.
func (r *Row) starving() string {
	e := r.Estimates["starved"]
	if e.Median == 0 || r.Unsafe != nil || !r.point.Contended() || r.point.Rate > 0 {
		return ""
	}
	text := fmt.Sprintf("%.0f of %d clients got nothing", math.Ceil(e.Median), r.point.Clients)
	if trials := len(filter(r.counted, func(t *Trial) bool { return t.Figures["starved"] > 0 })); trials < r.Trials {
		text += fmt.Sprintf(" in %d of %d trials", trials, r.Trials)
	}
	return text
}

// selective reports whether a metric covers only some of the clients. This is true of the hand-offs, and of the uncontended grants, of
// a lock that starves clients. The latency of contended acquires has the waits of starved clients too.
func (r *Row) selective(metric string) bool {
	return r.Starving != "" && (strings.HasPrefix(metric, "uncontended_p") || strings.HasPrefix(metric, "handoff_p"))
}
