package run

import (
	"fmt"
	"io"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/format"
)

// JUnit writes the results as a JUnit report. Each cell is a test suite, and each property with an expectation a test case.
// FAIL and xpass are failures, inconclusive results are errors; expected failures and properties that are not applicable are
// skipped. A planned cell without results is an error.
func (r *Results) JUnit(w io.Writer) error {
	var report format.JUnit
	for _, o := range r.Cells {
		if o.Expected != histories.Unspecified {
			name := o.Lock + "/" + o.Where()
			report.Suite(name).Add(o.junit(name))
		}
	}
	for _, g := range r.Gaps {
		report.Suite(g.Dir).Add(format.JUnitCase{Class: g.Dir, Name: "trial", Error: &format.JUnitMessage{Message: format.Clean(g.Reason)}})
	}
	return report.Write(w)
}

func (o Observation) junit(class string) format.JUnitCase {
	c := format.JUnitCase{Class: class, Name: o.Property}
	why := func(message, text string) *format.JUnitMessage {
		return &format.JUnitMessage{Message: format.Clean(message), Text: format.Clean(text), Type: o.Result.String()}
	}
	switch o.Result {
	case checker.Fail:
		c.Failure = why(fmt.Sprintf("%s was violated, and was expected to hold: %s", o.Property, o.Because), o.Example)
	case checker.XPass:
		c.Failure = why(fmt.Sprintf("%s held, and was expected to be violated: %s", o.Property, o.Because), o.Weight)
	case checker.Inconclusive:
		c.Error = why("inconclusive: "+o.Why, o.Weight)
	case checker.XFail:
		c.Skipped = why("violated, as expected: "+o.Because, o.Example)
	case checker.Pass:
		c.Output = format.Clean(o.Weight)
	default:
		c.Skipped = why("not applicable: "+o.Why, "")
	}
	return c
}
