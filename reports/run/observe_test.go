package run

import (
	"fmt"
	"strings"
	"testing"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/html"
)

func judged(claim histories.Expectation, observed ...checker.Observed) []*trialRead {
	var trials []*trialRead
	for i, o := range observed {
		f := checker.Finding{Property: "p", Observed: o, Why: "why " + o.String(), Evidence: "weight"}
		if o == checker.Violated {
			f.Violations = 2
			f.Witness = &checker.Witness{Story: fmt.Sprintf("story %d", i)}
		}
		trials = append(trials, &trialRead{
			Trial:   Trial{Dir: fmt.Sprintf("d/%03d", i+1), State: Judged, SHA256: "s"},
			header:  histories.Header{Claims: []histories.Claim{{Property: "p", Expected: claim, Because: "because"}}},
			verdict: checker.Verdict{Findings: []checker.Finding{f}, Counts: checker.Counts{Operations: 10, Takeovers: 1}},
		})
	}
	return trials
}

func TestWorstTrialCounts(t *testing.T) {
	const na, held, und, vio = checker.NotApplicable, checker.Held, checker.Undecided, checker.Violated
	for _, c := range []struct {
		claim    histories.Expectation
		trials   []checker.Observed
		observed checker.Observed
		score    checker.Score
	}{
		{histories.Holds, []checker.Observed{held}, held, checker.Kept},
		{histories.Holds, []checker.Observed{held, na, held}, held, checker.Kept},
		{histories.Holds, []checker.Observed{held, und}, und, checker.LeftUndecided},
		{histories.Holds, []checker.Observed{und, vio, held}, vio, checker.Broken},
		{histories.Holds, []checker.Observed{na, na}, na, checker.Measured},
		{histories.Breaks, []checker.Observed{held, vio}, vio, checker.Caught},
		{histories.Breaks, []checker.Observed{held, held}, held, checker.Missed},
		{histories.Breaks, []checker.Observed{und}, und, checker.Missed},
		{histories.MeasuredOnly, []checker.Observed{vio}, vio, checker.Measured},
	} {
		t.Run(fmt.Sprint(c.claim, c.trials), func(t *testing.T) {
			got := observe(Cell{Lock: "l", Workload: "w"}, judged(c.claim, c.trials...))
			if len(got) != 1 {
				t.Fatalf("%d observations of one property", len(got))
			}
			o := got[0]
			if o.Observed != c.observed || o.Score != c.score {
				t.Errorf("%v, %v; want %v, %v", o.Observed, o.Score, c.observed, c.score)
			}
			if len(o.Evidence) != len(c.trials) || o.Counts.Operations != 10*len(c.trials) || o.Counts.Takeovers != len(c.trials) {
				t.Errorf("evidence %v, counts %+v: not of all trials", o.Evidence, o.Counts)
			}
			if (o.Witness != "") != (c.observed == vio) {
				t.Errorf("witness %q of %v", o.Witness, c.observed)
			}
		})
	}
}

func TestClaimWithoutFindingIsListed(t *testing.T) {
	trials := judged(histories.Holds, checker.Held)
	trials[0].header.Claims = append(trials[0].header.Claims, histories.Claim{Property: "q", Expected: histories.Holds})
	got := observe(Cell{}, trials)
	if len(got) != 2 || got[1].Property != "q" || got[1].Observed != checker.NotApplicable || got[1].Why != "it was not judged" {
		t.Errorf("got %+v", got)
	}
	if !got[1].inTable() {
		t.Error("a claim that was not judged is left out of the table")
	}
}

func TestStandings(t *testing.T) {
	observation := func(lock, workload, fault, property string, e histories.Expectation, o checker.Observed) Observation {
		return Observation{Lock: lock, Workload: workload, Fault: fault, Property: property, Expected: e, Observed: o}
	}
	const vio, held = checker.Violated, checker.Held
	r := &Results{Cells: []Observation{
		observation("none", "counter", "none", "mutual-exclusion", histories.Breaks, vio),
		observation("leased", "counter", "none", "mutual-exclusion", histories.Holds, held),
		observation("leased", "counter", "stall", "mutual-exclusion", histories.Breaks, vio),
		observation("broken", "counter", "none", "mutual-exclusion", histories.Holds, vio),
		observation("blind", "misuse", "none", "lease-exclusion", histories.Breaks, vio),
		observation("outlived", "long-hold", "none", "mutual-exclusion", histories.Breaks, vio),
	}}
	want := map[string]string{
		"none counter none": notALock, "none counter stall": notALock,
		"leased counter none": "", "leased counter stall": insideAtOnce,
		"broken counter none": insideAtOnce,
		"blind counter none":  "a control: its promises overlapped in misuse, as expected",
		// A lease that its client outlived says nothing of the lock where holds are short.
		"outlived counter none": "", "outlived long-hold none": notALock,
	}
	for key := range want {
		p := strings.Fields(key)
		r.Measurements = append(r.Measurements, Measurement{Lock: p[0], Workload: p[1], Fault: p[2]})
	}
	setStandings(r)
	for _, m := range r.Measurements {
		key := m.Lock + " " + m.Workload + " " + m.Fault
		if m.Standing != want[key] {
			t.Errorf("%s: %q, want %q", key, m.Standing, want[key])
		}
	}
}

func TestHeadline(t *testing.T) {
	of := func(scores ...checker.Score) *Results {
		r := &Results{Trials: []Trial{{State: Judged}}}
		for _, s := range scores {
			r.Cells = append(r.Cells, Observation{Lock: "l", Workload: "w", Fault: "none", Property: "p", Score: s, Evidence: []Evidence{{Dir: "d"}}})
		}
		r.Tally = tallyOf(r)
		return r
	}
	for want, r := range map[string]*Results{
		"Nothing was judged.":                                                                       {},
		"Both claims were kept; the one control was caught.":                                        of(checker.Kept, checker.Kept, checker.Caught),
		"Both claims were kept; no control was run that could have failed.":                         of(checker.Kept, checker.Kept),
		"No claim was tested; the one control was caught.":                                          of(checker.Caught),
		"Nothing was claimed and no control was run.":                                               of(checker.Measured),
		"1 claim was broken: l breaks p in w. 1 of 2 claims were kept; the one control was caught.": of(checker.Kept, checker.Broken, checker.Caught),
		"1 control was not caught: l on p in w. What the suite cannot catch it cannot rule out. The one claim was kept; the one control was not caught.": of(checker.Kept, checker.Missed),
		"1 claim was left undecided. 1 of 2 claims were kept; the one control was caught.":                                                               of(checker.Kept, checker.LeftUndecided, checker.Caught),
	} {
		v := r.verdict()
		if got := strings.TrimSpace(v.Headline + " " + v.Rest); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		if v.Tone == html.Good && (r.Tally.Broken+r.Tally.Missed+r.Tally.Undecided > 0 || r.Tally.Caught == 0) {
			t.Errorf("%q sounds good", want)
		}
	}
}
