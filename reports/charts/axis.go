package charts

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"

	"lockbench/reports/format"
)

// Axis is one axis of a chart. Zero bounds are set from the data. A logarithmic axis has positive bounds.
type Axis struct {
	Label     string
	Unit      string // appended to the number of each tick, as in " ms"
	Low, High float64
	Log       bool
	Ticks     []Tick // ticks instead of round numbers
}

// Tick is a labelled value of an axis.
type Tick struct {
	At   float64
	Text string
}

// round returns the round values from low to high. A linear or a short logarithmic axis has steps of 1, 2 or 5. A long
// logarithmic axis has 1, 2 and 5 of each decade, or only the decades if there are many.
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

// fit returns the axis with bounds that hold the values.
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
