package charts

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTicks(t *testing.T) {
	for name, c := range map[string]struct {
		scale Scale
		want  []float64
	}{
		"linear":         {Scale{Low: 0, High: 950}, []float64{0, 200, 400, 600, 800}},
		"one decade":     {Scale{Low: 3, High: 60, Log: true}, []float64{5, 10, 20, 50}},
		"many decades":   {Scale{Low: 0.5, High: 5000, Log: true}, []float64{1, 10, 100, 1000}},
		"nothing at all": {Scale{Low: 0, High: 0}, []float64{0}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, c.scale.Ticks()); d != "" {
				t.Error(d)
			}
		})
	}
	if got := (Scale{Low: 1, High: 100, From: 0, To: 200, Log: true}).At(10); math.Abs(got-100) > 1e-9 {
		t.Errorf("10 is at %v of 0 to 200, from 1 to 100", got)
	}
}

func TestSpread(t *testing.T) {
	for name, at := range map[string][]float64{
		"apart": {10, 50, 90}, "all alike": {50, 50, 50, 50}, "at the bottom": {99, 99, 100}, "at the top": {0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := Spread(slices.Clone(at), 0, 100)
			for i := range got {
				if got[i] < 0 || got[i] > 100 || i > 0 && got[i]-got[i-1] < EndGap-0.001 {
					t.Fatalf("%v: names overlap or leave the drawing", got)
				}
			}
		})
	}
}
