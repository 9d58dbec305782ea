package decision

import (
	"fmt"
	"lockbench/reports/stats"
	"time"
)

// Confirm sets what was seen beside what was predicted. source is what the report calls the folder of the histories.
func (p TrialPoint) Confirm(seen Paused, source string, of []History) Confirmed {
	low, high := stats.BinomialInterval(seen.Doubled, seen.Holds)
	c := Confirmed{TTLNS: int64(p.TTL), Scale: p.Scale, Predicted: p.Predicted, Pauses: seen.Holds, Doubles: seen.Doubled,
		Low: digits4(low), High: digits4(high), Source: source, Histories: of}
	c.Agrees = seen.Holds > 0 && c.Low <= p.Predicted && p.Predicted <= c.High
	c.Text = p.text(c)
	return c
}

func (p TrialPoint) text(c Confirmed) string {
	if c.Pauses == 0 {
		return fmt.Sprintf("With a lease of %s no pause fell into a hold: nothing is known of it.", Lasting(p.TTL))
	}
	scaled := ""
	if p.Scale != 1 {
		scaled = fmt.Sprintf(" It stands for a lease of %s: all times but round trips were %g times as long.", Lasting(time.Duration(float64(p.TTL)/p.Scale)), p.Scale)
	}
	agrees := "does not agree with the model"
	if c.Agrees {
		agrees = "agrees with the model"
	}
	return fmt.Sprintf("With a lease of %s, processes really stood still in %d holds, and %d of those were granted to another before they were done: %s, with a 95 %% interval from %s to %s. Predicted was %s, which %s.%s",
		Lasting(p.TTL), c.Pauses, c.Doubles, share(float64(c.Doubles)/float64(c.Pauses)), share(c.Low), share(c.High), share(c.Predicted), agrees, scaled)
}
