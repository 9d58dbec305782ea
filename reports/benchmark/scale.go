package benchmark

import "math"

// scale maps values to places.
type scale struct {
	low, high float64 // values
	from, to  float64 // places
	log       bool
}

func (s scale) at(v float64) float64 {
	low, high := s.low, s.high
	if s.log {
		low, high, v = math.Log(low), math.Log(high), math.Log(v)
	}
	if high == low {
		return (s.from + s.to) / 2
	}
	return s.from + (s.to-s.from)*(v-low)/(high-low)
}

// ticks are round values: steps of 1, 2 or 5 on a linear scale, 1, 2 and 5 of each decade on a logarithmic one, or
// the decades alone where there are many.
func (s scale) ticks() []float64 {
	if !s.log {
		return linearTicks(s.low, s.high)
	}
	steps := []float64{1, 2, 5}
	if s.high/s.low > 300 {
		steps = steps[:1]
	}
	var all []float64
	for power := math.Pow(10, math.Floor(math.Log10(s.low))); power <= s.high; power *= 10 {
		for _, m := range steps {
			if v := m * power; v >= s.low*(1-1e-9) && v <= s.high*(1+1e-9) {
				all = append(all, v)
			}
		}
	}
	return all
}

func linearTicks(low, high float64) []float64 {
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

// tickText writes a value of an axis without digits that say nothing.
func tickText(v float64) string {
	if v == 0 {
		return "0"
	}
	if math.Abs(v) >= 1000 {
		return significant(v)
	}
	return trimZeros(significant(v))
}

func trimZeros(s string) string {
	for i := range s {
		if s[i] == '.' {
			for s[len(s)-1] == '0' {
				s = s[:len(s)-1]
			}
			if s[len(s)-1] == '.' {
				s = s[:len(s)-1]
			}
			break
		}
	}
	return s
}
