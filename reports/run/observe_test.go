package run

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/html"
)

func judged(claim histories.Expected, observed ...checker.Observed) []*trialRead {
	var trials []*trialRead
	for i, o := range observed {
		f := checker.Finding{Property: "p", Observed: o, Why: "why " + o.String(), Evidence: "weight"}
		if o == checker.Violated {
			f.Violations = 2
			f.Witness = &checker.Witness{Story: fmt.Sprintf("story %d", i)}
		}
		trials = append(trials, &trialRead{
			Trial:   Trial{Dir: fmt.Sprintf("d/%03d", i+1), State: Judged, SHA256: "s"},
			header:  histories.Header{Expectations: []histories.Expectation{{Property: "p", Expected: claim, Because: "because"}}},
			verdict: checker.Verdict{Findings: []checker.Finding{f}, Counts: checker.Counts{Operations: 10, Takeovers: 1}},
		})
	}
	return trials
}

func TestWorstTrialCounts(t *testing.T) {
	const na, held, und, vio = checker.NotApplicable, checker.Held, checker.Undecided, checker.Violated
	for _, c := range []struct {
		claim    histories.Expected
		trials   []checker.Observed
		observed checker.Observed
		score    checker.Result
	}{
		{histories.ToHold, []checker.Observed{held}, held, checker.Pass},
		{histories.ToHold, []checker.Observed{held, na, held}, held, checker.Pass},
		{histories.ToHold, []checker.Observed{held, und}, und, checker.Inconclusive},
		{histories.ToHold, []checker.Observed{und, vio, held}, vio, checker.Fail},
		{histories.ToHold, []checker.Observed{na, na}, na, checker.NoExpectation},
		{histories.ToBeViolated, []checker.Observed{held, vio}, vio, checker.XFail},
		{histories.ToBeViolated, []checker.Observed{held, held}, held, checker.XPass},
		{histories.ToBeViolated, []checker.Observed{und}, und, checker.XPass},
		{histories.Unspecified, []checker.Observed{vio}, vio, checker.NoExpectation},
	} {
		t.Run(fmt.Sprint(c.claim, c.trials), func(t *testing.T) {
			got := observe(Cell{Lock: "l", Workload: "w"}, judged(c.claim, c.trials...))
			if len(got) != 1 {
				t.Fatalf("%d observations of one property", len(got))
			}
			o := got[0]
			if o.Observed != c.observed || o.Result != c.score {
				t.Errorf("%v, %v; want %v, %v", o.Observed, o.Result, c.observed, c.score)
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
	trials := judged(histories.ToHold, checker.Held)
	trials[0].header.Expectations = append(trials[0].header.Expectations, histories.Expectation{Property: "q", Expected: histories.ToHold})
	got := observe(Cell{}, trials)
	if len(got) != 2 || got[1].Property != "q" || got[1].Observed != checker.NotApplicable || got[1].Why != "it was not judged" {
		t.Errorf("got %+v", got)
	}
	if !got[1].inTable() {
		t.Error("a claim that was not judged is left out of the table")
	}
}

func TestStandings(t *testing.T) {
	observation := func(lock, workload, fault, property string, e histories.Expected, o checker.Observed) Observation {
		return Observation{Lock: lock, Workload: workload, Fault: fault, Property: property, Expected: e, Observed: o}
	}
	const vio, held = checker.Violated, checker.Held
	r := &Results{Cells: []Observation{
		observation("none", "counter", "none", "mutual-exclusion", histories.ToBeViolated, vio),
		observation("leased", "counter", "none", "mutual-exclusion", histories.ToHold, held),
		observation("leased", "counter", "stall", "mutual-exclusion", histories.ToBeViolated, vio),
		observation("broken", "counter", "none", "mutual-exclusion", histories.ToHold, vio),
		observation("blind", "misuse", "none", "lease-exclusion", histories.ToBeViolated, vio),
		observation("outlived", "long-hold", "none", "mutual-exclusion", histories.ToBeViolated, vio),
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
	of := func(scores ...checker.Result) *Results {
		r := &Results{Trials: []Trial{{State: Judged}}, Cells: []Observation{
			{Lock: "l", Workload: "w", Fault: "none", Property: "mutual-exclusion", Observed: checker.Held, Evidence: []Evidence{{Dir: "d"}}}}}
		for _, s := range scores {
			r.Cells = append(r.Cells, Observation{Lock: "l", Workload: "w", Fault: "none", Property: "p", Result: s, Evidence: []Evidence{{Dir: "d"}}})
		}
		r.Tally = tallyOf(r)
		return r
	}
	const fine = "1 of 1 lock excluded in every trial. "
	for want, r := range map[string]*Results{
		"Nothing was judged.":                              {},
		fine + "3 of 3 expectations met: 2 pass, 1 xfail.": of(checker.Pass, checker.Pass, checker.XFail),
		fine + "2 of 2 expectations met; no known-broken lock was run that could have failed.":                                                             of(checker.Pass, checker.Pass),
		fine + "1 of 1 expectation met: 0 pass, 1 xfail.":                                                                                                  of(checker.XFail),
		fine + "Nothing was expected of any of them.":                                                                                                      of(checker.NoExpectation),
		"1 property violated although expected to hold: l violates p in w. " + fine + "2 of 3 expectations met: 1 pass, 1 xfail.":                          of(checker.Pass, checker.Fail, checker.XFail),
		"1 known defect not detected: l on p in w. What the suite cannot detect it cannot rule out. " + fine + "1 of 2 expectations met: 1 pass, 0 xfail.": of(checker.Pass, checker.XPass),
		fine + "1 result is inconclusive. 2 of 3 expectations met: 1 pass, 1 xfail.":                                                                       of(checker.Pass, checker.Inconclusive, checker.XFail),
	} {
		if v := r.verdict(); v.Tone == html.Good || !strings.HasPrefix(v.Headline, "Incomplete: ") {
			t.Errorf("of a run that did not end: %v %q", v.Tone, v.Headline)
		}
		r.Run.Ended = time.Unix(1, 0)
		v := r.verdict()
		if got := strings.TrimSpace(v.Headline + " " + v.Rest); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		if v.Tone == html.Good && (r.Tally.Fail+r.Tally.XPass+r.Tally.Inconclusive > 0 || r.Tally.XFail == 0) {
			t.Errorf("%q sounds good", want)
		}
	}
}

// TestSayLocks: what a lock did decides, whatever was expected. An unknown is never told as exclusion, and the tone is bad if
// a lock without expectations let two clients hold at once.
func TestSayLocks(t *testing.T) {
	const held, vio, und, none = checker.Held, checker.Violated, checker.Undecided, checker.NotApplicable
	r := &Results{}
	see := func(lock, fault string, lease, mutual checker.Observed, e histories.Expected) {
		r.Cells = append(r.Cells, Observation{Lock: lock, Workload: "counter", Fault: fault, Property: "lease-exclusion", Observed: lease, Expected: e},
			Observation{Lock: lock, Workload: "counter", Fault: fault, Property: "mutual-exclusion", Observed: mutual, Expected: e})
	}
	see("sound", "none", held, held, histories.ToHold)
	see("sound", "holder-kill", none, none, histories.ToHold)
	if tone, text := r.sayLocks(); tone != html.Good || text != "1 of 1 lock excluded in every trial." {
		t.Errorf("%s, %s", tone, text)
	}
	see("leased", "none", held, held, histories.ToHold)
	see("leased", "holder-stall", held, vio, histories.ToBeViolated)
	see("broken", "none", vio, vio, histories.ToBeViolated)
	see("promises nothing", "none", none, vio, histories.ToBeViolated)
	see("undecided", "none", held, held, histories.ToHold)
	see("undecided", "partition", und, und, histories.ToHold)
	see("never judged", "none", none, none, histories.ToHold)
	const want = "1 of 6 locks excluded in every trial; 2 not settled: undecided, never judged; 1 only while the lease lasted: leased; " +
		"2 let two clients hold at once: broken, promises nothing."
	if tone, text := r.sayLocks(); tone != html.Unsure || text != want {
		t.Errorf("%s\ngot  %s\nwant %s", tone, text, want)
	}
	see("mine", "none", held, held, histories.Unspecified)
	if tone, _ := r.sayLocks(); tone != html.Unsure {
		t.Errorf("a lock that excluded: %s", tone)
	}
	see("mine", "process-pause", vio, vio, histories.Unspecified)
	if tone, _ := r.sayLocks(); tone != html.Bad {
		t.Errorf("a lock without expectations let two clients hold at once: %s", tone)
	}
}

// TestCrash: the worst of all trials counts, and an unknown is no recovery.
func TestCrash(t *testing.T) {
	for want, seen := range map[string][]checker.Observed{
		"–": {checker.NotApplicable}, "ok": {checker.NotApplicable, checker.Held}, "?": {checker.Held, checker.Undecided, checker.Held},
		"NO": {checker.Violated, checker.Undecided, checker.Held},
	} {
		var all []Observation
		for _, o := range seen {
			all = append(all, Observation{Property: "recovery", Observed: o})
		}
		if got := crash(all); got != want {
			t.Errorf("%v: %s, want %s", seen, got, want)
		}
	}
}
