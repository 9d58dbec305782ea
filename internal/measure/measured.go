package measure

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/internal/drive/trial"
	"lockbench/reports/bench"
	"lockbench/reports/figures"
	"lockbench/reports/run"
)

// measured computes the figures of a trial from its history and its counters. roundTrip is the round-trip time measured in
// the same block, or 0 if it is unknown.
func measured(dir string, out trial.Outcome, point bench.Point, p *pace, i idle, roundTrip time.Duration, t *bench.Trial) error {
	window := figures.Window{}
	if p != nil {
		if p.err != nil {
			return p.err
		}
		window = figures.Window{From: p.before.at, To: p.after.at}
		t.WarmupNS, t.FromNS, t.MeasuredNS, t.Steady = int64(p.warmup), int64(window.From), int64(window.To-window.From), p.steady
	}
	file := filepath.Join(out.Dir, "history.jsonl.zst")
	r, err := histories.Open(file)
	if err != nil {
		return err
	}
	defer r.Close()
	line := newTimeline(point.Clients, time.Duration(t.WarmupNS)+time.Duration(point.DurationNS))
	stats, err := figures.Of(&r.Header, r.Next, window, line.visit)
	if err != nil {
		return err
	}
	if p == nil {
		t.MeasuredNS = int64(stats.Last - stats.First)
	}
	if t.Judged, err = judged(dir, file, out); err != nil {
		return err
	}
	t.Figures, t.Shares = ofHistory(stats, point, roundTrip), stats.PerClient
	addLateness(t.Figures, stats, out.Verdict.MaxStall)
	if p != nil {
		p.figures(t.Figures, stats, i)
	}
	if t.Block == 0 || point.Fault != "none" {
		t.Timeline = line.timeline(out.Verdict)
	}
	t.Curves, err = curves(stats, point)
	return err
}

// addLateness adds the figures that show whether the load generator kept to its schedule.
func addLateness(f bench.Figures, stats *figures.Stats, stall time.Duration) {
	f["stall_max"] = milliseconds(stall)
	if late := stats.Samples[figures.Late]; late.TotalCount() > 0 {
		f["late_max"] = milliseconds(time.Duration(late.Max()))
	}
}

// judged returns the verdict of a trial, with the checksum of the history file.
func judged(dir, file string, out trial.Outcome) (*bench.Judged, error) {
	name, err := filepath.Rel(dir, file)
	if err != nil {
		return nil, err
	}
	sum, err := run.SumFile(dir, filepath.ToSlash(name))
	if err != nil {
		return nil, err
	}
	j := &bench.Judged{History: sum.Path, SHA256: sum.SHA256,
		Operations: out.Verdict.Counts.Operations, Disagree: len(out.Verdict.Oracle.Disagreements) > 0}
	for _, f := range out.Verdict.Findings {
		switch e := out.Header.Expectation(f.Property); {
		case f.Observed == checker.Violated:
			j.Violated = append(j.Violated, bench.Violation{Property: f.Property, Text: sentence(f), Expected: e.Expected == histories.ToBeViolated})
		case f.Observed == checker.Undecided && e.Expected == histories.ToHold:
			j.Undecided = append(j.Undecided, f.Property)
		}
	}
	return j, nil
}

func sentence(f checker.Finding) string {
	if f.Witness != nil {
		return f.Witness.Sentence
	}
	return f.Evidence
}

// ofHistory returns the figures that depend on the history alone.
func ofHistory(s *figures.Stats, point bench.Point, roundTrip time.Duration) bench.Figures {
	f := bench.Figures{"goodput": s.Goodput(), "starved": 0, "bypassed": float64(s.Bypassed)}
	length := s.Seconds()
	if length > 0 {
		f["owner_changes"] = float64(s.OwnerChanges) / length
		refused := strings.ReplaceAll(classes(point)[figures.Refusals], "-", "_")
		f[refused] = float64(s.Samples[figures.Refusals].TotalCount()) / length
	}
	if s.Sections > 0 {
		ofSections(f, s, point, roundTrip)
	}
	for _, n := range s.PerClient {
		if n == 0 {
			f["starved"]++
		}
	}
	if s.Longest.Ended != "" {
		f["longest_wait"] = float64(s.Longest.NS) / 1e6
		if rate := s.Goodput(); rate > 0 && point.Contended() {
			f["wait_rounds"] = float64(s.Longest.NS) / 1e9 * rate / float64(point.Clients)
		}
	}
	for class, name := range classes(point) {
		at := histogramOf(s.Samples[class])
		if class == figures.Contended {
			at = s.Waits.Percentile
		}
		percentiles(f, strings.ReplaceAll(name, "-", ""), at)
	}
	return f
}

// classes returns the name of each latency curve. The curve of refused acquires is called "refused" in the workload try and
// "timed-out" in other workloads.
func classes(point bench.Point) map[figures.Class]string {
	refused := "timed-out"
	if point.Workload == "try" {
		refused = "refused"
	}
	return map[figures.Class]string{figures.Uncontended: "uncontended", figures.Contended: "contended", figures.Unknowns: "unknown",
		figures.HandOffs: "hand-off", figures.HoldTimes: "hold", figures.Late: "late", figures.Refusals: refused}
}

// ofSections adds the figures that need at least one critical section.
func ofSections(f bench.Figures, s *figures.Stats, point bench.Point, roundTrip time.Duration) {
	f["jain"], _, _, _ = s.Shares()
	f["min_max_share"] = float64(slices.Min(s.PerClient)) / float64(slices.Max(s.PerClient))
	mean := s.Held / time.Duration(s.Sections)
	f["hold_mean"] = milliseconds(mean)
	if s.Held > 0 {
		f["renewals"] = float64(s.Renewals) / s.Held.Seconds()
	}
	if point.HoldNS > 0 && roundTrip > 0 {
		f["utilisation"] = s.Goodput() * (mean + roundTrip).Seconds() / float64(min(point.Clients, point.Keys))
	}
}

// percentiles adds the median and the 99th percentile to f, in milliseconds. It omits a percentile if there are too few samples, or if
// the percentile is not a defined metric.
func percentiles(f bench.Figures, name string, at func(rank float64) (ns int64, ok bool)) {
	for _, p := range []struct {
		name string
		rank float64
	}{{"_p50", 0.5}, {"_p99", 0.99}} {
		if _, metric := bench.FindMetric(name + p.name); !metric {
			continue
		}
		if ns, ok := at(p.rank); ok {
			f[name+p.name] = float64(ns) / 1e6
		}
	}
}

func histogramOf(h *hdrhistogram.Histogram) func(rank float64) (ns int64, ok bool) {
	return func(rank float64) (int64, bool) {
		return h.ValueAtPercentile(100 * rank), h.TotalCount() >= figures.SamplesFor(rank)
	}
}

func curves(s *figures.Stats, point bench.Point) (bench.Curves, error) {
	all := bench.Curves{}
	for class, name := range classes(point) {
		h := s.Samples[class]
		if h.TotalCount() == 0 {
			continue
		}
		text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			return nil, fmt.Errorf("the histogram %s: %w", name, err)
		}
		all[name] = string(text)
	}
	return all, nil
}

// figures computes metrics from the counters, such as attempts per grant, and adds them to f.
func (p *pace) figures(f bench.Figures, s *figures.Stats, i idle) {
	p.counted(f, i, float64(s.Grants))
	asked := p.after.counts["attempts"] - p.before.counts["attempts"]
	if asked == 0 || s.Grants == 0 {
		return // nothing was granted, or the lock does not count attempts
	}
	f["attempts"] = asked / float64(s.Grants)
	if p.wakes {
		f["wasted_wakeups"] = (p.after.counts["wasted_wakeups"] - p.before.counts["wasted_wakeups"]) / float64(max(1, s.Sections))
	}
}

// counted computes the increase of each counter during the window, divided by the number of grants. It adds the
// quotients and the number of busy processors to f.
func (p *pace) counted(f bench.Figures, i idle, grants float64) {
	used := i.subtractFrom(p.after.subtract(p.before), p.after.wall.Sub(p.before.wall))
	f["processors"] = (used["client_cpu"] + used["server_cpu"]) / 1e6 / p.after.wall.Sub(p.before.wall).Seconds()
	if grants == 0 {
		return
	}
	for _, metric := range []string{"commands", "server_cpu", "client_cpu", "client_allocs", "client_alloc_bytes", "round_trips", "server_bytes"} {
		ofNetwork := metric == "round_trips" || metric == "server_bytes"
		if n, ok := used[metric]; ok && (!ofNetwork || used["round_trips"] > 0) {
			f[metric] = n / grants
		}
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// Again returns the latencies, rates and shares of a trial, recomputed from its stored history. The parameter dir is
// the bench folder.
func Again(dir string, t *bench.Trial, point bench.Point) (bench.Figures, error) {
	stats, err := StatsAgain(dir, t)
	if err != nil {
		return nil, err
	}
	return ofHistory(stats, point, 0), nil
}

// StatsAgain recomputes the statistics from the stored history of a trial. The parameter dir is the bench folder.
func StatsAgain(dir string, t *bench.Trial) (*figures.Stats, error) {
	if t.Judged == nil || t.Judged.History == "" {
		return nil, errors.New("its history was not stored")
	}
	r, err := histories.Open(filepath.Join(dir, filepath.FromSlash(t.Judged.History)))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	window := figures.Window{}
	if t.FromNS > 0 {
		window = figures.Window{From: time.Duration(t.FromNS), To: time.Duration(t.FromNS + t.MeasuredNS)}
	}
	return figures.Of(&r.Header, r.Next, window)
}
