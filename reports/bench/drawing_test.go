package bench

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockbench/reports/charts"
	"lockbench/reports/stats"
)

// TestStylesDiffer checks that any two locks differ by colour, dash or marker. A lock with tuned settings must have the
// same colour as with default settings.
func TestStylesDiffer(t *testing.T) {
	var subjects []Subject
	for _, c := range "abcdefghijklmnopqr" {
		subjects = append(subjects, Subject{Name: string(c), Role: Lock}, Subject{Name: string(c) + tunedSuffix, Role: Lock})
	}
	styles, seen := stylesOf(subjects), map[charts.Style]string{}
	for _, s := range subjects {
		if other, ok := seen[styles[s.Name]]; ok {
			t.Errorf("%s looks like %s", s.Name, other)
		}
		seen[styles[s.Name]] = s.Name
		if plain := strings.TrimSuffix(s.Name, tunedSuffix); styles[plain].Color != styles[s.Name].Color {
			t.Errorf("%s and %s have different colours", s.Name, plain)
		}
	}
}

func TestEdges(t *testing.T) {
	for ns, want := range map[int64]string{316_000: "320 µs", 999_900: "1 ms"} {
		if got := edgeText(ns); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestShares(t *testing.T) {
	got := shares([]*Trial{{Shares: []int{3, 1, 2, 2}}, {Shares: []int{0, 4, 2, 2}}, {Shares: []int{0, 0, 0, 0}}, {}})
	if d := cmp.Diff([]float64{0.25, 1, 1, 1.75}, got); d != "" {
		t.Error("trials in which nobody got anything do not count:", d)
	}
	if got := shares(nil); got != nil {
		t.Error(got)
	}
}

// TestHeat checks that a heat map draws the last row, which has no upper limit. It also checks that a long timeline is
// reduced to fewer time slices.
func TestHeat(t *testing.T) {
	line := &Timeline{SliceNS: 1e6, Edges: []int64{0, 1000, 2000}, Counts: [][]int{{0, 3, 1}, {0, 0, 0}, {0, 2, 0}}, Faults: []Episode{{"pause", 1e6, 2e6}}}
	h, ok := cropped(line)
	if !ok || h.low != 1 || h.high != 3 {
		t.Fatalf("%+v", h)
	}
	want := "The slowest of 6 acquires with x took 2 µs or more; the longest time without a grant was 1.00 ms, from 1.00 ms on, under pause."
	if got := h.takeaway("x"); got != want {
		t.Errorf("%q", got)
	}
	if svg := string(h.draw().SVG(charts.Head{ID: "a"})); strings.Count(svg, `<rect class="h`) < 3 || !strings.Contains(svg, ">more</text>") {
		t.Error(svg)
	}
	long := &Timeline{SliceNS: 1e6, Edges: line.Edges}
	for range 3*mostSlices - 1 {
		long.Counts = append(long.Counts, []int{1, 0, 2})
	}
	h, _ = cropped(long)
	n := 0
	for _, slice := range h.Counts {
		n += slice[0] + slice[2]
	}
	if len(h.Counts) != mostSlices || h.SliceNS != 3e6 || n != 3*(3*mostSlices-1) {
		t.Errorf("%d slices of %d ns with %d acquires", len(h.Counts), h.SliceNS, n)
	}
	if _, ok := cropped(&Timeline{SliceNS: 1, Edges: line.Edges, Counts: [][]int{{0, 0, 0}}}); ok {
		t.Error("a map of nothing is drawn")
	}
}

// TestNames checks that the name of a set of conditions contains only the settings that differ within the section.
func TestNames(t *testing.T) {
	point := func(section string, clients, keys int, hold time.Duration) Point {
		return Point{ID: section + time.Duration(clients).String(), Section: section, Clients: clients, Keys: keys, HoldNS: int64(hold), Arrivals: Closed, Fault: "none"}
	}
	points := []Point{point("alone", 16, 16, 0), point("many", 4, 1, time.Millisecond), point("many", 16, 1, time.Millisecond), point("free", 4, 4, 0), point("free", 8, 8, 0)}
	v := newView(&Results{Plan: &Plan{Points: points}})
	var names []string
	for _, p := range points {
		names = append(names, v.name(p))
	}
	if d := cmp.Diff([]string{"alone", "many, 4 clients", "many, 16 clients", "free, 4 clients", "free, 8 clients"}, names); d != "" {
		t.Error(d)
	}
	if got := v.describePoints(points[1:3]); got != "4 and 16 clients" {
		t.Error(got)
	}
	if all := v.sweeps(); len(all) != 2 || len(all[0].points) != 2 || all[1].about != "a key for each client, no hold, " {
		t.Errorf("%+v", all)
	}
}

// TestTunedElsewhere checks that a lock with tuned settings is compared with the same lock under the same conditions,
// but with default settings. The two measurements may be in different sections of the suite.
func TestTunedElsewhere(t *testing.T) {
	var values []float64
	var blocks []int
	for i := range 8 {
		values, blocks = append(values, 100+float64(i)), append(blocks, i)
	}
	twice := func(by float64) Row {
		scaled := slices.Clone(values)
		for i := range scaled {
			scaled[i] *= by
		}
		return Row{Trials: 8, Estimates: map[string]stats.Estimate{"goodput": stats.EstimateOf(scaled, blocks)}}
	}
	at := func(row Row, subject, point string) Row {
		row.Subject, row.Point = subject, point
		return row
	}
	point := func(id, section string, clients int) Point {
		return Point{ID: id, Section: section, Clients: clients, Keys: 1, Arrivals: Closed, Fault: "none"}
	}
	r := &Results{Plan: &Plan{
		Subjects: []Subject{{Name: "x", Role: Lock}, {Name: "x-tuned", Role: Lock, Params: map[string]string{"b": "2", "a": "1"}}},
		Points:   []Point{point("p", "contended", 16), point("q", "contended", 64), point("r", "as they come", 16)},
	}, Rows: []Row{at(twice(2), "x-tuned", "p"), at(twice(2), "x-tuned", "q"), at(twice(1), "x", "r")}}
	rows := newView(r).tunedRows()
	if len(rows) != 1 || rows[0].Where != "contended, 16 clients" || rows[0].Ratio != "2.00×" || !rows[0].Differs || rows[0].Params != "a=1 b=2" {
		t.Errorf("%+v", rows)
	}
}
