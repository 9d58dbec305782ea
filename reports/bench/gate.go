package bench

import (
	"fmt"
	"lockbench/reports/stats"
	"strconv"
	"strings"
)

// Outcome is what became of a limit.
type Outcome int

// From the one that asks for the least to the one that asks for the most.
const (
	Unknown Outcome = iota // it was not measured, or the figures mean nothing
	Noisy                  // the limit lies within the interval
	Pass                   // the whole interval is within the limit
	Breach                 // the whole interval is beyond it, or the lock is unsafe
)

func (o Outcome) String() string {
	return [...]string{"not measured", "too noisy to tell", "pass", "breach"}[o]
}

// worse returns the outcome of two together: a breach anywhere is one, and a pass takes both.
func (o Outcome) worse(p Outcome) Outcome {
	severity := [...]int{Pass: 0, Noisy: 1, Unknown: 2, Breach: 3}
	if severity[p] > severity[o] {
		return p
	}
	return o
}

// Gated is a threshold, held to a run.
type Gated struct {
	Threshold Threshold
	Outcome   Outcome
	Points    []GatedPoint // at least one
}

// GatedPoint is a threshold at one point.
type GatedPoint struct {
	Point   string
	Outcome Outcome
	Text    string // one sentence with its figures
}

// Name says what is asked for.
func (t Threshold) Name() string {
	var b strings.Builder
	b.WriteString(t.Subject + " " + t.Metric)
	switch {
	case t.To != "":
		b.WriteString(" to that of " + t.To)
	case t.ToBaseline:
		b.WriteString(" to the baseline")
	}
	if t.Min != nil {
		b.WriteString(" >= " + fourDigits(*t.Min))
	}
	if t.Max != nil {
		b.WriteString(" <= " + fourDigits(*t.Max))
	}
	if t.Section != "" {
		b.WriteString(", " + t.Section)
	}
	if t.Clients > 0 {
		fmt.Fprintf(&b, ", %d clients", t.Clients)
	}
	return b.String()
}

// fourDigits writes four significant digits, and no exponent where none is needed.
func fourDigits(v float64) string {
	if v >= 1e4 && v < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// Validate refuses a threshold that says nothing, or two things.
func (t Threshold) Validate() error {
	if _, ok := FindMetric(t.Metric); !ok {
		return fmt.Errorf("threshold %s: unknown metric %q", t.Name(), t.Metric)
	}
	switch {
	case t.Subject == "":
		return fmt.Errorf("threshold %s: it names no lock", t.Name())
	case t.Min == nil && t.Max == nil:
		return fmt.Errorf("threshold %s: it has neither min nor max", t.Name())
	case t.To != "" && t.ToBaseline:
		return fmt.Errorf("threshold %s: a ratio is to another lock or to the baseline, not to both", t.Name())
	}
	return nil
}

// Gate holds a run to thresholds. The baseline may be nil.
func Gate(run, baseline *Results, thresholds []Threshold) ([]Gated, error) {
	all := []Gated{}
	for _, t := range thresholds {
		if err := t.Validate(); err != nil {
			return nil, err
		}
		g := Gated{Threshold: t, Points: gatePoints(run, baseline, t)}
		g.Outcome = g.Points[0].Outcome
		for _, p := range g.Points[1:] {
			g.Outcome = g.Outcome.worse(p.Outcome)
		}
		all = append(all, g)
	}
	return all, nil
}

func gatePoints(run, baseline *Results, t Threshold) []GatedPoint {
	unknown := func(format string, args ...any) []GatedPoint {
		return []GatedPoint{{Text: fmt.Sprintf(format, args...)}}
	}
	if len(run.Withheld) > 0 {
		return unknown("the figures are withheld: %s", strings.Join(run.Withheld, "; "))
	}
	if t.ToBaseline && baseline != nil && len(baseline.Withheld) > 0 {
		return unknown("the figures of the baseline are withheld: %s", strings.Join(baseline.Withheld, "; "))
	}
	var points []GatedPoint
	for _, p := range run.Plan.Points {
		row, ok := run.Row(t.Subject, p.ID)
		if !ok || t.Section != "" && p.Section != t.Section || t.Clients > 0 && p.Clients != t.Clients {
			continue
		}
		outcome, text := gateRow(run, baseline, t, row)
		points = append(points, GatedPoint{Point: p.ID, Outcome: outcome, Text: fmt.Sprintf("%s at %s: %s", t.Subject, p.ID, text)})
	}
	if len(points) == 0 {
		return unknown("%s was not measured at any point that the threshold speaks of", t.Subject)
	}
	return points
}

func gateRow(run, baseline *Results, t Threshold, row *Row) (Outcome, string) {
	if v := row.Unsafe; v != nil {
		return Breach, fmt.Sprintf("violated: %s in %d of %d trials, so that its figures mean nothing", v.Property, row.UnsafeIn, row.Trials)
	}
	mine := row.Estimates[t.Metric]
	if mine.N == 0 {
		return Unknown, fmt.Sprintf("%s was not measured", t.Metric)
	}
	if t.To == "" && !t.ToBaseline {
		m, _ := FindMetric(t.Metric)
		return t.hold(m.Title, m.Unit, mine.Median, mine.Low, mine.High, row)
	}
	other, why := t.other(run, baseline, row)
	if why != "" {
		return Unknown, why
	}
	theirs := other.Estimates[t.Metric]
	c, title := stats.Paired(mine, theirs, run.Plan.Seed), t.Metric+" to that of "+t.To
	if t.ToBaseline {
		c, title = stats.Unpaired(mine, theirs), t.Metric+" to that of the baseline"
	}
	if c.Ratio == 0 {
		return Unknown, c.Note
	}
	return t.hold(title, "", c.Ratio, c.Low, c.High, row)
}

// other returns the row that a ratio is to; why says that there is none.
func (t Threshold) other(run, baseline *Results, row *Row) (other *Row, why string) {
	in, subject, what := run, t.To, t.To
	if t.ToBaseline {
		if baseline == nil {
			return nil, "there is no baseline to compare with"
		}
		in, subject, what = baseline, t.Subject, t.Subject+" in the baseline"
	}
	other, ok := in.Row(subject, row.Point)
	if ok && t.ToBaseline {
		why = unlike(baseline.Plan, run.Plan, row)
	}
	switch {
	case why != "":
	case !ok || other.Estimates[t.Metric].N == 0:
		why = fmt.Sprintf("%s of %s was not measured there", t.Metric, what)
	case other.Unsafe != nil:
		why = fmt.Sprintf("%s violated %s, so that its figures mean nothing", what, other.Unsafe.Property)
	}
	return other, why
}

// hold holds an interval to the limits: it must be on one side of a limit as a whole, or it is too noisy to tell.
func (t Threshold) hold(title, unit string, value float64, low, high *float64, row *Row) (Outcome, string) {
	is := fmt.Sprintf("%s is %s", title, strings.TrimSpace(fourDigits(value)+" "+unit))
	if low == nil || high == nil {
		return Noisy, fmt.Sprintf("%s, and %d trials are too few for an interval", is, row.Trials)
	}
	is += fmt.Sprintf(" (95 %%: %s to %s)", fourDigits(*low), fourDigits(*high))
	if row.Limited != "" {
		is += ", limited by the " + row.Limited
	}
	switch {
	case t.Min != nil && *high < *t.Min:
		return Breach, fmt.Sprintf("%s, below %s", is, fourDigits(*t.Min))
	case t.Max != nil && *low > *t.Max:
		return Breach, fmt.Sprintf("%s, above %s", is, fourDigits(*t.Max))
	case t.Min != nil && *low < *t.Min:
		return Noisy, fmt.Sprintf("%s, and the least that is allowed, %s, lies within", is, fourDigits(*t.Min))
	case t.Max != nil && *high > *t.Max:
		return Noisy, fmt.Sprintf("%s, and the most that is allowed, %s, lies within", is, fourDigits(*t.Max))
	}
	return Pass, is + ", within the limit"
}
