package bench

import (
	"io"
	"slices"
	"strings"
	"time"

	"lockbench/reports/format"
)

// WriteJUnit writes a JUnit test case for each threshold. An undecided threshold becomes an error, not a skipped test,
// because most build servers accept skipped tests.
func WriteJUnit(w io.Writer, run *Results, gated []Gated) error {
	var file format.JUnit
	s := file.Suite("lockbench gate: " + run.Plan.Name)
	if !run.Plan.Started.IsZero() {
		s.Timestamp = run.Plan.Started.UTC().Format(time.RFC3339)
	}
	for _, g := range gated {
		c := format.JUnitCase{Class: "lockbench.gate." + g.Threshold.Subject, Name: g.Threshold.Name()}
		text := g.sentences()
		why := &format.JUnitMessage{Type: g.Outcome.String(), Text: text, Message: g.sentences(g.Outcome)}
		switch g.Outcome {
		case Breach:
			c.Failure = why
		case Pass:
			c.Output = text
		default:
			c.Error = why
		}
		s.Add(c)
	}
	return file.Write(w)
}

func (g Gated) sentences(outcomes ...Outcome) string {
	points := filter(g.Points, func(p GatedPoint) bool { return len(outcomes) == 0 || slices.Contains(outcomes, p.Outcome) })
	return strings.Join(collect(points, func(p GatedPoint) string { return format.Clean(p.Text) }), "; ")
}
