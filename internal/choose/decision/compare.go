package decision

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"lockbench/reports/selection"
)

func (d *deciding) compare(to *selection.Decision, locks []selection.Option, values map[string]map[string]value) {
	to.Dominated, to.Scores, to.Wins, to.Turns = []selection.Dominated{}, []selection.Score{}, []selection.Win{}, []selection.Turn{}
	var left []string
	for _, o := range names(locks) {
		if by := d.dominates(names(locks), values, o); by != nil {
			to.Dominated = append(to.Dominated, *by)
		} else {
			left = append(left, o)
		}
	}
	if len(left) > 0 {
		d.scoring = &scoring{by: d.by, options: left, values: values}
		to.Scores = d.scoring.scores()
	}
}

// dominates finds a lock that is as good as o in every criterion that counts, and better in one beyond noise. Medians alone
// would set a lock aside for a difference that is none.
func (d *deciding) dominates(locks []string, values map[string]map[string]value, o string) *selection.Dominated {
	for _, other := range locks {
		better := ""
		for _, c := range d.by {
			if c.Weight == 0 {
				continue
			}
			a, b := values[other][c.Name], values[o][c.Name]
			if a.unknown != "" || b.unknown != "" || c.worse(c.counted(a.median), c.counted(b.median)) {
				better = ""
				break
			}
			if c.beyondNoise(a, b) {
				better = cmp.Or(better, c.Name)
			}
		}
		if better != "" {
			return &selection.Dominated{Option: o, By: other, In: better}
		}
	}
	return nil
}

func (c criterion) worse(a, b float64) bool { return float64(c.Better)*(a-b) < 0 }

// beyondNoise reports whether a is better than b, by intervals that do not meet.
func (c criterion) beyondNoise(a, b value) bool {
	if a.low == nil || b.low == nil {
		return false
	}
	if c.Better > 0 {
		return c.counted(*a.low) > c.counted(*b.high)
	}
	return c.counted(*a.high) < c.counted(*b.low)
}

type scoring struct {
	by      []criterion
	options []string
	values  map[string]map[string]value
}

// parts are how close each option comes to the best of each criterion: 1 is the best. What is not known is 0: it is nobody's
// merit.
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
	if c.Better < 0 {
		v, best = best, v
	}
	return max(0, v/best)
}

func median(v value) float64 { return v.median }

func weigh(parts []float64, weights []float64) float64 {
	sum := 0.0
	for k, w := range weights {
		sum += w * parts[k]
	}
	return sum
}

func (s *scoring) weights() []float64 {
	var w []float64
	for _, c := range s.by {
		w = append(w, c.Weight)
	}
	return w
}

// The resampling of trials: enough that the third digit of an interval does not move.
const (
	resamples = 1000
	fewest    = 6 // trials that an interval takes
)

// scores are those of all options, from best to worst, with intervals over trials. Options that cannot be told from the first of
// a rank share it.
func (s *scoring) scores() []selection.Score {
	parts, weights := s.parts(median), s.weights()
	drawn := s.resampled(weights)
	list, order := make([]selection.Score, len(s.options)), make([]int, len(s.options))
	for i, o := range s.options {
		sc := selection.Score{Option: o, Score: round(weigh(parts[i], weights), 4), Parts: map[string]float64{}}
		for k, c := range s.by {
			sc.Parts[c.Name] = round(parts[i][k], 4)
		}
		if s.enough(o) {
			sc.Low, sc.High = interval(drawn[i])
		}
		list[i], order[i] = sc, i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(list[b].Score, list[a].Score) })
	sorted, first := []selection.Score{}, 0
	for place, i := range order {
		if s.apart(order[first], i, drawn) {
			first = place
		}
		list[i].Rank = 1 + first
		sorted = append(sorted, list[i])
	}
	return sorted
}

// apart reports whether one option's score is above another's, whatever trials are drawn.
func (s *scoring) apart(a, b int, drawn [][]float64) bool {
	if !s.enough(s.options[a]) || !s.enough(s.options[b]) {
		return false
	}
	diff := make([]float64, resamples)
	for r := range diff {
		diff[r] = drawn[a][r] - drawn[b][r]
	}
	low, _ := interval(diff)
	return *low > 0
}

// enough reports whether there are enough trials of every figure that counts. Recoveries are few and alike: what they differ
// by is the lease, and not the machine.
func (s *scoring) enough(option string) bool {
	for _, c := range s.by {
		v := s.values[option][c.Name]
		if c.Weight > 0 && v.unknown == "" && c.Metric != selection.RecoveryMetric && len(v.values) < fewest {
			return false
		}
	}
	return true
}

// resampled are scores over trials drawn anew, the same of each block for every option.
func (s *scoring) resampled(weights []float64) [][]float64 {
	most := 0
	for _, of := range s.values {
		for _, v := range of {
			most = max(most, len(v.values))
		}
	}
	drawn := make([][]float64, len(s.options))
	r := rand.New(rand.NewPCG(1, 2))
	at := make([]float64, most) // which trials are drawn, as parts of all there are
	for range resamples {
		for i := range at {
			at[i] = r.Float64()
		}
		for i, parts := range s.parts(func(v value) float64 { return drawnMedian(v.values, at) }) {
			drawn[i] = append(drawn[i], weigh(parts, weights))
		}
	}
	return drawn
}

// drawnMedian is the median of as many values, drawn where at says; 0 if there are none.
func drawnMedian(values, at []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	drawn := make([]float64, 0, 64)
	for i := range n {
		drawn = append(drawn, values[int(at[i]*float64(n))])
	}
	slices.Sort(drawn)
	return (drawn[(n-1)/2] + drawn[n/2]) / 2
}

// interval has 95 % of the values in it.
func interval(values []float64) (low, high *float64) {
	sorted := slices.Sorted(slices.Values(values))
	l, h := round(sorted[len(sorted)*25/1000], 4), round(sorted[len(sorted)*975/1000], 4)
	return &l, &h
}
