package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"lockbench/reports/charts"
	"lockbench/reports/format"
)

// heats returns the latency heat maps of all sections. Each lock has a heat map under each fault. The best lock also
// has one under the fault-free conditions with the most clients.
func (v *view) heats() (all []charts.Chart) {
	for _, section := range v.sections() {
		points := v.pointsOf(section)
		most := Point{Clients: -1}
		for _, p := range points {
			if !hasFault(p) && p.Clients > most.Clients {
				most = p
			}
		}
		for _, p := range append(filter(points, hasFault), most) {
			d := v.drawnAt(p)
			if !hasFault(p) {
				d.rows = d.rows[:min(1, len(d.rows))]
			}
			for _, row := range d.rows {
				all = append(all, d.heat(row)...)
			}
		}
	}
	return all
}

func (d drawing) heat(row *Row) []charts.Chart {
	t := row.typical()
	if t == nil {
		return nil
	}
	h, ok := cropped(t.Timeline)
	if !ok {
		return nil
	}
	c := d.chart("heat", row.Subject)
	c.Name, c.Takeaway = row.Subject+", "+c.Name, h.takeaway(row.Subject)
	c.Note = fmt.Sprintf("Slices of %s; block %d. The window of the figures is the last %s.",
		format.Duration(h.SliceNS), t.Block+1, format.Duration(t.MeasuredNS))
	c.Head, c.Rows = []string{"from, s", "acquires", "half within", "all within", "fault"}, h.rows()
	c.Draw(h.draw(), "Acquire latency over time, "+row.Subject+", "+describe(d.Point))
	return []charts.Chart{c}
}

// typical returns the trial whose goodput is nearest to the median. It ignores trials without a timeline.
func (r *Row) typical() *Trial {
	e, ok := r.estimate(rankedBy)
	far := func(t *Trial) float64 { return math.Abs(t.Figures[rankedBy] - e.Median) }
	trials := filter(r.counted, func(t *Trial) bool { return t.Timeline != nil && ok })
	if len(trials) == 0 {
		return nil
	}
	return slices.MinFunc(trials, func(a, b *Trial) int { return cmp.Compare(far(a), far(b)) })
}

// heat is a Timeline cropped for drawing. Each row is a range of latencies. Only the rows from low to high-1 are drawn,
// because all other rows contain no acquires.
type heat struct {
	*Timeline
	low, high int // rows to draw: from low to high-1
}

// mostSlices is the maximum number of time slices in a heat map.
const mostSlices = 120

// cropped returns the heat map of a timeline, with at most mostSlices time slices. The second result is false if the
// timeline has no acquires.
func cropped(t *Timeline) (heat, bool) {
	h := heat{Timeline: coarser(t, mostSlices), low: len(t.Edges)}
	for _, slice := range h.Counts {
		for r, n := range slice {
			if n > 0 && r < len(t.Edges) {
				h.low, h.high = min(h.low, r), max(h.high, r+1)
			}
		}
	}
	return h, t.SliceNS > 0 && h.high > 0
}

// coarser returns a timeline that has at most as many time slices as the parameter most. It merges adjacent slices.
func coarser(t *Timeline, most int) *Timeline {
	every := (len(t.Counts) + most - 1) / most
	if every <= 1 {
		return t
	}
	out := &Timeline{SliceNS: t.SliceNS * int64(every), Edges: t.Edges, Faults: t.Faults}
	for some := range slices.Chunk(t.Counts, every) {
		sum := make([]int, len(t.Edges))
		for _, slice := range some {
			for r, n := range slice[:min(len(sum), len(slice))] {
				sum[r] += n
			}
		}
		out.Counts = append(out.Counts, sum)
	}
	return out
}

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
	c.Counts = collect(h.Counts, func(slice []int) []int { return slice[min(h.low, len(slice)):min(h.high, len(slice))] })
	c.Spans = collect(h.Faults, func(e Episode) charts.Span {
		return charts.Span{From: seconds(e.FromNS), To: seconds(e.ToNS), Name: e.Name}
	})
	return c
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// rows returns the rows of the chart's data table. Each row covers one or more time slices.
func (h heat) rows() [][]string {
	var rows [][]string
	t := coarser(h.Timeline, 40)
	for s, counts := range t.Counts {
		from, to := int64(s)*t.SliceNS, int64(s+1)*t.SliceNS
		n, half, all := total(counts), format.None, format.None
		sum := 0
		for r, k := range counts {
			if sum*2 < n && (sum+k)*2 >= n {
				half = h.edge(r + 1)
			}
			if k > 0 {
				all = h.edge(r + 1)
			}
			sum += k
		}
		rows = append(rows, []string{format.Significant(seconds(from)), format.Count(n), half, all, h.wrong(from, to)})
	}
	return rows
}

func (h heat) wrong(from, to int64) string {
	var names []string
	for _, e := range h.Faults {
		if e.FromNS < to && e.ToNS > from {
			names = appendUnique(names, e.Name)
		}
	}
	return strings.Join(names, ", ")
}

// takeaway returns one sentence with the slowest acquires and the longest time without a grant.
func (h heat) takeaway(name string) string {
	n, from, longest, gap := 0, 0, 0, 0
	for s, slice := range h.Counts {
		granted := total(slice)
		n += granted
		if gap++; granted > 0 {
			gap = 0
		}
		if gap > longest {
			longest, from = gap, s+1-gap
		}
	}
	slowest := h.edge(h.high-1) + " to " + h.edge(h.high)
	if h.high >= len(h.Edges) {
		slowest = h.edge(h.high-1) + " or more"
	}
	text := fmt.Sprintf("The slowest of %s acquires with %s took %s", format.Count(n), name, slowest)
	if longest == 0 {
		return fmt.Sprintf("%s; no slice of %s went by without a grant.", text, format.Duration(h.SliceNS))
	}
	start, end := int64(from)*h.SliceNS, int64(from+longest)*h.SliceNS
	text += fmt.Sprintf("; the longest time without a grant was %s, from %s on", format.Duration(end-start), format.Duration(start))
	if fault := h.wrong(start, end); fault != "" {
		text += ", under " + fault
	}
	return text + "."
}

func edgeText(ns int64) string {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(float64(ns), 'e', 1, 64), 64)
	number, unit, _ := strings.Cut(format.Duration(v), " ")
	return format.TrimZeros(number) + " " + unit
}
