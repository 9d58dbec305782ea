package selection

import (
	"fmt"
	"strings"

	"lockbench/reports/format"

	"lockbench/internal/choose/decision"
)

// compared is a surviving lock and its figures.
type compared struct {
	Option    string
	Anchor    string
	Rank      string
	Dominated string // why, where it is
	Figures   []figure
}

// figure is one criterion of one option, ready to be shown.
type figure struct {
	Value    string
	Interval string
	Ratio    string // to the best of those that are compared
	Best     bool
	Tag      decision.Tag
	Text     string
}

// weighed is a criterion with its weight.
type weighed struct {
	decision.Criterion
	Percent   string
	Direction string
}

func (v *view) weighed() []weighed {
	var all []weighed
	for _, c := range v.Criteria {
		w := weighed{Criterion: c, Percent: percent(c.Weight), Direction: "less is better"}
		if c.Better > 0 {
			w.Direction = "more is better"
		}
		all = append(all, w)
	}
	return all
}

// heading is a criterion with its unit.
func (w weighed) Heading() string {
	switch w.Unit {
	case "", "ratio", "count":
		return w.Title
	case "us":
		return w.Title + ", µs"
	case "/s":
		return w.Title + " /s"
	}
	return w.Title + ", " + w.Unit
}

func (v *view) comparedAll() []compared {
	names := v.inOrder()
	var all []compared
	for _, name := range names {
		c := compared{Option: name, Anchor: v.anchorOf(name), Rank: format.None}
		for _, s := range v.Decision.Scores {
			if s.Option == name {
				c.Rank = fmt.Sprint(s.Rank)
			}
		}
		for _, d := range v.Decision.Dominated {
			if d.Option == name {
				c.Dominated = d.Text
			}
		}
		for _, k := range v.Criteria {
			c.Figures = append(c.Figures, v.figure(name, k, names))
		}
		all = append(all, c)
	}
	return all
}

func (v *view) figure(name string, k decision.Criterion, names []string) figure {
	c, given := v.cells[place{name, k.Name}]
	if !given || c.Value == nil {
		text := c.Text
		if text == "" {
			text = "Nothing is known of it."
		}
		return figure{Value: "unknown", Tag: decision.Unknown, Text: text}
	}
	f := figure{Value: format.Significant(*c.Value), Interval: format.Span(c.Low, c.High), Tag: tagOf(c.Tag), Text: c.Text}
	best, known := v.bestOf(k, names)
	switch {
	case !known || best == 0 && *c.Value != 0:
	case *c.Value == best:
		f.Best, f.Ratio = true, "the best"
	default:
		f.Ratio = format.Times(*c.Value/best) + " the best"
	}
	return f
}

// bestOf is the best value of a criterion.
func (v *view) bestOf(k decision.Criterion, names []string) (best float64, known bool) {
	for _, name := range names {
		c := v.cells[place{name, k.Name}]
		if c.Value == nil {
			continue
		}
		if !known || (*c.Value-best)*float64(k.Better) > 0 {
			best, known = *c.Value, true
		}
	}
	return best, known
}

func (v *view) anchorOf(option string) string {
	for i, o := range v.Options {
		if o.Name == option {
			return fmt.Sprintf("option-%d", i+1)
		}
	}
	return ""
}

// percent writes a part of one; what is not quite all, or not quite nothing, is not written as if it were.
func percent(part float64) string {
	switch {
	case part > 0 && part < .001:
		return "< 0.1 %"
	case part < 1 && part > .999:
		return "> 99.9 %"
	}
	return strings.TrimSpace(format.TrimZeros(fmt.Sprintf("%.1f", 100*part))) + " %"
}
