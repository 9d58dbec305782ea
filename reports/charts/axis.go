package charts

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"

	"lockbench/reports/format"
)

// Axis is an axis of a chart. If both bounds are 0, they are computed from the data. The bounds of a logarithmic axis
// must be positive.
type Axis struct {
	Label     string
	Unit      string // unit after each tick label, as in " ms"
	Low, High float64
	Log       bool
	Ticks     []Tick // tick positions and labels; nil: ticks at round numbers
}

// Tick is a labelled position on an axis.
type Tick struct {
	At   float64
	Text string
}

// round returns round numbers from low to high, for axis ticks. A linear axis has steps of 1, 2 or 5 times a power of
// ten. A logarithmic axis has 1, 2 and 5 times each power of ten, or only the powers of ten.
func round(low, high float64, log bool) []float64 {
	var all []float64
	if !log || high/low < 4 {
		step := niceStep((high - low) / maxTicks)
		for i := math.Ceil(low/step - 1e-9); i*step <= high*(1+1e-9); i++ {
			all = append(all, i*step)
		}
		return all
	}
	for power := math.Pow(10, math.Floor(math.Log10(low))); power <= high; power *= 10 {
		for _, m := range []float64{1, 2, 5} {
			v := m * power
			if v >= low*(1-1e-9) && v <= high*(1+1e-9) && (m == 1 || high/low <= 300) {
				all = append(all, v)
			}
		}
	}
	return all
}

// niceStep returns the smallest of 1, 2, 5, 10, 20, ... that is at least v.
func niceStep(v float64) float64 {
	if v <= 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	steps := []float64{1, 2, 5, 10}
	return power * steps[slices.IndexFunc(steps, func(m float64) bool { return m == 10 || m*power >= v })]
}

// fit returns the axis with bounds computed from the values, unless the axis already has bounds.
func (a Axis) fit(values []float64) Axis {
	if a.Low != 0 || a.High != 0 {
		return a
	}
	a.Low, a.High = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) && (v > 0 || !a.Log) {
			a.Low, a.High = min(a.Low, v), max(a.High, v)
		}
	}
	switch {
	case math.IsInf(a.Low, 1):
		a.Low, a.High = 1, 10
	case a.Log:
		a.Low, a.High = a.Low/1.2, a.High*1.2
	default:
		a.Low, a.High = min(0, a.Low), a.High*1.06
	}
	if a.Low == a.High {
		a.High++
	}
	return a
}

func (a Axis) clamp(v float64) float64 { return min(max(v, a.Low), a.High) }

func (a Axis) set(to *plot.Axis, x text.XAlignment, y text.YAlignment) {
	to.Min, to.Max = a.Low, a.High
	if a.Log {
		to.Scale = plot.LogScale{}
	}
	to.Padding, to.LineStyle = 0, stroke("rule")
	to.Label.TextStyle = words("axis", text.XCenter, text.YBottom)
	to.Tick.Label, to.Tick.LineStyle, to.Tick.Length = words("axis", x, y), stroke("tick"), 4
	if a.Ticks == nil {
		for _, v := range round(a.Low, a.High, a.Log) {
			a.Ticks = append(a.Ticks, Tick{v, format.Short(v) + a.Unit})
		}
	}
	ticks := plot.ConstantTicks{}
	for _, t := range a.Ticks {
		ticks = append(ticks, plot.Tick{Value: t.At, Label: t.Text})
	}
	to.Tick.Marker = ticks
}
