package charts

import (
	"math"

	"lockbench/reports/format"
)

// Scale maps values to places.
type Scale struct {
	Low, High float64 // values
	From, To  float64 // places
	Log       bool
}

// At is the place of a value.
func (s Scale) At(v float64) float64 {
	low, high := s.Low, s.High
	if s.Log {
		low, high, v = math.Log(low), math.Log(high), math.Log(v)
	}
	if high == low {
		return (s.From + s.To) / 2
	}
	return s.From + (s.To-s.From)*(v-low)/(high-low)
}

// Ticks are round values: steps of 1, 2 or 5 on a linear scale, 1, 2 and 5 of each decade on a logarithmic one, or
// the decades alone where there are many.
func (s Scale) Ticks() []float64 {
	if !s.Log {
		return LinearTicks(s.Low, s.High)
	}
	steps := []float64{1, 2, 5}
	if s.High/s.Low > 300 {
		steps = steps[:1]
	}
	var all []float64
	for power := math.Pow(10, math.Floor(math.Log10(s.Low))); power <= s.High; power *= 10 {
		for _, m := range steps {
			if v := m * power; v >= s.Low*(1-1e-9) && v <= s.High*(1+1e-9) {
				all = append(all, v)
			}
		}
	}
	return all
}

// LinearTicks are multiples of 1, 2 or 5 of a power of ten.
func LinearTicks(low, high float64) []float64 {
	step := niceStep((high - low) / 5)
	var all []float64
	for i := math.Ceil(low/step - 1e-9); i*step <= high*(1+1e-9); i++ {
		all = append(all, i*step)
	}
	return all
}

// niceStep is the least of 1, 2, 5, 10, 20, ... that is not less than v.
func niceStep(v float64) float64 {
	if v <= 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v {
			return m * power
		}
	}
	return 10 * power
}

// TickText writes a value of an axis without digits that say nothing.
func TickText(v float64) string {
	if v == 0 {
		return "0"
	}
	if math.Abs(v) >= 1000 {
		return format.Significant(v)
	}
	return format.TrimZeros(format.Significant(v))
}
