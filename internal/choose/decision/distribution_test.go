package decision

import (
	"lockbench/reports/selection"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func times(p50, p99, most time.Duration) selection.Times {
	return selection.Times{P50: p50, P99: p99, Max: most}
}

// constantDistribution returns a distribution in which every duration equals d.
func constantDistribution(d time.Duration) Distribution { return FromTimes(times(d, d, d)) }

var steepPauses = times(20*time.Millisecond, 300*time.Millisecond, 3*time.Second)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within || math.IsNaN(got) {
		t.Errorf("%s: %.6g, want %.6g within %.2g", what, got, want, within)
	}
}

// TestDistribution checks that the distribution has the given quantiles, with a power function between them.
func TestDistribution(t *testing.T) {
	d := FromTimes(steepPauses)
	for over, want := range map[float64]time.Duration{0.5: 20 * time.Millisecond, 0.01: 300 * time.Millisecond, 1e-4: 3 * time.Second, 0: 3 * time.Second} {
		near(t, "quantile", d.quantile(over), float64(want), 1)
	}
	near(t, "share over the median", d.exceeds(20e6), 0.5, 1e-9)
	near(t, "share over the geometric mean of two quantiles", d.exceeds(math.Sqrt(20e6*300e6)), math.Sqrt(0.5*0.01), 1e-9)
	near(t, "share over the longest", d.exceeds(3e9), 0, 0)
	near(t, "share just under the longest", d.exceeds(3e9-1), 1e-4, 1e-9)
	near(t, "share over nothing", d.exceeds(0), 1, 0)
	near(t, "below the median it goes on", d.quantile(0.75)/20e6, math.Pow(20.0/300, math.Log(1.5)/math.Log(50)), 1e-9)
	var sum, mean float64
	for _, p := range d.portions(4000) {
		sum += p.share
		mean += p.share * p.at
	}
	near(t, "all portions", sum, 1, 1e-9)
	near(t, "their mean by the area", mean/d.mean(), 1, 0.001)
	var area float64
	for x := 0.0; x < 100e6; x += 1e4 {
		area += 1e4 * d.exceeds(x+5e3)
	}
	near(t, "area", d.area(100e6)/area, 1, 1e-4)
}

// TestDistributionEdges checks distributions without durations, with a single duration, and with equal quantiles.
func TestDistributionEdges(t *testing.T) {
	if d := FromSample(nil); d.exceeds(0) != 0 || d.Longest() != 0 || d.mean() != 0 || d.portions(10)[0] != (portion{0, 1}) {
		t.Error("an empty sample is not 0")
	}
	for name, d := range map[string]Distribution{"times": constantDistribution(time.Second), "sample": FromSample([]time.Duration{time.Second, time.Second, time.Second})} {
		near(t, name+": over less", d.exceeds(1e9-1), 1, 0)
		near(t, name+": over it", d.exceeds(1e9), 0, 0)
		near(t, name+": mean", d.mean(), 1e9, 1)
		near(t, name+": area", d.area(5e8), 5e8, 1)
		near(t, name+": median", d.quantile(0.5), 1e9, 1)
	}
	half := FromTimes(times(time.Second, time.Second, 3*time.Second))
	near(t, "of two equal quantiles", half.exceeds(1e9), 0.01, 1e-9)
	inverse := FromTimes(times(time.Second, 50*time.Second, 50*time.Second)) // the share of durations that exceed t is 0.5 s / t
	near(t, "area under one over the time", inverse.area(50e9)-inverse.area(1e9), 0.5e9*math.Log(50), 1)
	if zero := constantDistribution(0); zero.exceeds(2) != 0 {
		t.Error("a time of 0 exceeds 2 ns")
	}
	near(t, "scaled", constantDistribution(time.Second).scaled(0.5).mean(), 5e8, 1)
}

// TestDistributionOfSample checks that the distribution has the quantiles of the sample.
func TestDistributionOfSample(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var sample []time.Duration
	var mean float64
	const n = 20_000
	for range n {
		v := math.Exp(r.NormFloat64()) * 1e6
		sample = append(sample, time.Duration(v))
		mean += v / n
	}
	d := FromSample(sample)
	near(t, "mean", d.mean()/mean, 1, 0.01)
	near(t, "median", d.quantile(0.5)/1e6, 1, 0.03)
	near(t, "over e", d.exceeds(math.E*1e6), 0.1587, 0.01)
	if few := FromSample([]time.Duration{3, 1, 2}); few.Longest() != 3 || few.exceeds(0.5) != 1 || few.exceeds(3) != 0 {
		t.Errorf("a sample of three: %v", few)
	}
}
