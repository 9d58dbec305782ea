package bench

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/reports/format"
)

func (v *view) changes() []string {
	var all []string
	for _, p := range v.compared() {
		all = append(all, v.changeAt(p)...)
	}
	var few []string // points, by name
	for _, row := range v.Rows {
		p, _ := v.Plan.Point(row.Point)
		s, _ := v.Plan.Subject(row.Subject)
		isFew := p.Section != ControlSection && s.Role == Lock && row.Unsafe == nil && row.Trials > 0 && row.Estimates[rankedBy].Low == nil
		if name := v.name(p); isFew && !slices.Contains(few, name) {
			few = append(few, name)
			all = append(all, fmt.Sprintf("%s: some locks have too few trials for an interval (a finite one takes six); more could move any rank.", name))
		}
	}
	if v.Plan.Interrupted || v.Plan.Ended.IsZero() {
		all = append(all, "The bench did not come to its end: the blocks that are missing could move any rank.")
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
		add("%s. More trials would show who is ahead.", text)
	} else if len(first) > 1 {
		add("%s cannot be told apart with %s; more trials might rank them. %s", format.Joined(first), format.Plural(order[1].ToBest.Pairs, "pair"), widest(order, first))
	}
	if r, ok := v.next(p); ok {
		least := ""
		if high := r.ToBest.High; high != nil && *high < 1 {
			least = fmt.Sprintf(", and by the interval at least %s", percentMore(1 / *high))
		}
		add("%s is next, at %s of %s %s; it would have to complete %s more for a tie%s.", r.Subject, ratioText(r.ToBest), best, format.Span(r.ToBest.Low, r.ToBest.High), percentMore(1/r.ToBest.Ratio), least)
	}
	var limited []string
	for _, r := range order {
		if row, ok := v.Row(r.Subject, p.ID); ok && row.Limited != "" {
			limited = append(limited, fmt.Sprintf("%s (%s)", r.Subject, row.Limited))
		}
	}
	if len(limited) > 0 {
		add("not the lock but the harness or the machine was the limit of %s; with more processors, or clients on another machine, these may rank otherwise.", format.Joined(limited))
	}
	return all
}

func widest(order []Ranked, first []string) string {
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
