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
	c.SVG = h.draw().SVG(c.ID, "heat", "Acquire latency over time, "+name+", "+describe(p), c.Takeaway)
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
	for _, t := range v.trials[place{subject, point}] {
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
	most      int // in one cell
}

// mostSlices is as many as a drawing has room for.
const mostSlices = 120

// cropped leaves out rows that nobody met, and puts slices together where there are many.
func cropped(t *Timeline) (heat, bool) {
	h := heat{Timeline: coarser(t), low: len(t.Edges)}
	for _, slice := range h.Counts {
		for r, n := range slice {
			if n > 0 && r < len(t.Edges) {
				h.low, h.high, h.most = min(h.low, r), max(h.high, r+1), max(h.most, n)
			}
		}
	}
	return h, t.SliceNS > 0 && h.most > 0
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

// heatLevels are the colours of cividis that the page's style has.
const heatLevels = 6

// level is from 1 to heatLevels, by the logarithm of the count.
func (h heat) level(n int) int {
	if h.most == 1 {
		return heatLevels
	}
	return 1 + int(math.Round((heatLevels-1)*math.Log(float64(n))/math.Log(float64(h.most))))
}

const (
	heatTop    = 34 // below the names of the faults
	heatBottom = 62 // for the axis and the legend
)

// rowHeight makes a map with few rows no thin stripe.
func (h heat) rowHeight() float64 { return min(26, max(11, 180/float64(h.high-h.low))) }

func (h heat) draw() *charts.Canvas {
	row := h.rowHeight()
	ground := heatTop + row*float64(h.high-h.low)
	c := &charts.Canvas{Width: charts.ChartWidth, Height: ground + heatBottom}
	total := float64(len(h.Counts)) * float64(h.SliceNS)
	x := charts.Scale{High: total / 1e9, From: charts.ChartLeft, To: charts.ChartWidth - 16}
	for s, slice := range h.Counts {
		left := x.At(float64(s) * float64(h.SliceNS) / 1e9)
		right := x.At(float64(s+1) * float64(h.SliceNS) / 1e9)
		for r := h.low; r < h.high && r < len(slice); r++ {
			if slice[r] > 0 {
				c.Rect("h"+strconv.Itoa(h.level(slice[r])), left, ground-row*float64(r-h.low+1), right-left+.15, row+.15)
			}
		}
	}
	h.axes(c, x, ground)
	h.episodes(c, x, ground)
	h.legend(c, ground+50)
	return c
}

func (h heat) axes(c *charts.Canvas, x charts.Scale, ground float64) {
	every := max(1, (h.high-h.low+7)/8)
	for r := h.low; r <= h.high; r += every {
		y := ground - h.rowHeight()*float64(r-h.low)
		c.Line("tick", x.From-4, y, x.From, y)
		c.Text("axis", "end", x.From-7, y+4, h.edge(r))
	}
	c.Line("rule", x.From, ground, x.To, ground)
	for _, t := range charts.TicksOf(x, "s") {
		c.Line("tick", x.At(t.At), ground, x.At(t.At), ground+4)
		c.Text("axis", "middle", x.At(t.At), ground+18, t.Text)
	}
}

// episodes names the faults above the map, one beside the other where there is room.
func (h heat) episodes(c *charts.Canvas, x charts.Scale, ground float64) {
	free := 0.0
	for _, e := range h.Faults {
		from, to := x.At(clampTime(e.FromNS, x)), x.At(clampTime(e.ToNS, x))
		c.Rect("fault", from, heatTop-6, max(2, to-from), ground-heatTop+6)
		c.Line("fault-edge", from, heatTop-6, from, ground)
		c.Line("fault-edge", to, heatTop-6, to, ground)
		wide := float64(len(e.Name)) * charts.Glyph
		if at := min(from, x.To-wide); at >= free {
			c.Text("fault-name", "start", at, heatTop-12, e.Name)
			free = at + wide + 8
		}
	}
}

func clampTime(ns int64, x charts.Scale) float64 { return min(max(float64(ns)/1e9, 0), x.High) }

// legend says how many acquires a colour stands for.
func (h heat) legend(c *charts.Canvas, y float64) {
	c.Text("axis", "start", charts.ChartLeft, y, "acquires in a cell:")
	x := float64(charts.ChartLeft + 128)
	for level := 1; level <= heatLevels; level++ {
		low, high := 0, 0
		for n := 1; n <= h.most; n++ {
			if h.level(n) == level {
				if low == 0 {
					low = n
				}
				high = n
			}
		}
		if low == 0 {
			continue
		}
		text := format.Count(low)
		if high > low {
			text += " to " + format.Count(high)
		}
		c.Rect("h"+strconv.Itoa(level), x, y-10, 14, 12)
		c.Text("axis", "start", x+19, y, text)
		x += 19 + float64(len(text))*charts.Glyph + 16
	}
}

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
