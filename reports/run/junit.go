package run

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"

	"lockbench/checker"
	"lockbench/histories"
)

// The elements of a JUnit report, as read by CI systems: https://github.com/testmoapp/junitxml.
type (
	junitReport struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitMessage `xml:"failure"`
		Error   *junitMessage `xml:"error"`
		Skipped *junitMessage `xml:"skipped"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the results as a JUnit report. Each cell is a test suite, and each property with an expectation a test case.
// FAIL and xpass are failures, inconclusive results are errors; expected failures and properties that are not applicable are
// skipped. A planned cell without results is an error.
func (r *Results) JUnit(w io.Writer) error {
	var report junitReport
	for _, o := range r.Cells {
		if o.Expected == histories.Unspecified {
			continue
		}
		name := o.Lock + "/" + o.Where()
		i := slices.IndexFunc(report.Suites, func(s junitSuite) bool { return s.Name == name })
		if i < 0 {
			i = len(report.Suites)
			report.Suites = append(report.Suites, junitSuite{Name: name})
		}
		report.Suites[i].add(o.junit(name))
	}
	for _, g := range r.Gaps {
		s := junitSuite{Name: g.Dir}
		s.add(junitCase{Class: g.Dir, Name: "trial", Error: &junitMessage{Message: g.Reason}})
		report.Suites = append(report.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(report); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	s.Cases = append(s.Cases, c)
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}

func (o Observation) junit(class string) junitCase {
	c := junitCase{Class: class, Name: o.Property}
	switch o.Result {
	case checker.Fail:
		c.Failure = &junitMessage{fmt.Sprintf("%s was violated, and was expected to hold: %s", o.Property, o.Because), o.Example}
	case checker.XPass:
		c.Failure = &junitMessage{fmt.Sprintf("%s held, and was expected to be violated: %s", o.Property, o.Because), o.Weight}
	case checker.Inconclusive:
		c.Error = &junitMessage{"inconclusive: " + o.Why, o.Weight}
	case checker.XFail:
		c.Skipped = &junitMessage{"violated, as expected: " + o.Because, o.Example}
	case checker.Pass:
	default:
		c.Skipped = &junitMessage{"not applicable: " + o.Why, ""}
	}
	return c
}
