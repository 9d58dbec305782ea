package selection

import (
	"fmt"
	"slices"

	"github.com/samber/lo"

	"lockbench/reports/format"
)

// Compared returns the candidates that were not eliminated. Candidates with a rank come first, sorted by rank.
func (v *view) Compared() []judged { return v.named(v.inOrder()) }

func (v *view) inOrder() []string {
	names := slices.Concat(lo.Map(v.Decision.Scores, func(s Score, _ int) string { return s.Option }),
		lo.Map(v.Decision.Dominated, func(d Dominated, _ int) string { return d.Option }), v.Decision.Survivors)
	return lo.Filter(lo.Uniq(names), func(name string, _ int) bool {
		return v.options[name].Kind == ALock && slices.Contains(v.Decision.Survivors, name)
	})
}

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

func (v *view) best(k Criterion) (best float64, known bool) {
	values := lo.FilterMap(v.inOrder(), func(name string, _ int) (float64, bool) {
		value := v.cells[[2]string{name, k.Name}].Value
		return lo.FromPtr(value), value != nil
	})
	return lo.Ternary(k.Better > 0, lo.Max(values), lo.Min(values)), len(values) > 0
}

// Heading returns the title with its unit.
func (c Criterion) Heading() string {
	if unit := amountUnit(c.Unit); unit != "" {
		return c.Title + ", " + unit
	}
	return c.Title
}

// Direction returns a phrase that states whether higher or lower values are better.
func (c Criterion) Direction() string {
	return lo.Ternary(c.Better > 0, "more is better", "less is better")
}

// score formats a score with two decimal places.
func score(s float64) string { return fmt.Sprintf("%.2f", s) }

func scored(s Score) string {
	if s.Low == nil || s.High == nil {
		return score(s.Score)
	}
	return fmt.Sprintf("%s [%s, %s]", score(s.Score), score(*s.Low), score(*s.High))
}

// Turns returns a table row for each change of a weight or measured value that makes another candidate the best. The
// columns are the name of the weight or value, the current value, the changed value, and the new best candidate.
func (v *view) Turns() [][]string {
	return lo.Map(v.Decision.Turns, func(t Turn, _ int) []string {
		k, c := v.criterion(t.Of), v.cells[[2]string{t.Option, t.Of}]
		switch {
		case k.Name != "" && t.Weight != nil:
			return []string{"weight of " + k.Title, format.Percent(k.Weight), format.Percent(*t.Weight), t.To}
		case k.Name != "" && t.Value != nil && c.Value != nil:
			return []string{k.Title + " of " + t.Option, amount(*c.Value, k.Unit), amount(*t.Value, k.Unit), t.To}
		}
		return []string{v.title(t.Of), "", "", t.To}
	})
}

// Changes returns a table row for each changed requirement. A row holds the key, the changed value, the outcome and the
// recommended candidates.
func (v *view) Changes() [][]string {
	return lo.Map(v.Decision.Changes, func(c Change, _ int) []string {
		l, then := lookOf(c.Outcome, "Not decided"), format.Joined(c.Recommended)
		if c.Outcome == NoLockNeeded && len(c.Lock) > 0 {
			then += ", or " + format.Joined(c.Lock)
		}
		return []string{c.Need, c.Value, l.Symbol + " " + l.Word, then}
	})
}
