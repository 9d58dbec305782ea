package charts

import (
	"fmt"
	"math"
	"os"
	"testing"
)

func TestLook(t *testing.T) {
	var all []Line
	for i, n := range []string{"redlock", "set-px-lua with a very long name that is cut", "redisson", "fenced", "redsync", "etcd-mutex", "h", "i"} {
		l := Line{Name: n, Style: StyleAt(i)}
		for x := 2.0; x < 2000; x *= 1.3 {
			y := 1e6 * (1 + float64(i)) * math.Pow(x, .4+.02*float64(i))
			l.Points = append(l.Points, Point{X: 1 - 1/x, Y: y, Low: y * .8, High: y * 1.2})
		}
		all = append(all, l)
	}
	svg := Percentiles(all).SVG(Head{ID: "a", Title: "t", Desc: "d"})
	var sc []Line
	for i, n := range []string{"redlock", "set-px-lua", "redisson", "fenced"} {
		l := Line{Name: n, Style: StyleAt(i), Marks: true}
		for _, x := range []float64{4, 16, 64, 256} {
			y := 300 * (1 + float64(i)) / math.Sqrt(x)
			l.Points = append(l.Points, Point{X: x, Y: y, Low: y * .9, High: y * 1.2})
		}
		sc = append(sc, l)
	}
	sc = append(sc, Line{Name: "ceiling", Class: "ceiling", Points: []Point{{X: 4, Y: 1000}, {X: 256, Y: 990}}})
	s2 := Lines{X: Axis{Log: true, Label: "clients", Ticks: []Tick{{4, "4"}, {16, "16"}, {64, "64"}, {256, "256"}}}, Y: Axis{Unit: " /s", Label: "goodput"}, Lines: sc, Rules: []Rule{{At: 500, Text: "needed"}, {At: 16, Upright: true, Text: "advised: 16", Emphasis: true}}}.SVG(Head{ID: "b", Title: "t", Desc: "d"})
	var ps []Panel
	for i := range 6 {
		st := StyleAt(i)
		ps = append(ps, Lines{Title: fmt.Sprint("lock ", i), Marker: &st, Height: 130, Y: Axis{High: 2}, Lines: []Line{{Style: st, Area: true, Points: []Point{{X: 0, Y: .5}, {X: 1, Y: .8}, {X: 2, Y: 1.7}}}}, Rules: []Rule{{At: 1}}})
	}
	s3 := Grid{Columns: 4, Panels: ps}.SVG(Head{ID: "c"})
	lo, hi := .6, .8
	s4 := Rows{Names: true, Texts: true, X: Axis{Log: true, Unit: "×"}, Rules: []Rule{{At: 1, Text: "as much as redlock"}}, Rows: []Row{
		{Name: "set-px-lua", Style: StyleAt(0), Marks: []Mark{{At: .7, Style: StyleAt(3), Class: "differs"}}, Low: &lo, High: &hi, Text: "0.7× [.6, .8]"},
		{Name: "redisson", Style: StyleAt(1), Marks: []Mark{{At: .5, Style: StyleAt(0), Class: "noise"}}, Text: "0.5× ~"}}}.SVG(Head{ID: "d"})
	bars := func(n bool, title string) Rows {
		return Rows{Title: title, Names: n, NoAxis: true, Rows: []Row{
			{Name: "set-px-lua", Style: StyleAt(0), Bar: true, Marks: []Mark{{At: 1, Style: StyleAt(0)}}, Text: "1.00"},
			{Name: "redisson", Style: StyleAt(1), Bar: true, Marks: []Mark{{At: 1.5, Style: StyleAt(1)}}, Text: "1.50"}}}
	}
	s5 := Grid{Columns: 3, Panels: []Panel{bars(true, "commands"), bars(false, "round trips"), bars(false, "CPU")}}.SVG(Head{ID: "e"})
	h := Heat{X: Axis{High: 10, Unit: " s"}, Of: "acquires", Edges: []string{"1 ms", "2 ms", "5 ms", "10 ms", "20 ms", "50 ms"}, Spans: []Span{{2, 3, "pause"}, {6, 6.01, "kill"}}}
	for i := range 100 {
		h.Counts = append(h.Counts, []int{i % 7 * 10, i % 5, i % 3, 0, i / 90})
	}
	look(t, string(svg)+string(s4)+string(s5)+string(h.SVG(Head{ID: "f"}))+string(s2)+string(s3))
}

func look(t *testing.T, svg string) {
	page, _ := os.ReadFile("../run/templates/page.css")
	css, _ := os.ReadFile("chart.css")
	bench, _ := os.ReadFile("../bench/templates/benchmark.css")
	os.WriteFile("/tmp/w/look.html", []byte("<!doctype html><meta charset=utf-8><style>"+string(page)+string(css)+string(bench)+"</style><body>"+svg), 0o644)
}
