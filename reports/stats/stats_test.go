package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// draw returns an estimate from simulated values, one for each block (round of trials). Each value is the product of a median
// (parameter middle), a factor of the block, and random noise.
func draw(r *rand.Rand, middle, noise float64, blocks []float64) Estimate {
	var values []float64
	var at []int
	for i, common := range blocks {
		values = append(values, middle*common*math.Exp(noise*r.NormFloat64()))
		at = append(at, i)
	}
	return EstimateOf(values, at)
}

func moods(r *rand.Rand, n int, spread float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = math.Exp(spread * r.NormFloat64())
	}
	return all
}

func TestEstimateNeedsSix(t *testing.T) {
	values := []float64{9, 1, 5, 3, 7, 2}
	e := EstimateOf(values, []int{0, 1, 2, 3, 4, 5})
	if e.Median != 4 || e.Low == nil || *e.Low != 1 || *e.High != 9 || e.Confidence < 0.95 {
		t.Errorf("of six: %+v", e)
	}
	if !slices.Equal(e.Values, []float64{9, 1, 5, 3, 7, 2}) {
		t.Errorf("the values are no longer by block: %v", e.Values)
	}
	if e := EstimateOf(values[:5], []int{0, 1, 2, 3, 4}); e.Low != nil || e.High != nil || e.Confidence != 0 || e.Median != 5 {
		t.Errorf("of five: %+v", e)
	}
}

// TestNoFalseAlarms checks that two samples of the same distribution rarely seem to differ. The p-value is below 0.05
// in about 5 % of cases. The confidence interval of the ratio excludes 1 no more often.
func TestNoFalseAlarms(t *testing.T) {
	const draws = 2000
	for _, c := range []struct {
		name    string
		n       int
		draws   int
		compare func(a, b Estimate) Comparison
	}{
		{"paired, all flips", 10, draws, func(a, b Estimate) Comparison { return Paired(a, b, 1) }},
		{"paired, random flips", 16, draws / 10, func(a, b Estimate) Comparison { return Paired(a, b, 1) }},
		{"unpaired", 10, draws, Unpaired},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, uint64(c.n)))
			alarms, outside, halves := 0, 0, 0
			for range c.draws {
				blocks := moods(r, c.n, 0.02)
				got := c.compare(draw(r, 100, 0.05, blocks), draw(r, 100, 0.05, blocks))
				if got.P < 0.05 {
					alarms++
				}
				if got.P < 0.5 {
					halves++
				}
				if *got.Low > 1 || *got.High < 1 {
					outside++
				}
			}
			part := func(n int) float64 { return float64(n) / float64(c.draws) }
			if part(alarms) > 0.07 || part(alarms) < 0.01 {
				t.Errorf("false alarms: %.3f", part(alarms))
			}
			if part(halves) < 0.40 || part(halves) > 0.60 {
				t.Errorf("p is under a half in %.3f", part(halves))
			}
			if part(outside) > 0.07 {
				t.Errorf("1 is outside the interval in %.3f", part(outside))
			}
		})
	}
}

// TestShiftsAreFound checks that a shift of 10 % is found if the noise is 3 %. If block effects are large, only the
// paired test can find the shift.
func TestShiftsAreFound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	found := map[string]int{}
	for range 100 {
		calm, moody := moods(r, 10, 0), moods(r, 10, 0.5)
		for name, c := range map[string]Comparison{
			"paired":          Paired(draw(r, 110, 0.03, calm), draw(r, 100, 0.03, calm), 1),
			"paired, moody":   Paired(draw(r, 110, 0.03, moody), draw(r, 100, 0.03, moody), 1),
			"unpaired":        Unpaired(draw(r, 110, 0.03, calm), draw(r, 100, 0.03, calm)),
			"unpaired, moody": Unpaired(draw(r, 110, 0.03, moody), draw(r, 100, 0.03, moody)),
		} {
			if c.P < 0.05 && *c.Low <= c.Ratio && c.Ratio <= *c.High && math.Abs(c.Ratio-1.1) < 0.06 {
				found[name]++
			}
		}
	}
	if found["paired"] < 95 || found["paired, moody"] < 95 || found["unpaired"] < 95 {
		t.Errorf("of 100: %v", found)
	}
	if found["unpaired, moody"] > 20 {
		t.Errorf("the block effect does not hide it: %v", found)
	}
}

// TestSignFlip compares p-values with values calculated by hand.
func TestSignFlip(t *testing.T) {
	for _, c := range []struct {
		differences []float64
		want        float64
	}{
		{[]float64{1, 1, 1, 1, 1, 1}, 2.0 / 64},
		{[]float64{1, 1, 1, -1}, 10.0 / 16}, // 10 of 16 sign combinations give a sum at least as far from 0: all equal (2), or one different (8)
		{[]float64{0, 0, 0}, 1},
		{[]float64{0.1, 0.2, 0.3}, 2.0 / 8}, // 2 of 8 sign combinations give a sum at least as far from 0: all positive, or all negative
		{[]float64{3}, 1},
	} {
		if got := SignFlip(c.differences, 1); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: p %v, want %v", c.differences, got, c.want)
		}
	}
	many := make([]float64, 20)
	for i := range many {
		many[i] = float64(i) - 7
	}
	if a, b := SignFlip(many, 5), SignFlip(many, 5); a != b {
		t.Errorf("the same seed gives %v and %v", a, b)
	}
	for i := range many {
		many[i] = 1
	}
	if p := SignFlip(many, 5); p != 1.0/(flips+1) {
		t.Errorf("all of twenty one way: p %v; it is never 0", p)
	}
}

// TestIntervalIsThatOfTheTest checks that the interval excludes the ratio 1 if and only if the U test finds a
// significant difference.
func TestIntervalIsThatOfTheTest(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	differ := 0
	for range 500 {
		n, m := 4+r.IntN(7), 4+r.IntN(7)
		c := Unpaired(draw(r, 105, 0.05, moods(r, n, 0)), draw(r, 100, 0.05, moods(r, m, 0)))
		if excluded := *c.Low > 1 || *c.High < 1; excluded != (c.P < 0.05) {
			t.Fatalf("%d and %d values: p %v, interval %v to %v", n, m, c.P, *c.Low, *c.High)
		}
		if c.P < 0.05 {
			differ++
		}
	}
	if differ < 50 || differ > 450 {
		t.Errorf("%d of 500 differ: the comparison is empty", differ)
	}
}

func TestOutside(t *testing.T) {
	for _, c := range []struct{ n, m, want int }{
		{3, 3, 0}, {4, 4, 1}, {10, 10, 24}, {20, 20, 128}, // critical value of the Mann-Whitney U statistic in published tables, plus 1
	} {
		if got := confidenceRank(c.n, c.m); got != c.want {
			t.Errorf("%d and %d values: %d, want %d", c.n, c.m, got, c.want)
		}
	}
	exact, approximate := confidenceRank(50, 50), confidenceRank(50, 51)
	if approximate < exact || approximate > exact+50 {
		t.Errorf("the counted %d and the approximate %d do not meet", exact, approximate)
	}
}

func TestHolm(t *testing.T) {
	of := func(ps ...float64) []*Comparison {
		var all []*Comparison
		for _, p := range ps {
			all = append(all, &Comparison{P: p})
		}
		return all
	}
	all := of(0.04, 0.01, 0.03)
	Holm(all)
	for i, want := range []float64{0.06, 0.03, 0.06} {
		if math.Abs(all[i].Holm-want) > 1e-12 || all[i].Differs != (want < 0.05) {
			t.Errorf("%v: corrected to %v, differs %v, want %v", all[i].P, all[i].Holm, all[i].Differs, want)
		}
	}
	low, high := 0.9, 1.1
	doubtful := &Comparison{P: 0.01, Low: &low, High: &high}
	Holm([]*Comparison{doubtful})
	if doubtful.Differs {
		t.Error("a difference is named although the interval holds 1")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var ps []float64
		for range 1 + r.IntN(9) {
			ps = append(ps, r.Float64()*r.Float64())
		}
		slices.Sort(ps)
		all := of(ps...)
		Holm(all)
		for i, c := range all {
			if c.Holm < c.P || c.Holm > 1 || i > 0 && c.Holm < all[i-1].Holm {
				t.Fatalf("%v: not in order, or made smaller: %+v", ps, c)
			}
		}
	}
}

// TestNoRatio checks that no ratio is computed if a value is 0, but that the difference is still tested.
func TestNoRatio(t *testing.T) {
	blocks := []int{0, 1, 2, 3, 4, 5, 6}
	zeros, fives := EstimateOf(make([]float64, 7), blocks), EstimateOf([]float64{5, 5, 5, 6, 5, 5, 5}, blocks)
	for name, c := range map[string]Comparison{"paired": Paired(fives, zeros, 1), "unpaired": Unpaired(fives, zeros)} {
		if c.Ratio != 0 || c.Low != nil || c.High != nil || c.Note == "" || c.P > 0.05 || c.MedA != 5 || c.MedB != 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if c := Paired(EstimateOf([]float64{1}, []int{0}), EstimateOf([]float64{2}, []int{1}), 1); c.Pairs != 0 || c.P != 1 || c.Note == "" {
		t.Errorf("of different blocks: %+v", c)
	}
	if c := Unpaired(Estimate{}, fives); c.P != 1 || c.Note == "" {
		t.Errorf("of nothing: %+v", c)
	}
}
