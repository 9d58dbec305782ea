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
			f.Witness = &checker.Witness{Sentence: fmt.Sprintf("story %d", i)}
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
			if (o.Example != "") != (c.observed == vio) {
				t.Errorf("witness %q of %v", o.Example, c.observed)
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
		t.Error("an expectation that was not judged is missing from the table")
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
		"leased counter none": "", "leased counter stall": heldAtOnce,
		"broken counter none": heldAtOnce,
		"blind counter none":  "promised holds overlapped in misuse, as expected: its speed means nothing",
		// In the workload long-hold, the violation is expected, so it does not affect measurements of other workloads.
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
		fine + "2 of 2 expectations met; no known-broken lock was run that could have failed.":                                                        of(checker.Pass, checker.Pass),
		fine + "1 of 1 expectation met: 0 pass, 1 xfail.":                                                                                             of(checker.XFail),
		fine + "Nothing was expected of any of them.":                                                                                                 of(checker.NoExpectation),
		fine + "1 property violated although expected to hold: l violates p in w. 2 of 3 expectations met: 1 pass, 1 xfail.":                          of(checker.Pass, checker.Fail, checker.XFail),
		fine + "1 known defect not detected: l on p in w. What the suite cannot detect it cannot rule out. 1 of 2 expectations met: 1 pass, 0 xfail.": of(checker.Pass, checker.XPass),
		fine + "1 result is inconclusive. 2 of 3 expectations met: 1 pass, 1 xfail.":                                                                  of(checker.Pass, checker.Inconclusive, checker.XFail),
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
			t.Errorf("%q has a good tone", want)
		}
	}
}

// TestSayLocks checks the sentences about locks and their colour. The colour is red if two clients held a lock at
// once, unless the lock is known-broken. The sentences must not state exclusion for a lock with undecided trials.
func TestSayLocks(t *testing.T) {
	const held, vio, und, none = checker.Held, checker.Violated, checker.Undecided, checker.NotApplicable
	r := &Results{}
	see := func(lock, fault string, lease, mutual checker.Observed) {
		r.Cells = append(r.Cells, Observation{Lock: lock, Workload: "counter", Fault: fault, Property: "lease-exclusion", Observed: lease},
			Observation{Lock: lock, Workload: "counter", Fault: fault, Property: "mutual-exclusion", Observed: mutual})
		r.Run.Locks = append(r.Run.Locks, LockDoc{Name: lock, Control: strings.HasPrefix(lock, "broken")})
	}
	check := func(tone html.Tone, want string) {
		t.Helper()
		var parts []string
		worst := html.Good
		r.sayLocks(func(tone html.Tone, form string, args ...any) {
			if parts = append(parts, fmt.Sprintf(form, args...)); tone != html.Good {
				worst = tone
			}
		})
		if got := strings.Join(parts, " "); worst != tone || got != want {
			t.Errorf("%s, want %s\ngot  %s\nwant %s", worst, tone, got, want)
		}
	}
	see("sound", "none", held, held)
	see("sound", "holder-kill", none, none)
	check(html.Good, "1 of 1 lock excluded in every trial.")
	see("leased", "none", held, held)
	see("leased", "holder-stall", held, vio)
	see("broken", "none", vio, vio)
	see("undecided", "none", held, held)
	see("undecided", "partition", und, und)
	see("never judged", "none", none, none)
	const rest = " 1 excluded only while the lease lasted: leased. 2 not settled: undecided, never judged."
	check(html.Unsure, "1 of 5 locks excluded in every trial; 1 let two clients hold at once: broken."+rest)
	see("promises nothing", "none", none, vio)
	check(html.Bad, "1 of 6 locks excluded in every trial; 2 let two clients hold at once: promises nothing, broken."+rest)
	see("broken too", "none", none, vio)
	see("broken again", "none", none, vio)
	check(html.Bad, "1 of 8 locks excluded in every trial; 4 let two clients hold at once: promises nothing and 3 known-broken locks."+rest)
}

// TestFaultColumns checks that the column of a fault shows the worst result of all trials under the fault. If recovery
// is undecided in one trial, the column must not show success.
func TestFaultColumns(t *testing.T) {
	const held, vio, und, none = checker.Held, checker.Violated, checker.Undecided, checker.NotApplicable
	for want, seen := range map[string][2][]checker.Observed{ // results of the trials for mutual-exclusion, then for recovery
		"ok": {{held}, {none, held}}, "unsettled": {{held}, {held, und, held}}, "stuck": {{held}, {vio, und, held}}, "NO": {{vio}, {vio}}, "–": {},
	} {
		var all []Observation
		for i, property := range []string{"mutual-exclusion", "recovery"} {
			for _, o := range seen[i] {
				all = append(all, Observation{Fault: "holder-kill", Property: property, Observed: o})
			}
		}
		row := overviewRow{}
		row.addFault(faultColumn{faults: []string{"holder-kill"}}, all)
		if got := row.Faults[0].Word; got != want || row.stuck != (want == "stuck") {
			t.Errorf("%v: %s, want %s", seen, got, want)
		}
	}
}

// TestOverallMark checks that a row is green only if the lock excludes, starves no client and recovers from every fault. The
// row of a known-broken lock is never green.
func TestOverallMark(t *testing.T) {
	green := overviewRow{Class: excluded, Excludes: exclusionLooks[excluded]}
	starves, stuck, leased := green, green, overviewRow{Class: withinLease, Excludes: exclusionLooks[withinLease]}
	starves.measured(Measurement{Trials: []TrialFigures{{Sections: 9, MinShare: .1}, {Sections: 9}}})
	stuck.stuck = true
	broken := green
	broken.KnownBroken = true
	for want, rows := range map[html.Tone][]overviewRow{html.Good: {green}, html.Unsure: {starves, stuck, leased, broken}} {
		for _, row := range rows {
			if got := row.Overall().Tone; got != want {
				t.Errorf("%+v: %s, want %s", row, got, want)
			}
		}
	}
	ranked := overview{Rows: []overviewRow{leased, {Label: "broken", KnownBroken: true, Excludes: exclusionLooks[excluded]}, green}}.Ranked()
	if ranked[0].KnownBroken || ranked[1].Class != withinLease || !ranked[2].KnownBroken {
		t.Errorf("ranked %+v", ranked)
	}
}

func TestSplitKeysCompareWithNothing(t *testing.T) {
	r := &Results{Measurements: []Measurement{
		{Lock: "one", Workload: "w", Keys: 1}, {Lock: "split", Workload: "w", Keys: 5},
		{Lock: "most", Workload: "many", Keys: 97}, {Lock: "all", Workload: "many", Keys: 100}, {Lock: "split", Workload: "many", Keys: 480},
	}}
	setStandings(r)
	for i, want := range []string{"", splitKeys, "", "", splitKeys} {
		if got := r.Measurements[i].Standing; got != want {
			t.Errorf("%s in %s: %q, want %q", r.Measurements[i].Lock, r.Measurements[i].Workload, got, want)
		}
	}
}
