package bench

import (
	"fmt"
	"strings"

	"lockbench/reports/format"
)

// changes are what would have to be otherwise for the verdict to be another, in sentences.
func (v *view) changes() []string {
	var all []string
	for _, p := range v.compared() {
		all = append(all, v.changeAt(p)...)
	}
	few := map[string]bool{}
	for _, row := range v.Rows {
		s := v.subjects[row.Subject]
		if e := row.Estimates[rankedBy]; s.Role == Lock && row.Unsafe == nil && row.Trials > 0 && e.Low == nil {
			few[v.name(v.points[row.Point])] = true
		}
	}
	for _, p := range v.compared() {
		if few[v.name(p)] {
			all = append(all, fmt.Sprintf("%s: some locks have too few trials for an interval (a finite one takes six); more could move any rank.", v.name(p)))
		}
	}
	if v.Plan.Interrupted || v.Plan.Ended.IsZero() {
		all = append(all, "The bench did not come to its end: the blocks that are missing could move any rank.")
	}
	return all
}

// changeAt looks at one point: a tie at the top, the next rank, and whether the harness was in the way.
func (v *view) changeAt(p Point) []string {
	order := v.ranked(p.ID)
	if len(order) < 2 {
		return nil
	}
	var all []string
	first, best := v.first(p.ID), order[0].Subject
	if text := v.powerless(p); text != "" {
		all = append(all, fmt.Sprintf("%s: %s. More trials would show who is ahead.", v.name(p), text))
	} else if len(first) > 1 {
		all = append(all, fmt.Sprintf("%s: %s cannot be told apart with %s; more trials might rank them. %s", v.name(p), format.Joined(first), format.Plural(order[1].ToBest.Pairs, "pair"), v.widest(order, first)))
	}
	for _, r := range order {
		if r.Rank == 1 || r.ToBest.Ratio <= 0 {
			continue
		}
		text := fmt.Sprintf("%s: %s is next, at %s of %s %s; it would have to complete %s more for a tie", v.name(p), r.Subject, ratioText(r.ToBest), best, format.Span(r.ToBest.Low, r.ToBest.High), percentMore(1/r.ToBest.Ratio))
		if high := r.ToBest.High; high != nil && *high < 1 {
			text += fmt.Sprintf(", and by the interval at least %s", percentMore(1 / *high))
		}
		all = append(all, text+".")
		break
	}
	var limited []string
	for _, r := range order {
		if row := v.rows[place{r.Subject, p.ID}]; row != nil && row.Limited != "" {
			limited = append(limited, fmt.Sprintf("%s (%s)", r.Subject, row.Limited))
		}
	}
	if len(limited) > 0 {
		all = append(all, fmt.Sprintf("%s: not the lock but the harness or the machine was the limit of %s; with more processors, or clients on another machine, these may rank otherwise.", v.name(p), format.Joined(limited)))
	}
	return all
}

// widest names what the intervals of those that tie still allow.
func (v *view) widest(order []Ranked, first []string) string {
	var parts []string
	for _, r := range order[1:] {
		if r.Rank == 1 && r.ToBest.Low != nil && r.ToBest.High != nil {
			parts = append(parts, fmt.Sprintf("%s may complete %s to %s of what %s does", r.Subject, format.Times(*r.ToBest.Low), format.Times(*r.ToBest.High), first[0]))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "As it stands, " + strings.Join(parts, "; ") + "."
}

func percentMore(ratio float64) string { return format.Significant(100*(ratio-1)) + " %" }
