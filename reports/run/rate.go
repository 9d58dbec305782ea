package run

import (
	"fmt"
	"math"
	"strconv"

	"lockbench/checker"
	"lockbench/reports/format"
	"lockbench/reports/stats"
)

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
