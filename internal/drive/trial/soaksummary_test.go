package trial

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/histories"
)

// soakSummary returns the results of a soak test as Markdown.
func soakSummary(cells []*soakCell, n int, start time.Time) string {
	var b strings.Builder
	trials, discarded, abandoned, hold, violated := 0, 0, 0, tally{}, tally{}
	var version []string
	for _, c := range cells {
		trials, discarded, abandoned = trials+c.done, discarded+c.discarded, abandoned+c.abandoned
		if c.server != "" && !slices.Contains(version, c.server) {
			version = append(version, c.server)
		}
		for _, y := range c.tallies {
			sum := &hold
			if y.expected == histories.ToBeViolated {
				sum = &violated
			}
			sum.met, sum.not, sum.undecided = sum.met+y.met, sum.not+y.not, sum.undecided+y.undecided
		}
	}
	begun := 0 // largest number of trials of one cell; less than n if the soak test ended early
	for _, c := range cells {
		begun = max(begun, c.done+c.abandoned)
	}
	bound := ""
	if limit := os.Getenv("LOCKBENCH_SOAK_FOR"); limit != "" && begun < n {
		bound = "LOCKBENCH_SOAK_FOR=" + limit + " " // the summary states the time limit only if the limit ended the soak test
	}
	fmt.Fprintf(&b, "# Soak\n\n`%sLOCKBENCH_SOAK=%d go test ./internal/drive/trial -run TestSoak`, %s, took %s: %s, %s/%s with %d cores, %s;\nseeds 1 to %d, %d trials at once.\n\n",
		bound, n, start.Format(time.DateOnly), time.Since(start).Round(time.Second), runtime.Version(), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), strings.Join(version, ", "), begun, soakAtOnce)
	fmt.Fprintf(&b, "In %d trials %d properties were judged that are expected to hold: %d FAIL, %d inconclusive. Of %d expected violations %d were detected (xfail).\n%d more trials were discarded and repeated: their fault could not be verified, or a process was paused by no fault.\n%d were not replaced, since all of %d attempts were discarded.\n",
		trials, hold.applicable(), hold.not, hold.undecided, violated.applicable(), violated.met, discarded, abandoned, attempts)
	fmt.Fprintf(&b, "An interval is that of 95 %% after Wilson.\n\n## Expected to hold\n\n| cell | trials | discarded | longest | properties | FAIL | rate |\n|---|--:|--:|--:|---|--:|--:|\n")
	for _, c := range cells {
		c.expectedToHold(&b)
	}
	fmt.Fprintf(&b, "\n## Expected to be violated\n\n| cell | trials | discarded | longest | property | xfail | rate |\n|---|--:|--:|--:|---|--:|--:|\n")
	for _, c := range cells {
		for _, y := range c.tallies {
			if y.expected == histories.ToBeViolated {
				fmt.Fprintf(&b, "| %s | %d | %d | %.1f s | %s | %d of %d | %s |\n", c, c.done, c.discarded, c.longest.Seconds(), y.property, y.met, y.applicable(), wilson(y.met, y.applicable()))
			}
		}
	}
	if discarded > 0 {
		b.WriteString("\n## Discarded\n\nThe last reason of each cell.\n\n")
	}
	for _, c := range cells {
		if c.discarded > 0 {
			fmt.Fprintf(&b, "- %s, %d: %s\n", c, c.discarded, c.why)
		}
	}
	return b.String()
}

// expectedToHold writes a row of a Markdown table with a cell's results for the properties that are expected to hold. If
// there are no such properties, it writes nothing.
func (c *soakCell) expectedToHold(b *strings.Builder) {
	var names []string
	of, fails := 0, 0
	for _, y := range c.tallies {
		if y.expected != histories.ToHold {
			continue
		}
		name := y.property
		switch {
		case y.applicable() == 0:
			name += " (no evidence)"
		case y.undecided > 0:
			name += fmt.Sprintf(" (%d undecided)", y.undecided)
		}
		names = append(names, name)
		of, fails = max(of, y.met+y.not), fails+y.not
	}
	if len(names) > 0 {
		fmt.Fprintf(b, "| %s | %d | %d | %.1f s | %s | %d | %s |\n", c, c.done, c.discarded, c.longest.Seconds(), strings.Join(names, ", "), fails, wilson(min(fails, of), of))
	}
}

// wilson returns the 95 % Wilson confidence interval of k successes in n trials.
func wilson(k, n int) string {
	if n == 0 {
		return "-"
	}
	const z = 1.959964
	p, m := float64(k)/float64(n), float64(n)
	mid := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return fmt.Sprintf("%.1f to %.1f %%", 100*max(0, mid-half), 100*min(1, mid+half))
}

// TestComplaint checks which results make a soak test fail.
func TestComplaint(t *testing.T) {
	const holds, violated = histories.ToHold, histories.ToBeViolated
	for _, c := range []struct {
		tally
		complains bool
	}{
		{tally{expected: holds, met: 500}, false},
		{tally{expected: holds, met: 499, not: 1}, true},
		{tally{expected: holds, met: 4, undecided: 1}, false},
		{tally{expected: holds, met: 3, undecided: 2}, true},
		{tally{expected: violated, met: 95, not: 5}, false},
		{tally{expected: violated, met: 94, not: 6}, true},
		{tally{expected: violated, met: 4, not: 1}, false},
		{tally{expected: violated, met: 3, not: 2}, true},
	} {
		if got := c.complaint(); (got != "") != c.complains {
			t.Errorf("%+v: %q", c.tally, got)
		}
	}
	undetected := []*soakCell{{tallies: []*tally{{expected: violated, not: 1}}}, {tallies: []*tally{{expected: violated, not: 1}}}}
	if tooManyXPass(undetected) == "" || tooManyXPass(undetected[:1]) != "" {
		t.Errorf("two of two known defects not detected: %q, one of one: %q", tooManyXPass(undetected), tooManyXPass(undetected[:1]))
	}
}
