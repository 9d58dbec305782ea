package bench

import (
	"cmp"
	"fmt"
	"lockbench/reports/stats"
	"slices"
)

const rankedBy = "goodput"

// ranking puts the locks of a point in order.
//
// The best of those that have no rank yet is compared with all others that have none; Holm corrects these comparisons
// together; those that do not differ share its rank. So a rank tells what could be told apart, and two that share one
// need not be next to each other by their medians.
func (r *Results) ranking(point string) Ranking {
	k := Ranking{Point: point, Order: []Ranked{}}
	var running, out []*Row
	for i := range r.Rows {
		row := &r.Rows[i]
		s, _ := r.Plan.Subject(row.Subject)
		switch {
		case row.Point != point || s.Role != Lock:
		case r.whyOut(row) != "":
			out = append(out, row)
		default:
			running = append(running, row)
		}
	}
	slices.SortStableFunc(running, func(a, b *Row) int {
		return cmp.Compare(b.Estimates[rankedBy].Median, a.Estimates[rankedBy].Median)
	})
	toBest := map[string]stats.Comparison{}
	for rest := running; len(rest) > 0; {
		tied, behind, comparisons := r.tied(rest)
		if len(k.Order) == 0 {
			toBest = comparisons
		}
		rank := len(k.Order) + 1
		rest = behind
		for _, row := range tied {
			k.Order = append(k.Order, Ranked{Subject: row.Subject, Rank: rank, ToBest: toBest[row.Subject]})
		}
	}
	for _, row := range out {
		ranked := Ranked{Subject: row.Subject, Why: r.whyOut(row)}
		if len(running) > 0 {
			ranked.ToBest = r.paired(row, running[0], rankedBy)
		}
		k.Order = append(k.Order, ranked)
	}
	return k
}

// tied splits rows, best first, into those that do not differ from the first and those that do.
func (r *Results) tied(rows []*Row) (tied, behind []*Row, toFirst map[string]stats.Comparison) {
	all := make([]*stats.Comparison, len(rows))
	for i, row := range rows {
		c := r.paired(row, rows[0], rankedBy)
		all[i] = &c
	}
	stats.Holm(all[1:]) // the first is not compared with itself
	toFirst = map[string]stats.Comparison{}
	for i, row := range rows {
		toFirst[row.Subject] = *all[i]
		if all[i].Differs {
			behind = append(behind, row)
		} else {
			tied = append(tied, row)
		}
	}
	return tied, behind, toFirst
}

// whyOut says why no rank is given; empty if one is.
func (r *Results) whyOut(row *Row) string {
	s, _ := r.Plan.Subject(row.Subject)
	switch {
	case row.Unsafe != nil:
		return "violated: " + row.unsafeText()
	case s.Defect != "":
		return "known defect: " + s.Defect
	case row.Estimates[rankedBy].N == 0:
		return "not measured"
	}
	return ""
}

func (r *Row) unsafeText() string {
	return fmt.Sprintf("%s in %d of %d trials", r.Unsafe.Property, r.UnsafeIn, r.Trials)
}

// paired compares two rows of one point block by block.
func (r *Results) paired(a, b *Row, metric string) stats.Comparison {
	c := stats.Paired(a.Estimates[metric], b.Estimates[metric], r.Plan.Seed)
	c.A, c.B, c.Point, c.Metric = a.Subject, b.Subject, a.Point, metric
	return c
}
