package bench

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lockbench/reports/format"
)

// junit is the root element of a JUnit XML report.
type junit struct {
	XMLName xml.Name `xml:"testsuites"`
	Suite   struct {
		Name      string      `xml:"name,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Errors    int         `xml:"errors,attr"`
		Timestamp string      `xml:"timestamp,attr,omitempty"`
		Cases     []junitCase `xml:"testcase"`
	} `xml:"testsuite"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitMessage `xml:"failure"`
	Error   *junitMessage `xml:"error"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes a JUnit test case for each threshold. An undecided threshold becomes an error, not a skipped test,
// because most build servers accept skipped tests.
func WriteJUnit(w io.Writer, run *Results, gated []Gated) error {
	var file junit
	s := &file.Suite
	s.Name, s.Tests = "lockbench gate: "+run.Plan.Name, len(gated)
	if !run.Plan.Started.IsZero() {
		s.Timestamp = run.Plan.Started.UTC().Format(time.RFC3339)
	}
	for _, g := range gated {
		c := junitCase{Class: "lockbench.gate." + g.Threshold.Subject, Name: g.Threshold.Name()}
		text := g.sentences()
		why := &junitMessage{Type: g.Outcome.String(), Text: text, Message: g.sentences(g.Outcome)}
		switch g.Outcome {
		case Breach:
			c.Failure = why
			s.Failures++
		case Pass:
			c.Output = text
		default:
			c.Error = why
			s.Errors++
		}
		s.Cases = append(s.Cases, c)
	}
	text, err := xml.MarshalIndent(file, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	}
	return err
}

func (g Gated) sentences(outcomes ...Outcome) string {
	points := filter(g.Points, func(p GatedPoint) bool { return len(outcomes) == 0 || slices.Contains(outcomes, p.Outcome) })
	return strings.Join(collect(points, func(p GatedPoint) string { return format.Clean(p.Text) }), "; ")
}
