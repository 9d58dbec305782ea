package run

import (
	"fmt"
	"math"
	"strconv"

	"lockbench/checker"
	"lockbench/reports/format"
)

// z95 is how many standard deviations hold 95 % of a normal distribution.
const z95 = 1.96

// inTrials says in how many trials a property came out as it did, and between what bounds its rate lies with
// 95 % confidence; empty where there was one trial or none.
func inTrials(o Observation) string {
	n := o.Trials
	switch {
	case n < 2:
		return ""
	case o.Observed == checker.Violated:
		low, high := wilson(o.ViolatedIn, n)
		return fmt.Sprintf("violated in %s of %s trials (95 %% interval %s-%s %%)",
			format.Count(o.ViolatedIn), format.Count(n), outward(low, math.Floor), outward(high, math.Ceil))
	case o.Observed == checker.Undecided:
		return fmt.Sprintf("undecided in %s of %s trials", format.Count(o.UndecidedIn), format.Count(n))
	case o.Observed == checker.Held:
		return fmt.Sprintf("violated in 0 of %s trials (95 %%: below %s %%)", format.Count(n), atMost(n))
	}
	return ""
}

// Rate says how often something was seen, and between what bounds its rate lies with 95 % confidence: after Wilson,
// or by the rule of three where it was not seen.
func Rate(hits, n int) string {
	if hits == 0 {
		return fmt.Sprintf("0 of %s (95 %%: below %s %%)", format.Count(n), atMost(n))
	}
	low, high := wilson(hits, n)
	return fmt.Sprintf("%s of %s (95 %%: %s-%s %%)", format.Count(hits), format.Count(n), outward(low, math.Floor), outward(high, math.Ceil))
}

// wilson is the 95 % interval of a rate after E. B. Wilson, which holds for few trials and rates near 0 and 1.
func wilson(hits, n int) (low, high float64) {
	p, m := float64(hits)/float64(n), float64(n)
	middle := p + z95*z95/(2*m)
	reach := z95 * math.Sqrt(p*(1-p)/m+z95*z95/(4*m*m))
	whole := 1 + z95*z95/m
	return max(0, (middle-reach)/whole), min(1, (middle+reach)/whole)
}

// atMost is the rate in per cent at which n trials show nothing in 5 cases of 100: 3/n where n is large, the rule
// of three, and for few trials less than that.
func atMost(n int) string { return outward(1-math.Pow(0.05, 1/float64(n)), math.Ceil) }

// outward writes a bound in per cent, rounded away from what it bounds; to a tenth where it is small.
func outward(part float64, round func(float64) float64) string {
	if part < 0.1 {
		return strconv.FormatFloat(round(1000*part)/10, 'f', 1, 64)
	}
	return strconv.FormatFloat(round(100*part), 'f', 0, 64)
}
