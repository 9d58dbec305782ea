package selection

import (
	"fmt"
	"slices"

	"lockbench/reports/format"
)

// Compared are the surviving locks: by rank, then the dominated, then the others.
func (v *view) Compared() []judged { return v.named(v.inOrder()) }

// inOrder returns the names of the surviving locks, in the order of Compared.
func (v *view) inOrder() []string {
	var names, all []string
	for _, s := range v.Decision.Scores {
		names = append(names, s.Option)
	}
	for _, d := range v.Decision.Dominated {
		names = append(names, d.Option)
	}
	for _, name := range append(names, v.Decision.Survivors...) {
		if v.options[name].Kind == ALock && slices.Contains(v.Decision.Survivors, name) && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// figure is a criterion of an option, beside the best of the surviving locks.
func (v *view) figure(c Cell, k Criterion) line {
	l := v.line(c)
	l.Title, l.Value = k.Title, "unknown"
	if c.Value == nil {
		l.Tag = Unknown
		return l
	}
	l.Value, l.Interval = format.Significant(*c.Value), format.Span(c.Low, c.High)
	switch best, known := v.best(k); {
	case !known || best == 0 && *c.Value != 0:
	case *c.Value == best:
		l.Ratio = "best"
	default:
		l.Ratio = format.Times(*c.Value / best)
	}
	return l
}

// best is the best value of a criterion among the surviving locks.
func (v *view) best(k Criterion) (best float64, known bool) {
	for _, name := range v.inOrder() {
		c := v.cells[[2]string{name, k.Name}]
		if c.Value != nil && (!known || (*c.Value-best)*float64(k.Better) > 0) {
			best, known = *c.Value, true
		}
	}
	return best, known
}

// Heading is a criterion with its unit.
func (c Criterion) Heading() string {
	if unit := amountUnit(c.Unit); unit != "" {
		return c.Title + ", " + unit
	}
	return c.Title
}

// Direction says which values are better.
func (c Criterion) Direction() string {
	if c.Better > 0 {
		return "more is better"
	}
	return "less is better"
}

// score is written as far as the interval has a meaning.
func score(s float64) string { return fmt.Sprintf("%.2f", s) }

func scored(s Score) string {
	if s.Low == nil || s.High == nil {
		return score(s.Score)
	}
	return fmt.Sprintf("%s [%s, %s]", score(s.Score), score(*s.Low), score(*s.High))
}

// turns are the weights and values at which another option leads, in rows: the criterion, its weight or value now, and then.
func (v *view) turns() [][]string {
	var all [][]string
	for _, t := range v.Decision.Turns {
		row := []string{v.title(t.Of), "", "", t.To}
		if i := slices.IndexFunc(v.Report.Criteria, func(k Criterion) bool { return k.Name == t.Of }); i >= 0 {
			k, c := v.Report.Criteria[i], v.cells[[2]string{t.Option, t.Of}]
			if t.Weight != nil {
				row = []string{"weight of " + k.Title, format.Percent(k.Weight), format.Percent(*t.Weight), t.To}
			} else if t.Value != nil && c.Value != nil {
				row = []string{k.Title + " of " + t.Option, amount(*c.Value, k.Unit), amount(*t.Value, k.Unit), t.To}
			}
		}
		all = append(all, row)
	}
	return all
}

// Changes are what other needs would change, in rows: the need, its value, the outcome and the options.
func (v *view) Changes() [][]string {
	var all [][]string
	for _, c := range v.Decision.Changes {
		l := lookOf(c.Outcome, "Not decided")
		row := []string{c.Need, c.Value, l.Symbol + " " + l.Word, format.Joined(c.Recommended)}
		if c.Outcome == NoLockNeeded && len(c.Lock) > 0 {
			row[3] += ", or " + format.Joined(c.Lock)
		}
		all = append(all, row)
	}
	return all
}
