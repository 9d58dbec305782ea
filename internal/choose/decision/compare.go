package decision

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/samber/lo"

	"lockbench/reports/selection"
)

func (d *deciding) compare(to *selection.Decision, locks []string, values map[string]map[string]value) {
	to.Dominated, to.Scores, to.Wins, to.Turns = []selection.Dominated{}, []selection.Score{}, []selection.Win{}, []selection.Turn{}
	s := &scoring{by: d.by, values: values}
	for _, o := range locks {
		if by := s.dominates(locks, o); by != nil {
			to.Dominated = append(to.Dominated, *by)
		} else {
			s.options = append(s.options, o)
		}
	}
	if len(s.options) > 0 {
		d.scoring, to.Scores = s, s.scores()
	}
}

// dominates returns a lock that dominates o, or nil if no lock does. A lock dominates o if it is not worse in any criterion,
// and better beyond noise in at least one criterion. Criteria with weight 0 are ignored.
func (s *scoring) dominates(locks []string, o string) *selection.Dominated {
	counting := lo.Filter(s.by, func(c criterion, _ int) bool { return c.Weight > 0 })
	for _, other := range locks {
		mine, theirs := s.values[o], s.values[other]
		worse := lo.ContainsBy(counting, func(c criterion) bool {
			a, b := theirs[c.Name], mine[c.Name]
			return a.unknown != "" || b.unknown != "" || c.worse(c.counted(a.median), c.counted(b.median))
		})
		better, found := lo.Find(counting, func(c criterion) bool { return c.beyondNoise(theirs[c.Name], mine[c.Name]) })
		if found && !worse {
			return &selection.Dominated{Option: o, By: other, In: better.Name}
		}
	}
	return nil
}

func (c criterion) worse(a, b float64) bool { return float64(c.Better)*(a-b) < 0 }

// beyondNoise reports whether a is better than b and their confidence intervals do not overlap.
func (c criterion) beyondNoise(a, b value) bool {
	if a.low == nil || b.low == nil {
		return false
	}
	return c.Better > 0 && c.counted(*a.low) > c.counted(*b.high) || c.Better < 0 && c.counted(*a.high) < c.counted(*b.low)
}

type scoring struct {
	by      []criterion
	options []string
	values  map[string]map[string]value
}

// parts returns the score of each candidate in each criterion, relative to the best candidate: 1 for the best
// candidate, 0 if the value is unknown.
func (s *scoring) parts(at func(value) float64) [][]float64 {
	parts := make([][]float64, len(s.options))
	counted := make([]float64, len(s.options))
	for _, c := range s.by {
		best := math.NaN()
		for i, o := range s.options {
			if v := s.values[o][c.Name]; v.unknown != "" {
				counted[i] = math.NaN()
			} else if counted[i] = c.counted(at(v)); math.IsNaN(best) || c.worse(best, counted[i]) {
				best = counted[i]
			}
		}
		for i, v := range counted {
			parts[i] = append(parts[i], c.closeness(v, best))
		}
	}
	return parts
}

func (c criterion) closeness(v, best float64) float64 {
	switch {
	case math.IsNaN(v):
		return 0
	case v == best:
		return 1
	}
	return max(0, lo.Ternary(c.Better < 0, best/v, v/best))
}

func median(v value) float64 { return v.median }

func weigh(parts, weights []float64) (sum float64) {
	for k, w := range weights {
		sum += w * parts[k]
	}
	return sum
}

func (s *scoring) weights() []float64 {
	return lo.Map(s.by, func(c criterion, _ int) float64 { return c.Weight })
}

const (
	resamples = 1000 // number of bootstrap resamples, enough for two stable digits of an interval
	fewest    = 6    // minimum number of trials for a confidence interval
)

// scores returns the scores from best to worst. A candidate shares the rank of a better one unless the confidence interval of
// their score difference is above 0. If there are not enough trials for a confidence interval, the candidates share a rank.
func (s *scoring) scores() []selection.Score {
	parts, weights := s.parts(median), s.weights()
	drawn := s.resampled(weights)
	list, order := make([]selection.Score, len(s.options)), lo.Range(len(s.options))
	for i, o := range s.options {
		list[i] = selection.Score{Option: o, Score: round(weigh(parts[i], weights), 4), Parts: map[string]float64{}}
		for k, c := range s.by {
			list[i].Parts[c.Name] = round(parts[i][k], 4)
		}
		if s.enough(o) {
			list[i].Low, list[i].High = interval(drawn[i])
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(list[b].Score, list[a].Score) })
	sorted, first := []selection.Score{}, 0
	for place, i := range order {
		best := order[first]
		if s.enough(s.options[best]) && s.enough(s.options[i]) {
			if low, _ := interval(lo.Times(resamples, func(r int) float64 { return drawn[best][r] - drawn[i][r] })); *low > 0 {
				first = place
			}
		}
		list[i].Rank = 1 + first
		sorted = append(sorted, list[i])
	}
	return sorted
}

// enough reports whether the figures of a candidate have enough trials for a confidence interval. Criteria with weight 0,
// unknown values and recovery times are ignored.
func (s *scoring) enough(option string) bool {
	return lo.EveryBy(s.by, func(c criterion) bool {
		v := s.values[option][c.Name]
		return c.Weight == 0 || v.unknown != "" || c.Metric == selection.RecoveryMetric || len(v.values) >= fewest
	})
}

// resampled returns the scores computed from bootstrap resamples of the trials. All candidates use the same random numbers.
func (s *scoring) resampled(weights []float64) [][]float64 {
	most := 0
	for _, of := range s.values {
		for _, v := range of {
			most = max(most, len(v.values))
		}
	}
	drawn := make([][]float64, len(s.options))
	r := rand.New(rand.NewPCG(1, 2))
	for range resamples {
		at := lo.Times(most, func(int) float64 { return r.Float64() }) // random indexes of the resampled trials, scaled to [0, 1)
		for i, parts := range s.parts(func(v value) float64 { return drawnMedian(v.values, at) }) {
			drawn[i] = append(drawn[i], weigh(parts, weights))
		}
	}
	return drawn
}

// drawnMedian returns the median of a bootstrap resample of values. Element i of the resample is the value with
// index at[i]*len(values), rounded down.
func drawnMedian(values, at []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	drawn := lo.Times(n, func(i int) float64 { return values[int(at[i]*float64(n))] })
	slices.Sort(drawn)
	return (drawn[(n-1)/2] + drawn[n/2]) / 2
}

func interval(values []float64) (low, high *float64) {
	sorted := slices.Sorted(slices.Values(values))
	return four(sorted[len(sorted)*25/1000]), four(sorted[len(sorted)*975/1000])
}
