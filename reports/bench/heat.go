package bench

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"lockbench/reports/charts"
	"lockbench/reports/format"
)

// heats are the maps that are drawn: of each point with a fault every lock, and of the others the best lock at the one
// with the most clients.
func (v *view) heatCharts() []charts.Chart {
	var all []charts.Chart
	for _, section := range v.sections() {
		var most *Point
		for _, p := range v.pointsOf(section) {
			if faulty(p) {
				names, _ := v.charted(p.ID)
				for _, name := range names {
					all = v.addHeat(all, name, p)
				}
			} else if most == nil || p.Clients > most.Clients {
				most = &p
			}
		}
		if most == nil {
			continue
		}
		if best := v.ranked(most.ID); len(best) > 0 {
			all = v.addHeat(all, best[0].Subject, *most)
		}
	}
	return all
}

func (v *view) addHeat(all []charts.Chart, name string, p Point) []charts.Chart {
	t := v.typical(name, p.ID)
	if t == nil || t.Timeline == nil {
		return all
	}
	h, ok := cropped(t.Timeline)
	if !ok {
		return all
	}
	c := charts.Chart{ID: charts.Slug("heat", p.ID, name), Name: name + ", " + v.name(p)}
	c.Takeaway = h.takeaway(name)
	c.Note = fmt.Sprintf("Slices of %s; block %d. The window of the figures is the last %s.", format.Duration(float64(h.SliceNS)), t.Block+1, format.Duration(float64(t.MeasuredNS)))
	c.Head, c.Rows = h.table()
	c.Draw(h.draw(), "Acquire latency over time, "+name+", "+describe(p))
	return append(all, c)
}

// typical is the trial whose goodput is nearest to the median.
func (v *view) typical(subject, point string) *Trial {
	e, ok := v.estimate(subject, point, "goodput")
	if !ok {
		return nil
	}
	var best *Trial
	far := func(t *Trial) float64 { return math.Abs(t.Figures["goodput"] - e.Median) }
	for _, t := range v.counted(subject, point) {
		if t.Timeline != nil && (best == nil || far(t) < far(best)) {
			best = t
		}
	}
	return best
}

// heat is a timeline without the rows of latency that nobody met.
type heat struct {
	*Timeline
	low, high int // rows, the second one excluded
}

// mostSlices is as many as a drawing has room for.
const mostSlices = 120

// cropped leaves out rows that nobody met, and puts slices together where there are many.
func cropped(t *Timeline) (heat, bool) {
	h := heat{Timeline: coarser(t), low: len(t.Edges)}
	for _, slice := range h.Counts {
		for r, n := range slice {
			if n > 0 && r < len(t.Edges) {
				h.low, h.high = min(h.low, r), max(h.high, r+1)
			}
		}
	}
	return h, t.SliceNS > 0 && h.high > 0
}

func coarser(t *Timeline) *Timeline {
	every := (len(t.Counts) + mostSlices - 1) / mostSlices
	if every <= 1 {
		return t
	}
	out := &Timeline{SliceNS: t.SliceNS * int64(every), Edges: t.Edges, Faults: t.Faults}
	for some := range slices.Chunk(t.Counts, every) {
		out.Counts = append(out.Counts, summed(some, len(t.Edges)))
	}
	return out
}

// summed adds slices row by row.
func summed(some [][]int, rows int) []int {
	sum := make([]int, rows)
	for _, slice := range some {
		for r, n := range slice[:min(rows, len(slice))] {
			sum[r] += n
		}
	}
	return sum
}

// edge writes the lower limit of a row; the last row has no upper one.
func (h heat) edge(r int) string {
	if r >= len(h.Edges) {
		return "more"
	}
	return edgeText(h.Edges[r])
}

func (h heat) draw() charts.Heat {
	c := charts.Heat{X: charts.Axis{High: seconds(int64(len(h.Counts)) * h.SliceNS), Unit: " s"}, Of: "acquires"}
	for r := h.low; r <= h.high; r++ {
		c.Edges = append(c.Edges, h.edge(r))
	}
	for _, slice := range h.Counts {
		c.Counts = append(c.Counts, slice[min(h.low, len(slice)):min(h.high, len(slice))])
	}
	for _, e := range h.Faults {
		c.Spans = append(c.Spans, charts.Span{From: seconds(e.FromNS), To: seconds(e.ToNS), Name: e.Name})
	}
	return c
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// table has a line for each slice of time, or for several where there are many.
func (h heat) table() (head []string, rows [][]string) {
	head = []string{"from, s", "acquires", "half within", "all within", "fault"}
	every := (len(h.Counts) + 39) / 40
	for s := 0; s < len(h.Counts); s += every {
		sum := summed(h.Counts[s:min(s+every, len(h.Counts))], len(h.Edges))
		n, half, all := h.within(sum)
		from, to := int64(s)*h.SliceNS, int64(s+every)*h.SliceNS
		rows = append(rows, []string{format.Significant(float64(from) / 1e9), format.Count(n), half, all, h.wrong(from, to)})
	}
	return head, rows
}

func (h heat) within(counts []int) (n int, half, all string) {
	for _, k := range counts {
		n += k
	}
	half, all = format.None, format.None
	sum := 0
	for r, k := range counts {
		before := sum
		sum += k
		edge := h.edge(r + 1)
		if before*2 < n && sum*2 >= n {
			half = edge
		}
		if k > 0 {
			all = edge
		}
	}
	return n, half, all
}

// wrong names the faults of a time.
func (h heat) wrong(from, to int64) string {
	var names []string
	for _, e := range h.Faults {
		if e.FromNS < to && e.ToNS > from && !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	return strings.Join(names, ", ")
}

// takeaway says how slow it got, and how long nobody was granted anything.
func (h heat) takeaway(name string) string {
	n, from, longest, gap := 0, 0, 0, 0
	for s, slice := range h.Counts {
		sum := 0
		for _, k := range slice {
			sum += k
		}
		n += sum
		if gap++; sum > 0 {
			gap = 0
		}
		if gap > longest {
			longest, from = gap, s+1-gap
		}
	}
	text := fmt.Sprintf("The slowest of %s acquires with %s took %s", format.Count(n), name, h.slowest())
	if longest == 0 {
		return fmt.Sprintf("%s; no slice of %s went by without a grant.", text, format.Duration(float64(h.SliceNS)))
	}
	start, end := int64(from)*h.SliceNS, int64(from+longest)*h.SliceNS
	text += fmt.Sprintf("; the longest time without a grant was %s, from %s on", format.Duration(float64(end-start)), format.Duration(float64(start)))
	if fault := h.wrong(start, end); fault != "" {
		text += ", under " + fault
	}
	return text + "."
}

// slowest is the row of the slowest acquires.
func (h heat) slowest() string {
	if h.high >= len(h.Edges) {
		return h.edge(h.high-1) + " or more"
	}
	return h.edge(h.high-1) + " to " + h.edge(h.high)
}

// edgeText writes a limit of latency, to two digits.
func edgeText(ns int64) string {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(float64(ns), 'e', 1, 64), 64)
	number, unit, _ := strings.Cut(format.Duration(v), " ")
	return format.TrimZeros(number) + " " + unit
}
