package bench_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"lockbench/reports/bench"
)

// compared returns the row for a metric of a lock under one set of conditions. It fails the test if the row is missing.
func compared(t *testing.T, c *bench.Comparisons, subject, point, metric string) bench.Compared {
	t.Helper()
	for _, row := range c.Rows {
		if row.A == subject && row.Point == point && row.Metric == metric {
			return row
		}
	}
	t.Fatalf("no %s of %s at %s", metric, subject, point)
	return bench.Compared{}
}

// TestCompareRuns checks the verdicts of a comparison of two runs, such as "better". It also checks that trials are
// treated as independent samples, not as pairs.
func TestCompareRuns(t *testing.T) {
	base := quick(t, options{})
	faster := quick(t, options{Seed: 1, Factor: map[string]float64{"fenced": 1.3}})
	c := bench.CompareRuns(base, faster, bench.DefaultMetrics(), false)
	for _, row := range c.Rows {
		s, _ := base.Plan.Subject(row.A)
		if row.Paired || s.Role != bench.Lock {
			t.Fatalf("paired, or no lock: %+v", row)
		}
	}
	if row := compared(t, c, "fenced", contended16, "goodput"); row.Verdict() != "better" || row.Ratio < 1.2 || row.Ratio > 1.4 || *row.Low < 1.1 {
		t.Errorf("30 %% more: %s, %+v", row.Verdict(), row.Comparison)
	}
	if row := compared(t, c, "fenced", contended16, "contended_p99"); row.Verdict() != "better" || row.Ratio > 0.9 {
		t.Errorf("less of what less is better of: %s, %+v", row.Verdict(), row.Comparison)
	}
	if row := compared(t, c, "set-px-lua", contended16, "goodput"); row.Verdict() != "~" || row.Holm < row.P {
		t.Errorf("the same: %s, %+v", row.Verdict(), row.Comparison)
	}
	if back := compared(t, bench.CompareRuns(faster, base, bench.DefaultMetrics(), false), "fenced", contended16, "goodput"); back.Verdict() != "worse" || back.Ratio > 0.9 {
		t.Errorf("the other way round: %s, %+v", back.Verdict(), back.Comparison)
	}
	all := bench.CompareRuns(base, faster, bench.DefaultMetrics(), true)
	compared(t, all, "fenced-again", contended16, "goodput")
}

// TestNotComparable checks that rows of two runs are compared only if their conditions and parameters are the same.
func TestNotComparable(t *testing.T) {
	goodput, _ := bench.FindMetric("goodput")
	for _, c := range []struct {
		name   string
		change func(p *bench.Plan)
		want   string // expected text of a note
		rows   int
	}{
		{"the same", func(*bench.Plan) {}, "", 4},
		{"another section", func(p *bench.Plan) { p.Points[0].Section = "elsewhere" }, "", 4},
		{"another TTL", func(p *bench.Plan) { p.Points[0].TTLNS++ }, "the conditions are not the same", 0},
		{"other parameters", func(p *bench.Plan) { p.Subjects[0].Params = map[string]string{"wait": "spin"} }, "other parameters", 3},
		{"another machine", func(p *bench.Plan) { p.Environment.CPU = "Other" }, "processor 4 x Imagined CPU @ 3.00GHz, then 4 x Other", 4},
	} {
		base := quick(t, options{Blocks: 8, OnlyContend4: true})
		new := quick(t, options{Blocks: 8, OnlyContend4: true, Seed: 1})
		base.Withheld, new.Withheld = nil, nil // ignore the self-check "known-delay", which fails because it needs results without contention
		c.change(new.Plan)
		got := bench.CompareRuns(base, new, []bench.Metric{goodput}, false)
		if notes := strings.Join(got.Notes, "; "); len(got.Rows) != c.rows || !strings.Contains(notes, c.want) || c.want == "" && notes != "" {
			t.Errorf("%s: %d rows, want %d; notes %q, want %q", c.name, len(got.Rows), c.rows, notes, c.want)
		}
	}
}

func TestCompareSubjects(t *testing.T) {
	r := quick(t, options{Unsafe: []string{"redsync"}})
	c := bench.CompareSubjects(r, "set-px-lua", "fenced", bench.DefaultMetrics())
	row := compared(t, c, "fenced", contended16, "goodput")
	if !row.Paired || row.Pairs != 10 || row.Verdict() != "better" || row.B != "set-px-lua" {
		t.Errorf("%s, %+v", row.Verdict(), row.Comparison)
	}
	c = bench.CompareSubjects(r, "fenced", "redsync", bench.DefaultMetrics())
	for _, row := range c.Rows {
		if row.NewUnsafe == nil || row.BaseUnsafe != nil || row.Ratio != 0 || row.Holm != 1 || row.Differs || row.Verdict() != "~" {
			t.Errorf("an unsafe lock is compared: %+v", row)
		}
	}
	starved, _ := bench.FindMetric("starved")
	r = quick(t, options{})
	row = compared(t, bench.CompareSubjects(r, "fenced", "redsync", []bench.Metric{starved}), "redsync", "contended-64c-1k-1ms", "starved")
	if row.Ratio != 0 || row.Note == "" || row.Verdict() != "worse" {
		t.Errorf("one starved client against none: %s, %+v", row.Verdict(), row.Comparison)
	}
}

// TestCompareStarving checks that hand-offs of a lock that starves clients are not compared, and its contended acquires are: they have
// the waits of the starved clients. A note must give the reason.
func TestCompareStarving(t *testing.T) {
	fair, starving := quick(t, options{Blocks: 8}), quick(t, options{Blocks: 8, Starve: "fenced"})
	c := bench.CompareRuns(fair, starving, bench.DefaultMetrics(), false)
	for _, row := range c.Rows {
		if row.A == "fenced" && row.Point == contended16 && row.Metric == "handoff_p50" {
			t.Errorf("compared: %+v", row.Comparison)
		}
	}
	compared(t, c, "fenced", contended16, "goodput")
	compared(t, c, "fenced", contended16, "contended_p99")
	if want := "hand-off p50 of fenced at contended-16c-1k-1ms is left out: fenced starves clients (3 of 16 clients got nothing)"; !slices.Contains(c.Notes, want) {
		t.Errorf("notes %q, want %q", c.Notes, want)
	}
}

// TestBenchfmt checks that the reader of benchstat accepts the written text and reads the same values.
func TestBenchfmt(t *testing.T) {
	base := quick(t, options{})
	new := quick(t, options{Seed: 1, Unsafe: []string{"redsync"}, Discarded: 2})
	metrics := bench.DefaultMetrics()
	var text bytes.Buffer
	if err := bench.CompareRuns(base, new, metrics, false).WriteBenchfmt(&text, metrics); err != nil {
		t.Fatal(err)
	}
	written := text.String()
	r := benchfmt.NewReader(&text, "test")
	lines := map[string]int{} // number of benchmark results, by run and lock
	goodputs := 0.0
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Fatal(rec)
		case *benchfmt.Result:
			_, parts := rec.Name.Parts()
			if string(parts[0]) != "/point="+contended16 {
				continue
			}
			lines[rec.GetConfig("run")+string(parts[1])]++
			if v, ok := rec.Value("sections/s"); ok && rec.GetConfig("run") == "base" && string(parts[1]) == "/lock=fenced" {
				goodputs += v
			}
			if v, ok := rec.Value("contended_p99-sec"); !ok || v < 0.005 || v > 2 {
				t.Fatalf("%s: %v s", rec.Name, v)
			}
		}
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"base/lock=redsync": 10, "new/lock=redsync": 0, "base/lock=fenced": 10, "new/lock=fenced": 8} {
		if lines[name] != want {
			t.Errorf("%s has %d lines, want %d", name, lines[name], want)
		}
	}
	var want float64
	for _, v := range row(t, base, "fenced", contended16).Estimates["goodput"].Values {
		want += v
	}
	if goodputs != want {
		t.Errorf("goodputs sum up to %v, want %v", goodputs, want)
	}
	if units := r.Units(); units.GetBetter("sections/s") != 1 || units.GetBetter("uncontended_p50-sec") != -1 || units.GetBetter("commands") != -1 {
		t.Errorf("which way is better was lost:\n%.300s", written)
	}
	if strings.Count(written, "# left out: redsync") != 4 {
		t.Errorf("it is not said that redsync is left out:\n%.300s", written)
	}
}
