package bench_test

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"lockbench/reports/bench"
)

func limit(v float64) *float64 { return &v }

func TestGate(t *testing.T) {
	run := quick(t, options{Unsafe: []string{"redsync"}})
	before := quick(t, options{Seed: 1})
	blind := quick(t, options{BlindJudge: true})
	goodput := row(t, run, "fenced", contended16).Estimates["goodput"]
	absolute := bench.Threshold{Subject: "fenced", Section: "contended", Clients: 16, Metric: "goodput"}
	with := func(t bench.Threshold, min, max *float64) bench.Threshold { t.Min, t.Max = min, max; return t }
	to := func(other string, min float64) bench.Threshold {
		return bench.Threshold{Subject: "fenced", Section: "contended", Metric: "goodput", To: other, Min: &min}
	}
	toBefore := bench.Threshold{Subject: "fenced", Metric: "goodput", ToBaseline: true, Min: limit(0.9)}
	for _, c := range []struct {
		name          string
		run, baseline *bench.Results
		threshold     bench.Threshold
		want          bench.Outcome
		points        int
	}{
		{"the least is the limit", run, nil, with(absolute, goodput.Low, nil), bench.Pass, 1},
		{"within", run, nil, with(absolute, &goodput.Median, nil), bench.Noisy, 1},
		{"the most is the limit", run, nil, with(absolute, goodput.High, nil), bench.Noisy, 1},
		{"beyond", run, nil, with(absolute, limit(*goodput.High+1), nil), bench.Breach, 1},
		{"the most is allowed", run, nil, with(absolute, nil, goodput.High), bench.Pass, 1},
		{"above within", run, nil, with(absolute, nil, &goodput.Median), bench.Noisy, 1},
		{"above", run, nil, with(absolute, nil, limit(*goodput.Low-1)), bench.Breach, 1},
		{"between", run, nil, with(absolute, limit(1), limit(1e6)), bench.Pass, 1},
		{"one of two", run, nil, with(absolute, limit(1), limit(2)), bench.Breach, 1},
		{"to another", run, nil, to("set-px-lua", 1.05), bench.Pass, 3},
		{"to another, at one point of three", run, nil, to("set-px-lua", 1.3), bench.Breach, 3},
		{"to an unsafe one", run, nil, to("redsync", 1), bench.Unknown, 3},
		{"to nobody", run, nil, to("nobody", 1), bench.Unknown, 3},
		{"to what stands elsewhere", run, nil, to("bare", 1), bench.Unknown, 3},
		{"to the baseline", run, before, toBefore, bench.Pass, 4},
		{"no baseline", run, nil, toBefore, bench.Unknown, 4},
		{"a baseline that is withheld", run, blind, toBefore, bench.Unknown, 1},
		{"withheld", blind, nil, with(absolute, limit(1), nil), bench.Unknown, 1},
		{"unsafe", run, nil, bench.Threshold{Subject: "redsync", Metric: "goodput", Min: limit(0)}, bench.Breach, 4},
		{"no such section", run, nil, bench.Threshold{Subject: "fenced", Section: "nowhere", Metric: "goodput", Min: limit(0)}, bench.Unknown, 1},
		{"no such figure", run, nil, bench.Threshold{Subject: "fenced", Metric: "renewals", Max: limit(0)}, bench.Unknown, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			gated, err := bench.Gate(c.run, c.baseline, []bench.Threshold{c.threshold})
			if err != nil {
				t.Fatal(err)
			}
			if g := gated[0]; g.Outcome != c.want || len(g.Points) != c.points {
				t.Errorf("%v at %d points, want %v at %d: %+v", g.Outcome, len(g.Points), c.want, c.points, g.Points)
			}
		})
	}
}

func TestBadThresholds(t *testing.T) {
	run := quick(t, options{Blocks: 1, OnlyContend4: true})
	for want, threshold := range map[string]bench.Threshold{
		"unknown metric":           {Subject: "fenced", Metric: "godput", Min: limit(1)},
		"neither min nor max":      {Subject: "fenced", Metric: "goodput"},
		"names no lock":            {Metric: "goodput", Min: limit(1)},
		"earlier run, not to both": {Subject: "fenced", Metric: "goodput", Min: limit(1), To: "none", ToBaseline: true},
		"fenced godput to that of": {Subject: "fenced", Metric: "godput", Min: limit(1), To: "none"},
	} {
		if _, err := bench.Gate(run, nil, []bench.Threshold{threshold}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want ...%s...", err, want)
		}
	}
}

// TestJUnit checks that each threshold has a test case, and that an undecided threshold does not pass.
func TestJUnit(t *testing.T) {
	run := quick(t, options{})
	gated, err := bench.Gate(run, nil, []bench.Threshold{
		{Subject: "fenced", Section: "contended", Metric: "goodput", Min: limit(1)},
		{Subject: "fenced", Section: "contended", Metric: "goodput", Min: limit(1e6)},
		{Subject: "<&\x1b>", Metric: "goodput", Min: limit(1)},
		{Subject: "fenced", Section: "contended", Metric: "goodput", Min: limit(row(t, run, "fenced", contended16).Estimates["goodput"].Median)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := bench.WriteJUnit(&text, run, gated); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Suite struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Errors   int `xml:"errors,attr"`
			Cases    []struct {
				Name    string `xml:"name,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
				} `xml:"failure"`
				Error   *struct{} `xml:"error"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(text.Bytes(), &read); err != nil {
		t.Fatalf("%v\n%s", err, &text)
	}
	s := read.Suite
	if s.Tests != 4 || s.Failures != 1 || s.Errors != 2 || len(s.Cases) != 4 {
		t.Fatalf("%+v", s)
	}
	for i, want := range []struct{ failure, err bool }{{}, {failure: true}, {err: true}, {err: true}} {
		if c := s.Cases[i]; (c.Failure != nil) != want.failure || (c.Error != nil) != want.err || c.Skipped != nil {
			t.Errorf("%+v, want %+v", c, want)
		}
	}
	if m := s.Cases[1].Failure.Message; !strings.Contains(m, "fenced at "+contended16+": goodput is ") || !strings.Contains(m, "below 1000000") {
		t.Errorf("the sentence: %q", m)
	}
}
