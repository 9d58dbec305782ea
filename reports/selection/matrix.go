package selection

import (
	"fmt"
	"slices"

	"lockbench/reports/format"

	"lockbench/internal/choose/decision"
)

// judged is an option in the matrix of options and requirements.
type judged struct {
	Option  decision.Option
	Anchor  string
	Stays   bool
	Why     string // it is out
	Answers []answered
	Figures []answered // of the criteria
	Counts  string     // of the answers, in words
}

// answered is a cell, with the sentence that it stands for.
type answered struct {
	Title string
	Look  look
	Value string // of a criterion
	Tag   decision.Tag
	Text  string
	Refs  []ref
}

// Label is the whole cell for those who point at it.
func (a answered) Label() string {
	return fmt.Sprintf("%s: %s (%s). %s", a.Title, a.Look.Word, a.Tag, a.Text)
}

// judgedAll are all options, those first that stay; otherwise in display order.
func (v *view) judgedAll() []judged {
	var all []judged
	for i, o := range v.Options {
		j := judged{Option: o, Anchor: fmt.Sprintf("option-%d", i+1), Stays: v.survives(o.Name)}
		if k, out := v.knockout(o.Name); out {
			j.Why = k.Text
		}
		counts := map[decision.Answer]int{}
		for _, r := range v.Requirements {
			c := v.answer(o.Name, r.Name)
			counts[c.Answer]++
			j.Answers = append(j.Answers, answered{Title: r.Title, Look: lookOfAnswer(c.Answer), Tag: c.Tag, Text: c.Text, Refs: v.refs(c.Evidence)})
		}
		j.Counts = fmt.Sprintf("%d yes, %d no, %d unknown", counts[decision.Yes], counts[decision.No], counts[decision.DontKnow])
		for _, k := range v.Criteria {
			if c, given := v.cells[place{o.Name, k.Name}]; given {
				f := answered{Title: k.Title, Value: format.None, Tag: tagOf(c.Tag), Text: c.Text, Refs: v.refs(c.Evidence)}
				if c.Value != nil {
					f.Value = amount(*c.Value, k.Unit)
				}
				j.Figures = append(j.Figures, f)
			}
		}
		all = append(all, j)
	}
	slices.SortStableFunc(all, func(a, b judged) int { return rankOfStay(a) - rankOfStay(b) })
	return all
}

func rankOfStay(j judged) int {
	if j.Stays {
		return 0
	}
	return 1
}

// group is those that stay, or those that are out.
type group []judged

// groupsOf parts the options, so that those that stay stand together.
func groupsOf(all []judged) []group {
	out := slices.IndexFunc(all, func(j judged) bool { return !j.Stays })
	switch out {
	case -1, 0:
		return []group{all}
	}
	return []group{all[:out], all[out:]}
}

// Open are the answers that are not yes.
func (j judged) Open() []answered {
	return slices.DeleteFunc(slices.Clone(j.Answers), func(a answered) bool { return a.Look.Word == string(decision.Yes) })
}

// Small is what stands below the answer: its tag, unless the answer says it already.
func (a answered) Small() string {
	if a.Tag == decision.Unknown && a.Look.Word == string(decision.DontKnow) {
		return "no evidence"
	}
	return string(a.Tag)
}

// matrixTakeaway says what the matrix comes to.
func (v *view) matrixTakeaway() string {
	out, unsure := 0, 0
	for _, k := range v.Decision.Out {
		if len(k.Fails) == 0 {
			unsure++
		} else {
			out++
		}
	}
	text := fmt.Sprintf("Of %s, %s all that is required", format.Plural(len(v.Options), "option"), doText(len(v.Decision.Survivors)))
	switch out {
	case 0:
	case 1:
		text += "; one is seen, or known, not to"
	default:
		text += fmt.Sprintf("; %d are seen, or known, not to", out)
	}
	if unsure > 0 {
		text += fmt.Sprintf("; of %d it is not known, and unknown never counts as yes", unsure)
	}
	return text + "."
}

func doText(n int) string {
	switch n {
	case 0:
		return "none does"
	case 1:
		return "one does"
	}
	return fmt.Sprintf("%d do", n)
}
