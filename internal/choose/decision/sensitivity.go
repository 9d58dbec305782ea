package decision

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"lockbench/reports/selection"
)

// steps is into how many parts all weight is split: tenths.
const steps = 10

// weighings tries every way to split all weight among the criteria, in tenths, and counts who is ahead. The weights of the
// needs are one of many that somebody could defend.
func (s *scoring) weighings() (total int, wins []selection.Win) {
	parts := s.parts(median)
	times := make([]int, len(s.options))
	weights := make([]float64, len(s.by))
	var split func(k, left int)
	split = func(k, left int) {
		if k == len(weights)-1 {
			weights[k] = float64(left) / steps
			times[s.leader(parts, weights)]++
			total++
			return
		}
		for n := range left + 1 {
			weights[k] = float64(n) / steps
			split(k+1, left-n)
		}
	}
	split(0, steps)
	wins = []selection.Win{}
	for i, o := range s.options {
		if times[i] > 0 {
			wins = append(wins, selection.Win{Option: o, Times: times[i], Share: round(float64(times[i])/float64(total), 4)})
		}
	}
	slices.SortStableFunc(wins, func(a, b selection.Win) int { return cmp.Compare(b.Times, a.Times) })
	return total, wins
}

// leader is the option with the highest score; the first of several.
func (s *scoring) leader(parts [][]float64, weights []float64) int {
	best := 0
	for i := range parts {
		if weigh(parts[i], weights) > weigh(parts[best], weights)+1e-12 {
			best = i
		}
	}
	return best
}

// turns are the weights, and the measured values of who is ahead, at which somebody else is.
func (s *scoring) turns(ahead string) []selection.Turn {
	list := []selection.Turn{}
	if len(s.options) < 2 {
		return list
	}
	at := slices.Index(s.options, ahead)
	for k := range s.by {
		list = append(list, s.weightTurns(at, k)...)
	}
	for k := range s.by {
		if t := s.valueTurn(at, k); t != nil {
			list = append(list, *t)
		}
	}
	return list
}

// weightTurns finds the nearest weights of a criterion, above and below its own, at which another option is ahead. The
// others keep their proportions, so that every score is a straight line over the weight.
func (s *scoring) weightTurns(ahead, k int) []selection.Turn {
	parts, weights := s.parts(median), s.weights()
	rest := 1 - weights[k]
	if rest <= 1e-9 {
		return nil
	}
	others := func(i int) float64 { // the score by all other criteria
		return (weigh(parts[i], weights) - weights[k]*parts[i][k]) / rest
	}
	nearest := func(direction float64) []selection.Turn { // of the weights above, or below
		var turn []selection.Turn
		least := math.Inf(1)
		for i := range parts {
			slope := (parts[i][k] - others(i)) - (parts[ahead][k] - others(ahead))
			if i == ahead || slope*direction <= 0 {
				continue
			}
			w := (others(ahead) - others(i)) / slope // where the lines meet
			if by := (w - weights[k]) * direction; w > 0 && w < 1 && by > 0 && by < least {
				least, turn = by, []selection.Turn{{Of: s.by[k].Name, Weight: four(w), To: s.options[i]}}
			}
		}
		return turn
	}
	return append(nearest(-1), nearest(+1)...)
}

// furthest is by how much a measured value is worsened in the search for one that would change the winner.
const furthest = 100

// valueTurn finds how much worse a value of who is ahead must be for another to be ahead.
func (s *scoring) valueTurn(ahead, k int) *selection.Turn {
	c := s.by[k]
	v := s.values[s.options[ahead]][c.Name]
	if c.Weight == 0 || v.unknown != "" || v.median <= 0 {
		return nil
	}
	worsened := func(by float64) float64 {
		if c.Better > 0 {
			return v.median / by
		}
		return v.median * by
	}
	leaderAt := func(by float64) int {
		changed := s.with(s.options[ahead], c.Name, worsened(by))
		return changed.leader(changed.parts(median), s.weights())
	}
	if leaderAt(furthest) == ahead {
		return nil
	}
	low, high := 1.0, float64(furthest)
	for range 60 {
		if mid := math.Sqrt(low * high); leaderAt(mid) == ahead {
			low = mid
		} else {
			high = mid
		}
	}
	return &selection.Turn{Of: c.Name, Option: s.options[ahead], Value: four(worsened(high)), To: s.options[leaderAt(high)]}
}

// with is the same comparison with another value of one option.
func (s *scoring) with(option, criterion string, median float64) *scoring {
	changed := maps.Clone(s.values)
	changed[option] = maps.Clone(changed[option])
	v := changed[option][criterion]
	v.median = median
	changed[option][criterion] = v
	return &scoring{by: s.by, options: s.options, values: changed}
}

func four(v float64) *float64 {
	r := round(v, 4)
	return &r
}
