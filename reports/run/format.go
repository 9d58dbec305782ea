package run

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/format"
)

// none stands where there is no figure.
const none = "–"

func plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "s"):
		return format.Count(n) + " " + noun + "es"
	case strings.HasSuffix(noun, "y"):
		return format.Count(n) + " " + strings.TrimSuffix(noun, "y") + "ies"
	}
	return format.Count(n) + " " + noun + "s"
}

// significant writes three significant digits without an exponent.
func significant(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64) // 9.999 has become 10.0 by now
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	if digits == 0 {
		return format.Count(int(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'f', min(digits, 6), 64)
}

// milliseconds writes nanoseconds as a number of milliseconds, to four places at most.
func milliseconds(ns int64) string {
	if ns > 0 && ns < 1e5 {
		return strconv.FormatFloat(float64(ns)/1e6, 'f', 4, 64)
	}
	return significant(float64(ns) / 1e6)
}

// duration writes a duration with its unit, to three digits.
func duration(ns int64) string {
	v := float64(ns)
	switch abs := math.Abs(v); {
	case abs < 1e3:
		return significant(v) + " ns"
	case abs < 1e6:
		return significant(v/1e3) + " µs"
	case abs < 1e9:
		return significant(v/1e6) + " ms"
	}
	return significant(v/1e9) + " s"
}

func percent(part float64) string {
	return strconv.FormatFloat(100*part, 'f', 0, 64) + " %"
}

// rankName writes 0.999 as "99.9 %".
func rankName(rank float64) string {
	return strconv.FormatFloat(math.Round(rank*1e7)/1e5, 'f', -1, 64) + " %"
}

func when(t time.Time) string {
	if t.IsZero() {
		return none
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

func gibibytes(n int64) string {
	if n == 0 {
		return ""
	}
	return significant(float64(n)/(1<<30)) + " GiB"
}

// counts lists what was counted, leaving out what did not happen.
func counts(c checker.Counts) string {
	parts := []string{plural(c.Operations, "operation")}
	add := func(n int, noun string) {
		if n > 0 {
			parts = append(parts, plural(n, noun))
		}
	}
	add(c.HandOffs, "hand-off")
	add(c.Expiries, "expiry")
	add(c.Takeovers, "takeover")
	add(c.Faults, "fault")
	add(c.Losses, "loss")
	add(c.FalseLosses, "false loss")
	add(c.Stale, "stale operation")
	return strings.Join(parts, ", ")
}

// symbol stands before a score, so that colour is never the only difference.
func symbol(s checker.Score) string {
	switch s {
	case checker.Kept:
		return "✓"
	case checker.Caught:
		return "◉"
	case checker.Broken:
		return "✗"
	case checker.Missed:
		return "!"
	case checker.LeftUndecided:
		return "?"
	}
	return "·"
}

// markOf is the symbol of an observation: what was violated without a claim has one of its own.
func markOf(o Observation) string {
	if o.Score == checker.Measured && o.Observed == checker.Violated {
		return "×"
	}
	return symbol(o.Score)
}

// expectation is the word for what was expected; nothing was claimed where it is open.
func expectation(e histories.Expectation) string {
	if e == histories.MeasuredOnly {
		return none
	}
	return e.String()
}

// observed says "no violation" where a property held: more is not known.
func observed(o checker.Observed) string {
	if o == checker.Held {
		return "no violation"
	}
	return o.String()
}

// labels names locks: lock@deployment where that is not the lock's usual one, or, in a run that does not say
// what is usual, where the lock was run on several.
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
		return fmt.Sprintf("%s@%s", lock, deployment)
	}
}
