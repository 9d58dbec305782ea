package run

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/format"
	"lockbench/reports/html"
	"lockbench/reports/stats"
)

// counts lists what was counted, leaving out what did not happen.
func counts(c checker.Counts) string {
	parts := []string{format.Plural(c.Operations, "operation")}
	for _, counted := range []struct {
		n    int
		noun string
	}{
		{c.HandOffs, "hand-off"}, {c.Expiries, "expiry"}, {c.Takeovers, "takeover"}, {c.Faults, "fault"},
		{c.Losses, "loss"}, {c.FalseLosses, "false loss"}, {c.Stale, "stale operation"},
	} {
		if counted.n > 0 {
			parts = append(parts, format.Plural(counted.n, counted.noun))
		}
	}
	return strings.Join(parts, ", ")
}

// looks say how scores are shown: colour is never the only difference.
var looks = [...]struct {
	symbol, codes string // codes of the colour in a terminal
	gravity       int
}{
	checker.Measured: {"·", "", 0}, checker.Kept: {"✓", "32", 1}, checker.Caught: {"◉", "32", 2},
	checker.LeftUndecided: {"?", "33", 4}, checker.Missed: {"!", "31", 5}, checker.Broken: {"✗", "31", 6},
}

func badgeOf(s checker.Score) html.Badge {
	return html.Badge{Class: "score-" + strings.ToLower(s.String()), Symbol: looks[s].symbol, Word: s.String()}
}

// Badge returns the score of an observation. A violation that no claim forbids has a symbol and a colour of its own.
func (o Observation) Badge() html.Badge {
	b := badgeOf(o.Score)
	if o.gravity() == violatedOnly {
		b.Class, b.Symbol = "score-violated", "×"
	}
	return b
}

const violatedOnly = 3 // the gravity of a violation that no claim forbids

func (o Observation) gravity() int {
	if o.Score == checker.Measured && o.Observed == checker.Violated {
		return violatedOnly
	}
	return looks[o.Score].gravity
}

// expectation returns the word for what was expected.
func expectation(e histories.Expectation) string {
	if e == histories.MeasuredOnly {
		return format.None
	}
	return e.String()
}

// observed says "no violation" if a property held: more is not known.
func observed(o checker.Observed) string {
	if o == checker.Held {
		return "no violation"
	}
	return o.String()
}

// labels returns the function that names locks: lock@deployment if that is not the lock's usual one or, in a run that
// does not say what is usual, if the lock was run on several.
func (m *Manifest) labels() func(lock, deployment string) string {
	usual, several := map[string]string{}, map[string]bool{}
	for _, c := range m.Plan {
		if d, seen := usual[c.Lock]; seen && d != c.Deployment {
			several[c.Lock] = true
		}
		usual[c.Lock] = c.Deployment
	}
	for _, l := range m.Locks {
		if l.Deployment != "" {
			usual[l.Name], several[l.Name] = l.Deployment, false
		}
	}
	return func(lock, deployment string) string {
		if deployment == "" || deployment == usual[lock] && !several[lock] {
			return lock
		}
		return lock + "@" + deployment
	}
}

// inTrials says in how many trials a property came out as it did, with the 95 % interval of its rate; empty for fewer than
// two trials.
func inTrials(o Observation) string {
	if o.Trials < 2 {
		return ""
	}
	switch n := format.Count(o.Trials); o.Observed {
	case checker.Violated:
		return fmt.Sprintf("violated in %s of %s trials (95 %% interval %s)", format.Count(o.ViolatedIn), n, rateInterval(o.ViolatedIn, o.Trials))
	case checker.Undecided:
		return fmt.Sprintf("undecided in %s of %s trials", format.Count(o.UndecidedIn), n)
	case checker.Held:
		return fmt.Sprintf("violated in 0 of %s trials (95 %%: %s)", n, rateInterval(0, o.Trials))
	}
	return ""
}

// Rate says how often something was seen, with the 95 % interval of its rate.
func Rate(hits, n int) string {
	return fmt.Sprintf("%s of %s (95 %%: %s)", format.Count(hits), format.Count(n), rateInterval(hits, n))
}

func rateInterval(hits, n int) string {
	low, high := stats.BinomialInterval(hits, n)
	if hits == 0 {
		return "below " + outward(high, math.Ceil) + " %"
	}
	return outward(low, math.Floor) + "-" + outward(high, math.Ceil) + " %"
}

// outward writes a bound in per cent, rounded away from what it bounds; to a tenth if it is small.
func outward(part float64, round func(float64) float64) string {
	if part < 0.1 {
		return strconv.FormatFloat(round(1000*part)/10, 'f', 1, 64)
	}
	return strconv.FormatFloat(round(100*part), 'f', 0, 64)
}
