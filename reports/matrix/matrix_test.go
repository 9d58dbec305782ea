package matrix

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/figures"
	"lockbench/reports/run"
)

var update = flag.Bool("update", false, "write the golden files again")

func TestState(t *testing.T) {
	for _, x := range []struct {
		name string
		q    Question
		want State
	}{
		{"held", Question{Held: 3}, Pass},
		{"violated once", Question{Held: 90, Violated: 1}, Fail},
		{"a tenth without a verdict", Question{Held: 9, Inconclusive: 1}, Pass},
		{"more than a tenth without a verdict", Question{Held: 8, Inconclusive: 1}, Inconclusive},
		{"nothing but unknown", Question{Inconclusive: 1}, Inconclusive},
		{"a violation that did not show again", Question{Held: 90, Unconfirmed: 1}, Inconclusive},
		{"a violation and one that did not show again", Question{Violated: 1, Unconfirmed: 1}, Fail},
		{"no check", Question{}, Unsupported},
	} {
		if got := x.q.State(); got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
	}
}

// TestStateOfMissing checks that a property without a check is unsupported only if every step has a result.
func TestStateOfMissing(t *testing.T) {
	for _, x := range []struct {
		r    Result
		want State
	}{
		{Result{Steps: []Step{{Name: Scenes}}}, Unsupported},
		{Result{Steps: []Step{{Name: Scenes}, {Name: Search, Problem: "no server"}}}, NotRun},
		{Result{NotRun: "mvn is missing"}, NotRun},
		{Result{Steps: []Step{{Name: Known}}}, NotRun},
	} {
		if got := x.r.State("fencing"); got != x.want {
			t.Errorf("%+v: %s, want %s", x.r, got, x.want)
		}
	}
}

func TestAdd(t *testing.T) {
	cell := func(property string, expected histories.Expected, observed checker.Observed) run.Observation {
		return run.Observation{Property: property, Workload: "counter", Fault: "none", Expected: expected, Observed: observed}
	}
	r := &Result{}
	violated := r.Add(&run.Results{
		Cells: []run.Observation{
			cell("lease-exclusion", histories.ToHold, checker.Held), cell("lease-exclusion", histories.ToHold, checker.Violated),
			cell("lease-exclusion", histories.ToHold, checker.Violated), cell("progress", histories.ToHold, checker.Undecided),
			cell("fencing", histories.ToHold, checker.NotApplicable), cell("recovery", histories.Unspecified, checker.Violated),
			cell("renewal", histories.Unspecified, checker.Violated), cell("no-orphan", histories.ToBeViolated, checker.Violated),
		},
		Trials: []run.Trial{{Dir: "a/001", State: run.Judged, SHA256: "1"}, {Dir: "a/002"}},
	}, "renewal")
	if !slices.Equal(violated, []string{"lease-exclusion", "renewal"}) || len(r.Questions) != 3 || len(r.Histories) != 1 {
		t.Errorf("violated %v, questions %+v, histories %+v", violated, r.Questions, r.Histories)
	}
	if got := r.Questions[0]; got.Held != 1 || got.Violated != 2 || len(got.In) != 2 {
		t.Errorf("%+v", got)
	}
	r.AddSearched(Searched{Property: "progress", Checked: 5, Violated: 1})
	r.AddSearched(Searched{Property: "fencing"})
	if got := r.Questions[1]; got.Held != 4 || got.Unconfirmed != 1 || got.Inconclusive != 1 || len(r.Questions) != 3 {
		t.Errorf("%+v in %+v", got, r.Questions)
	}
}

// TestWithdraw checks that a violation that did not show again makes a property inconclusive, and another one keeps it violated.
func TestWithdraw(t *testing.T) {
	late := func(workload string) run.Observation {
		return run.Observation{Property: "wait-honoured", Workload: workload, Fault: "none", Expected: histories.ToHold, Observed: checker.Violated, Result: checker.Fail}
	}
	r := &Result{}
	r.Steps = []Step{{Name: Scenes, Violated: r.Add(&run.Results{Cells: []run.Observation{late("counter"), late("long-hold")}}, "")}}
	for i, want := range []State{Fail, Fail, Inconclusive} {
		if got := r.State("wait-honoured"); got != want || (len(r.Steps[0].Violated) > 0) != (want == Fail) {
			t.Errorf("after %d were withdrawn: %s, and the step says %q", i, got, r.Steps[0].Violated)
		}
		r.Withdraw(late([]string{"counter", "long-hold", "none such"}[i]))
	}
	if q := r.Questions[0]; q.Unconfirmed != 2 || q.Violated != 0 || len(q.In) != 0 {
		t.Errorf("%+v", q)
	}
}

func TestCompareVersions(t *testing.T) {
	want := []string{"0.2.2", "3.9.0", "3.11.0", "3.11.1", "5.0.0", "10.0.0"}
	got := slices.Clone(want)
	slices.Reverse(got)
	if slices.SortFunc(got, compareVersions); !slices.Equal(got, want) {
		t.Errorf("sorted: %v", got)
	}
}

// sample returns results of two libraries: one with a detected, an undetected and an accused defect, and one that was not run.
func sample() []*Result {
	at := time.Date(2026, 11, 23, 17, 0, 0, 0, time.UTC)
	one := func(version, kind string, defect *Defect, steps []Step, questions ...Question) *Result {
		return &Result{Format: Format, Library: "sample", Language: "python", Package: "sample-lock", Store: "redis", Version: version, Kind: kind,
			Setting: "sample", Default: true, Defect: defect, Profile: "quick/1", Measured: at, Seconds: 61.2, Steps: steps, Questions: questions,
			Environment: run.Environment{OS: "linux", Arch: "amd64", CPU: "a processor", Cores: 2, Go: "go1.26"}}
	}
	first := &Defect{"1.9.0", "1.10.0", "A refresh <creates> the key again (sample issue 1).", "A pause.", "renewal"}
	open := &Defect{"2.2.0", "", "A lock is slow (sample issue 3).", "Many clients.", "progress"}
	second := &Defect{"2.0.0", "2.1.0", "Every client is granted the lock (sample issue 2).", "Two clients try.", "lease-exclusion"}
	clean := Step{Name: Scenes, Command: "lockbench verify --library sample@X", Seconds: 20}
	found := Step{Name: Search, Command: "lockbench explore --library sample@1.9.0", Exit: 1, Seconds: 30.4, Violated: []string{"renewal"}}
	bad := one("1.9.0", "bad", first, []Step{clean, found}, Question{Property: "renewal", Held: 3, Violated: 2}, Question{Property: "lease-exclusion", Held: 9})
	bad.Counterexamples = []Counterexample{{"renewal", "1.9.0-renewal.json", "1.9.0-renewal.svg", 9, 10, "lockbench replay --library sample@1.9.0 1.9.0-renewal.json"}}
	now := one("2.2.0", "bad", open, []Step{clean}, Question{Property: "lease-exclusion", Held: 40}, Question{Property: "renewal", Held: 12})
	now.Latest, now.Packages = true, []string{"redis:8.1.0", "sample-lock:2.2.0"}
	now.Figures = &Figures{8, 161.2, 0.99, 60_900_000,
		figures.Distribution{N: 72, Max: 60_900_000, Curve: []figures.Percentile{{Rank: 0.5, NS: 41_000_000}, {Rank: 0.8, NS: 45_600_000}}},
		figures.Distribution{N: 72, Max: 7e6, Percentiles: []figures.Percentile{{Rank: 0.5, NS: 1_700_000}}}}
	absent := &Result{Format: Format, Library: "other", Language: "rust", Package: "other", Store: "redis", Version: "1.0.0", Kind: "current", Setting: "other", Latest: true,
		Default: true, Profile: "quick/1", Measured: at, NotRun: "cargo is missing"}
	return []*Result{
		bad, one("1.10.0", "fixed", first, []Step{clean}, Question{Property: "renewal", Held: 5}),
		one("2.0.0", "bad", second, []Step{{Name: Scenes, Violated: []string{"progress"}}}, Question{Property: "lease-exclusion", Held: 9}), // the fixed version violates it too
		one("2.1.0", "fixed", second, []Step{{Name: Scenes, Violated: []string{"progress"}}}, Question{Property: "progress", Violated: 1}),
		now, absent,
	}
}

// writeSample writes the results of sample and their pages to a new folder.
func writeSample(t *testing.T) (string, []*Result) {
	t.Helper()
	dir := t.TempDir()
	for _, r := range sample() {
		if err := run.WriteJSON(filepath.Join(dir, r.FileName()), r); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sample/1.9.0-renewal.json", "sample/badge.json"} { // other JSON files in the folders of libraries
		if err := run.WriteFile(filepath.Join(dir, name), []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, all
}

func TestWrite(t *testing.T) {
	dir, all := writeSample(t)
	var text bytes.Buffer
	if err := Text(&text, all); err != nil {
		t.Fatal(err)
	}
	if err := Changes(&text, all, "1.9.0"); err != nil {
		t.Fatal(err)
	}
	golden(t, "text.txt", text.Bytes())
	for _, name := range []string{TrackRecord, "sample/badge.json", "other/badge.json"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, strings.ReplaceAll(name, "/", "-"), got)
	}
}

// TestPages checks what the pages state, and that equal results give equal pages.
func TestPages(t *testing.T) {
	dir, _ := writeSample(t)
	other, _ := writeSample(t)
	for name, want := range map[string][]string{
		"index.html": {"1 of 2 lock libraries pass", "detected: 1 of 3", "violate a property: 1", `href="sample/index.html"`, "2.2.0", "✗ renewal", "not detected"},
		"sample/index.html": {"sample 2.2.0 passes 2 of 2 questions", `src="1.9.0-renewal.svg"`, "shown again in 9 of 10 trials", "161",
			"Half of the contended grants of sample took at most 41.0 ms", "A refresh &lt;creates&gt; the key", "redis:8.1.0 and sample-lock:2.2.0"},
		"other/index.html": {"cargo is missing", `href="../style.css"`},
		"style.css":        {".libraries td", "--ground"},
	} {
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !bytes.Contains(page, []byte(text)) {
				t.Errorf("%s does not contain %q", name, text)
			}
		}
		if again, err := os.ReadFile(filepath.Join(other, name)); err != nil || !bytes.Equal(page, again) {
			t.Errorf("%s differs when it is written again (%v)", name, err)
		}
	}
}

// TestClean checks what the pages say about a fixed version: it is clean only if something was asked of it.
func TestClean(t *testing.T) {
	held, violated := Question{Property: "progress", Held: 1}, Question{Property: "progress", Violated: 1}
	for want, fixed := range map[string]*Result{
		"clean": {Questions: []Question{held}}, "not asked": {}, "violates progress": {Questions: []Question{violated}}, "not run": {NotRun: "no network"},
	} {
		p := pair{Bad: &Result{Defect: &Defect{Fixed: "2"}}, Fixed: fixed}
		if got := p.Clean(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestReadDamaged(t *testing.T) {
	dir, _ := writeSample(t)
	if err := run.WriteFile(filepath.Join(dir, "sample", "3.0.0.json"), []byte(`{"lockbench_library":1,`)); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "3.0.0.json") {
		t.Errorf("a damaged file: %v", err)
	}
}

// golden compares a text with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s differs (%v); go test ./reports/matrix -update writes it again. Got:\n%s", file, err, got)
	}
}

// TestJSON checks that a result is the same after it was written and read.
func TestJSON(t *testing.T) {
	dir, all := writeSample(t)
	again, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want, err1 := json.Marshal(all)
	got, err2 := json.Marshal(again)
	if err1 != nil || err2 != nil || !bytes.Equal(got, want) {
		t.Errorf("%v %v\n%s\nwant\n%s", err1, err2, got, want)
	}
}

func TestBadge(t *testing.T) {
	held, violated, unknown := Question{Property: "recovery", Held: 3}, Question{Property: "renewal", Violated: 1}, Question{Property: "progress", Inconclusive: 1}
	for _, x := range []struct {
		questions      []Question
		complete       bool
		message, color string
	}{
		{[]Question{held}, true, "1/1", "brightgreen"},
		{[]Question{held}, false, "1/1", "yellow"},
		{[]Question{held, unknown}, true, "1/2", "yellow"},
		{[]Question{held, violated}, false, "1/2", "red"},
		{nil, true, "–", "yellow"},
	} {
		text, err := (&Result{Questions: x.questions}).Badge(x.complete)
		var got badge
		if err = errors.Join(err, json.Unmarshal(text, &got)); err != nil || got != (badge{1, "lockbench", x.message, x.color}) {
			t.Errorf("%+v, complete %t: %s (%v)", x.questions, x.complete, text, err)
		}
	}
}
