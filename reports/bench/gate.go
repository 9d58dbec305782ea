package bench

import (
	"fmt"
	"strconv"
	"strings"

	"lockbench/reports/stats"
)

// Threshold limits a measured value, or its ratio to the value of another lock or of an earlier run.
type Threshold struct {
	Subject    string   `json:"lock"`
	Section    string   `json:"section,omitempty"` // section of the suite; empty: all sections
	Clients    int      `json:"clients,omitempty"` // number of clients; 0: any number
	Metric     string   `json:"metric"`            // name of a metric that the function Metrics returns
	Min        *float64 `json:"min,omitempty"`
	Max        *float64 `json:"max,omitempty"`
	To         string   `json:"ratio_to,omitempty"`          // name of the other lock, if a ratio is limited
	ToBaseline bool     `json:"ratio_to_baseline,omitempty"` // whether the ratio to the same lock in an earlier run is limited
}

// Outcome is the result of checking a threshold.
type Outcome int

// The outcomes of a threshold, from best to worst. A threshold that applies to several sets of conditions has the worst
// of their outcomes.
const (
	Pass    Outcome = iota - 2 // the confidence interval is within the limit
	Noisy                      // the limit is inside the confidence interval
	Unknown                    // the value is missing or invalid
	Breach                     // the confidence interval is beyond the limit, or two clients held the lock at once
)

func (o Outcome) String() string {
	return [...]string{"pass", "too noisy to tell", "not measured", "breach"}[o-Pass]
}

// Gated is a threshold and the result of checking it.
type Gated struct {
	Threshold Threshold
	Outcome   Outcome
	Points    []GatedPoint // outcome under each set of conditions; never empty
}

// GatedPoint is the result of checking a threshold under one set of conditions.
type GatedPoint struct {
	Point   string
	Outcome Outcome
	Text    string // one sentence with the measured values
}

// Name describes the threshold, as in "fenced goodput >= 1000, 16 clients".
func (t Threshold) Name() string {
	name := t.Subject + " " + t.Metric
	switch {
	case t.To != "":
		name += " to that of " + t.To
	case t.ToBaseline:
		name += " to the earlier run"
	}
	if t.Min != nil {
		name += " >= " + fourDigits(*t.Min)
	}
	if t.Max != nil {
		name += " <= " + fourDigits(*t.Max)
	}
	if t.Section != "" {
		name += ", " + t.Section
	}
	if t.Clients > 0 {
		name += fmt.Sprintf(", %d clients", t.Clients)
	}
	return name
}

func fourDigits(v float64) string {
	if v >= 1e4 && v < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// Validate returns an error if the metric is unknown, or if the lock or both limits are missing. It also returns an
// error if both To and ToBaseline are set.
func (t Threshold) Validate() error {
	_, known := FindMetric(t.Metric)
	why := ""
	switch {
	case !known:
		why = fmt.Sprintf("unknown metric %q", t.Metric)
	case t.Subject == "":
		why = "it names no lock"
	case t.Min == nil && t.Max == nil:
		why = "it has neither min nor max"
	case t.To != "" && t.ToBaseline:
		why = "a ratio is to another lock or to an earlier run, not to both"
	default:
		return nil
	}
	return fmt.Errorf("threshold %s: %s", t.Name(), why)
}

// Gate checks the results of a run against thresholds. The baseline holds the results of an earlier run. It may be nil.
func Gate(run, baseline *Results, thresholds []Threshold) ([]Gated, error) {
	all := []Gated{}
	for _, t := range thresholds {
		if err := t.Validate(); err != nil {
			return nil, err
		}
		g := Gated{Threshold: t, Points: gatePoints(run, baseline, t), Outcome: Pass}
		for _, p := range g.Points {
			g.Outcome = max(g.Outcome, p.Outcome)
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
		return unknown("%s was not measured at any point of the threshold", t.Subject)
	}
	return points
}

func gateRow(run, baseline *Results, t Threshold, row *Row) (Outcome, string) {
	mine := row.Estimates[t.Metric]
	switch {
	case row.Unsafe != nil:
		return Breach, "violated: " + row.unsafeText() + ", so its figures are invalid"
	case mine.N == 0:
		return Unknown, t.Metric + " was not measured"
	case t.To == "" && !t.ToBaseline:
		m, _ := FindMetric(t.Metric)
		return t.compare(m.Title, m.Unit, mine.Median, mine.Low, mine.High, row)
	case t.ToBaseline && baseline == nil:
		return Unknown, "there is no earlier run to compare with"
	}
	in, subject, what := run, t.To, t.To
	if t.ToBaseline {
		in, subject, what = baseline, t.Subject, t.Subject+" in the earlier run"
	}
	other, ok := in.Row(subject, row.Point)
	if ok && t.ToBaseline && other.unlike(row) != "" {
		return Unknown, other.unlike(row)
	}
	switch {
	case !ok || other.Estimates[t.Metric].N == 0:
		return Unknown, fmt.Sprintf("%s of %s was not measured there", t.Metric, what)
	case other.Unsafe != nil:
		return Unknown, fmt.Sprintf("%s violated %s, so its figures are invalid", what, other.Unsafe.Property)
	}
	c, title := stats.Paired(mine, other.Estimates[t.Metric], run.Plan.Seed), t.Metric+" to that of "+t.To
	if t.ToBaseline {
		c, title = stats.Unpaired(mine, other.Estimates[t.Metric]), t.Metric+" to that of the earlier run"
	}
	if c.Ratio == 0 {
		return Unknown, c.Note
	}
	return t.compare(title, "", c.Ratio, c.Low, c.High, row)
}

// compare compares a confidence interval with the threshold. It returns the outcome, and one sentence that explains it.
func (t Threshold) compare(title, unit string, value float64, low, high *float64, row *Row) (Outcome, string) {
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
		return Noisy, fmt.Sprintf("%s, and the least allowed value, %s, lies within", is, fourDigits(*t.Min))
	case t.Max != nil && *high > *t.Max:
		return Noisy, fmt.Sprintf("%s, and the greatest allowed value, %s, lies within", is, fourDigits(*t.Max))
	}
	return Pass, is + ", within the limit"
}
