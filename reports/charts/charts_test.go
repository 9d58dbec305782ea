package charts

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/vg"
)

const (
	us = time.Microsecond
	ms = time.Millisecond
)

// hostile is a text with markup that must be escaped.
const hostile = `</text><script>"'&` + "\x1b\u202e"

// drawings returns one drawing of each type of chart.
func drawings() map[string]string {
	all := map[string]string{}
	var curves, scaling []Line
	for i := range 9 {
		curve := Line{Name: fmt.Sprint(hostile, i), Style: StyleAt(i)}
		line := Line{Name: fmt.Sprint("lock ", i), Style: StyleAt(i), Marks: true}
		for x := 2.0; x < 2000; x *= 1.5 {
			y := 1e6 * float64(1+i) * math.Sqrt(x)
			curve.Points = append(curve.Points, Point{X: 1 - 1/x, Y: y, Low: y * .8, High: y * 1.2})
			line.Points = append(line.Points, Point{X: x, Y: y / x, Low: 0, High: y})
		}
		curves, scaling = append(curves, curve), append(scaling, line)
	}
	head := func(id string) Head { return Head{ID: id, Title: hostile, Desc: hostile} }
	all["percentiles"] = string(Percentiles(curves).SVG(head("a")))
	all["lines"] = string(Lines{X: Axis{Log: true, Label: "clients"}, Y: Axis{Unit: " /s", Label: "goodput"}, Lines: scaling,
		Rules: []Rule{{At: 5, Text: "needed"}, {At: 16, Upright: true, Text: "advised", Emphasis: true}}}.SVG(head("b")))
	all["nothing"] = string(Grid{Columns: 2, Panels: []Panel{Lines{}, Lines{Y: Axis{Log: true}}, Rows{}}}.SVG(head("c")))
	low, high := .5, 1.2
	rows := []Row{{Name: hostile, Marks: []Mark{{At: .7, Class: "differs"}}, Low: &low, High: &high, Text: hostile}, {Name: "b", Bar: true, Marks: []Mark{{At: 2}}}}
	all["rows"] = string(Rows{Names: true, Texts: true, X: Axis{Log: true, Unit: "×"}, Rows: rows, Rules: []Rule{{At: 1, Text: hostile}}}.SVG(head("d")))
	all["bars"] = string(Grid{Columns: 2, Panels: []Panel{Rows{NoAxis: true, Names: true, Rows: rows}, Rows{Title: "x", NoAxis: true, Rows: rows}}}.SVG(head("e")))
	all["heat"] = string(Heat{X: Axis{High: 3, Unit: " s"}, Of: "acquires", Edges: []string{"1 ms", "2 ms", "more"}, Counts: [][]int{{1, 0}, {7, 300}, {}}, Spans: []Span{{1, 2, hostile}, {1, 9, "kill"}}}.SVG(head("f")))
	all["dots"] = string(Dots{Title: hostile, X: Axis{Log: true, Label: "wait"}, Dots: []Dot{{Name: hostile, X: 3, Y: 5}, {Name: "b", X: 30, Y: 5, Hollow: true}}}.SVG(head("i")))
	all["lanes"] = string(lanes().SVG(head("g")))
	all["histogram"] = string(Histogram{Width: .25, Counts: []int{0, 3, 10}, Bound: 9, Title: func(int) string { return hostile }}.SVG(head("h")))
	return all
}

// lanes returns a timeline with unusual time spans. Some have no end, some overlap, and some lie outside the drawing.
func lanes() Lanes {
	l := Lanes{
		From: 4 * ms, To: 12 * ms, Label: "ms", Names: []string{"client 2", hostile},
		Faults:     []LaneSpan{{To: 7 * ms, Label: hostile}, {Lane: AllLanes, From: 9 * ms, To: math.MaxInt64, Label: "clock", Faint: true}},
		Holds:      []LaneSpan{{From: 4100 * us, To: 8900 * us, Label: "holds 4.80 ms", Title: hostile}, {Lane: 1, From: 6300 * us, To: math.MaxInt64}},
		Leases:     []LaneSpan{{From: 4100 * us, To: 7 * ms}},
		Calls:      []LaneSpan{{To: 4100 * us, Number: 1}, {Lane: 1, From: 5 * ms, To: 6300 * us, Number: 2}, {Lane: 7, From: 5 * ms}, {From: 20 * ms, Number: 99}},
		Violations: []Violation{{From: 6300 * us, To: 8900 * us, Label: "two clients held at once for 2.60 ms"}},
	}
	for i := range 12 {
		l.Instants = append(l.Instants, LaneSpan{Lane: 1, From: 7 * ms, Number: 3 + i, Label: hostile})
	}
	return l
}

// TestDrawings checks that each drawing is valid XML, has a title and a description, and stays within its bounds. Text
// must be escaped, and equal data must give equal drawings.
func TestDrawings(t *testing.T) {
	again := drawings()
	for name, svg := range drawings() {
		t.Run(name, func(t *testing.T) {
			if svg != again[name] {
				t.Error("it is not reproducible")
			}
			if strings.ContainsAny(svg, "\x1b\u202e") || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
				t.Error("it has a control character or something that is no number")
			}
			elements := map[string]int{}
			for d := xml.NewDecoder(strings.NewReader(svg)); ; {
				token, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("parse: %v\n%s", err, svg)
				}
				if start, ok := token.(xml.StartElement); ok {
					elements[start.Name.Local]++
				}
			}
			if elements["svg"] != 1 || elements["desc"] != 1 || elements["title"] < 1 || elements["script"] > 0 || name != "nothing" && elements["path"]+elements["rect"] < 3 {
				t.Errorf("elements %v", elements)
			}
		})
	}
}

func TestLanes(t *testing.T) {
	l := lanes()
	got := string(l.SVG(Head{ID: "g"}))
	for text, times := range map[string]int{`class="hold"`: 2, `class="fault"`: 1, `class="fault unseen"`: 1, `class="lease"`: 1, `class="mark"`: 12, `>two clients`: 1, `class="number"`: 2, `class="edge"`: 2} {
		if n := strings.Count(got, text); n != times {
			t.Errorf("%s is there %d times, want %d", text, n, times)
		}
	}
	l.Crowded = true
	if n := strings.Count(string(l.SVG(Head{ID: "g"})), `class="mark"`); n != 1 {
		t.Errorf("%d numbers stand at one time", n)
	}
}

func TestRound(t *testing.T) {
	for name, c := range map[string]struct {
		low, high float64
		log       bool
		want      []float64
	}{
		"linear":         {0, 950, false, []float64{0, 200, 400, 600, 800}},
		"one decade":     {3, 60, true, []float64{5, 10, 20, 50}},
		"many decades":   {0.5, 5000, true, []float64{1, 10, 100, 1000}},
		"short":          {0.5, 1.2, true, []float64{0.6000000000000001, 0.8, 1, 1.2000000000000002}},
		"nothing at all": {0, 0, false, []float64{0}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, round(c.low, c.high, c.log)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSpread(t *testing.T) {
	for name, at := range map[string][]vg.Length{
		"apart": {10, 50, 90}, "all alike": {50, 50, 50, 50}, "at the top": {99, 99, 100}, "at the bottom": {0, 0, 1}, "two heaps": {20, 20, 80, 80},
	} {
		t.Run(name, func(t *testing.T) {
			got := spread(slices.Clone(at), 0, 100)
			for i := range got {
				if got[i] < 0 || got[i] > 100 || i > 0 && got[i]-got[i-1] < endGap-0.001 {
					t.Fatalf("%v: names overlap or leave the drawing", got)
				}
			}
		})
	}
}

// TestPlace checks that the names of nearby dots do not overlap and stay within the chart.
func TestPlace(t *testing.T) {
	within := vg.Rectangle{Max: vg.Point{X: 400, Y: 200}}
	var taken []vg.Rectangle
	for i := range 7 {
		at := vg.Point{X: 340 + 3*vg.Length(i), Y: 150 - 2*vg.Length(i)}
		name, _ := place(within, taken, at, 90)
		if hidden := uncoveredArea(name, within); hidden > 0 {
			t.Errorf("name %d: %v lies outside", i, name)
		}
		for _, other := range taken {
			if overlap(name, other) > 0 {
				t.Errorf("name %d: %v overlaps %v", i, name, other)
			}
		}
		taken = append(taken, name)
	}
}

func TestStylesDiffer(t *testing.T) {
	seen := map[Style]int{}
	for i := range Colors * 6 {
		s := StyleAt(i)
		s.Marker = 0 // ignore the marker: styles must already differ in colour or dash pattern
		if j, ok := seen[s]; ok {
			t.Errorf("%d and %d look alike", j, i)
		}
		seen[s] = i
	}
}

func TestHeatLevels(t *testing.T) {
	h := Heat{Counts: [][]int{{1, 300}}}.counted()
	if h.level(1) != 1 || h.level(300) != heatLevels || h.level(17) != 3 {
		t.Error(h.level(1), h.level(17), h.level(300))
	}
	if one := (Heat{Counts: [][]int{{1}}}).counted(); one.level(1) != heatLevels {
		t.Error("a map of single acquires is pale")
	}
}

func TestShort(t *testing.T) {
	if got := short("redlock", 100, width); got != "redlock" {
		t.Error(got)
	}
	if got := short(strings.Repeat("m", 100), 100, width); width(got) > 100 || !strings.HasSuffix(got, "…") {
		t.Error(got)
	}
}
