package benchmark_test

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"lockbench/reports/benchmark"
	"lockbench/reports/benchmark/benchmarktest"
)

func limit(v float64) *float64 { return &v }

func TestGate(t *testing.T) {
	_, run := folder(t, benchmarktest.Options{Unsafe: []string{"redsync"}})
	_, before := folder(t, benchmarktest.Options{Seed: 1})
	_, blind := folder(t, benchmarktest.Options{BlindJudge: true})
	goodput := row(t, run, "fenced", contended16).Estimates["goodput"]
	absolute := benchmark.Threshold{Subject: "fenced", Section: "contended", Clients: 16, Metric: "goodput"}
	with := func(t benchmark.Threshold, min, max *float64) benchmark.Threshold { t.Min, t.Max = min, max; return t }
	to := func(other string, min float64) benchmark.Threshold {
		return benchmark.Threshold{Subject: "fenced", Section: "contended", Metric: "goodput", To: other, Min: &min}
	}
	toBefore := benchmark.Threshold{Subject: "fenced", Metric: "goodput", ToBaseline: true, Min: limit(0.9)}
	for _, c := range []struct {
		name          string
		run, baseline *benchmark.Results
		threshold     benchmark.Threshold
		want          benchmark.Outcome
		points        int
	}{
		{"the least is the limit", run, nil, with(absolute, goodput.Low, nil), benchmark.Pass, 1},
		{"within", run, nil, with(absolute, &goodput.Median, nil), benchmark.Noisy, 1},
		{"the most is the limit", run, nil, with(absolute, goodput.High, nil), benchmark.Noisy, 1},
		{"beyond", run, nil, with(absolute, limit(*goodput.High+1), nil), benchmark.Breach, 1},
		{"the most is allowed", run, nil, with(absolute, nil, goodput.High), benchmark.Pass, 1},
		{"above within", run, nil, with(absolute, nil, &goodput.Median), benchmark.Noisy, 1},
		{"above", run, nil, with(absolute, nil, limit(*goodput.Low-1)), benchmark.Breach, 1},
		{"between", run, nil, with(absolute, limit(1), limit(1e6)), benchmark.Pass, 1},
		{"one of two", run, nil, with(absolute, limit(1), limit(2)), benchmark.Breach, 1},
		{"to another", run, nil, to("set-px-lua", 1.05), benchmark.Pass, 3},
		{"to another, at one point of three", run, nil, to("set-px-lua", 1.3), benchmark.Breach, 3},
		{"to an unsafe one", run, nil, to("redsync", 1), benchmark.Unknown, 3},
		{"to nobody", run, nil, to("nobody", 1), benchmark.Unknown, 3},
		{"to what stands elsewhere", run, nil, to("bare", 1), benchmark.Unknown, 3},
		{"to the baseline", run, before, toBefore, benchmark.Pass, 4},
		{"no baseline", run, nil, toBefore, benchmark.Unknown, 4},
		{"a baseline that is withheld", run, blind, toBefore, benchmark.Unknown, 1},
		{"withheld", blind, nil, with(absolute, limit(1), nil), benchmark.Unknown, 1},
		{"unsafe", run, nil, benchmark.Threshold{Subject: "redsync", Metric: "goodput", Min: limit(0)}, benchmark.Breach, 4},
		{"no such section", run, nil, benchmark.Threshold{Subject: "fenced", Section: "nowhere", Metric: "goodput", Min: limit(0)}, benchmark.Unknown, 1},
		{"no such figure", run, nil, benchmark.Threshold{Subject: "fenced", Metric: "renewals", Max: limit(0)}, benchmark.Unknown, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			gated, err := benchmark.Gate(c.run, c.baseline, []benchmark.Threshold{c.threshold})
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
	_, run := folder(t, benchmarktest.Options{Blocks: 1, OnlyContend4: true})
	for want, threshold := range map[string]benchmark.Threshold{
		"unknown metric":           {Subject: "fenced", Metric: "godput", Min: limit(1)},
		"neither min nor max":      {Subject: "fenced", Metric: "goodput"},
		"names no lock":            {Metric: "goodput", Min: limit(1)},
		"baseline, not to both":    {Subject: "fenced", Metric: "goodput", Min: limit(1), To: "none", ToBaseline: true},
		"fenced godput to that of": {Subject: "fenced", Metric: "godput", Min: limit(1), To: "none"},
	} {
		if _, err := benchmark.Gate(run, nil, []benchmark.Threshold{threshold}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want ...%s...", err, want)
		}
	}
}

// TestJUnit: one test case for each threshold, and nothing that could not be told is a pass.
func TestJUnit(t *testing.T) {
	_, run := folder(t, benchmarktest.Options{})
	gated, err := benchmark.Gate(run, nil, []benchmark.Threshold{
		{Subject: "fenced", Section: "contended", Metric: "goodput", Min: limit(1)},
		{Subject: "fenced", Section: "contended", Metric: "goodput", Min: limit(1e6)},
		{Subject: "<&\x1b>", Metric: "goodput", Min: limit(1)},
		{Subject: "fenced", Section: "contended", Metric: "goodput", Min: limit(row(t, run, "fenced", contended16).Estimates["goodput"].Median)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := benchmark.WriteJUnit(&text, run, gated); err != nil {
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
