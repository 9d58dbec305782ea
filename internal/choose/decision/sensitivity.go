package decision

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/samber/lo"

	"lockbench/reports/selection"
)

const steps = 10 // weights are multiples of 1/steps

// weightings counts for how many combinations of weights each candidate has the best score. All weights are multiples of 0.1
// and add up to 1. total is the number of combinations.
func (s *scoring) weightings() (total int, wins []selection.Win) {
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
	wins = lo.FilterMap(s.options, func(o string, i int) (selection.Win, bool) {
		return selection.Win{Option: o, Times: times[i], Share: round(float64(times[i])/float64(total), 4)}, times[i] > 0
	})
	slices.SortStableFunc(wins, func(a, b selection.Win) int { return cmp.Compare(b.Times, a.Times) })
	return total, wins
}

// leader returns the index of the candidate with the highest score. In a tie, it returns the first one.
func (s *scoring) leader(parts [][]float64, weights []float64) int {
	best := 0
	for i := range parts {
		if weigh(parts[i], weights) > weigh(parts[best], weights)+1e-12 {
			best = i
		}
	}
	return best
}

// turns returns the weights and measured values at which another candidate takes the lead. Only the measured values of the
// leading candidate are varied.
func (s *scoring) turns(leading string) []selection.Turn {
	if len(s.options) < 2 {
		return []selection.Turn{}
	}
	at := slices.Index(s.options, leading)
	weights := lo.FlatMap(s.by, func(_ criterion, k int) []selection.Turn { return s.weightTurns(at, k) })
	return append(weights, lo.FlatMap(s.by, func(_ criterion, k int) []selection.Turn { return s.valueTurn(at, k) })...)
}

// weightTurns varies the weight of one criterion. It returns the nearest lower and higher weights at which another candidate
// takes the lead. The other weights keep their proportions, so each score is a linear function of the varied weight.
func (s *scoring) weightTurns(leading, k int) []selection.Turn {
	parts, weights := s.parts(median), s.weights()
	rest := 1 - weights[k]
	if rest <= 1e-9 {
		return nil
	}
	others := func(i int) float64 { // others returns the score of candidate i in all criteria except k, whose weight is varied
		return (weigh(parts[i], weights) - weights[k]*parts[i][k]) / rest
	}
	nearest := func(direction float64) []selection.Turn { // direction is +1 for higher weights, -1 for lower weights
		var turn []selection.Turn
		least := math.Inf(1)
		for i := range parts {
			slope := (parts[i][k] - others(i)) - (parts[leading][k] - others(leading))
			if i == leading || slope*direction <= 0 {
				continue
			}
			w := (others(leading) - others(i)) / slope // weight at which both scores are equal
			if by := (w - weights[k]) * direction; w > 0 && w < 1 && by > 0 && by < least {
				least, turn = by, []selection.Turn{{Of: s.by[k].Name, Weight: four(w), To: s.options[i]}}
			}
		}
		return turn
	}
	return append(nearest(-1), nearest(+1)...)
}

const furthest = 100 // maximum factor by which a measured value is made worse, to see if another candidate takes the lead

// valueTurn returns the measured value at which the leading candidate loses the lead to another candidate. It varies only the
// value of the leading candidate in criterion k, from the actual value to worse values.
func (s *scoring) valueTurn(leading, k int) []selection.Turn {
	c := s.by[k]
	v := s.values[s.options[leading]][c.Name]
	if c.Weight == 0 || v.unknown != "" || v.median <= 0 {
		return nil
	}
	worsened := func(by float64) float64 { return v.median * math.Pow(by, float64(-c.Better)) }
	leaderAt := func(by float64) int {
		changed := s.withMedian(s.options[leading], c.Name, worsened(by))
		return changed.leader(changed.parts(median), s.weights())
	}
	if leaderAt(furthest) == leading {
		return nil
	}
	low, high := 1.0, float64(furthest)
	for range 60 {
		if mid := math.Sqrt(low * high); leaderAt(mid) == leading {
			low = mid
		} else {
			high = mid
		}
	}
	return []selection.Turn{{Of: c.Name, Option: s.options[leading], Value: four(worsened(high)), To: s.options[leaderAt(high)]}}
}

func (s *scoring) withMedian(option, criterion string, median float64) *scoring {
	changed := maps.Clone(s.values)
	changed[option] = maps.Clone(changed[option])
	v := changed[option][criterion]
	v.median = median
	changed[option][criterion] = v
	return &scoring{by: s.by, options: s.options, values: changed}
}

func four(v float64) *float64 { return lo.ToPtr(round(v, 4)) }

type variation struct {
	need, value string
	change      func(*selection.Needs)
}

// variations returns variations of the requirements. Each variation changes one requirement.
func variations(n selection.Needs) []variation {
	harm := lo.Ternary(n.TwoHold == selection.Corruption, selection.WastedWork, selection.Corruption)
	list := []variation{
		{"if_two_hold", string(harm), func(n *selection.Needs) { n.TwoHold = harm }},
		{"recovery_within", (n.Recovery / 10).String(), func(n *selection.Needs) { n.Recovery /= 10 }},
		{"pauses.longest", (10 * n.Pauses.Longest).String(), func(n *selection.Needs) { n.Pauses.Longest *= 10 }},
		{"hold.max", (10 * n.Hold.Max).String(), func(n *selection.Needs) { n.Hold.Max *= 10 }},
		{"fair", fmt.Sprint(!n.Fair), func(n *selection.Needs) { n.Fair = !n.Fair }},
		{"reenters", fmt.Sprint(!n.Reenters), func(n *selection.Needs) { n.Reenters = !n.Reenters }},
	}
	for _, f := range lo.Without([]selection.Check{selection.NoCheck, selection.OnWrites, selection.OnAll}, n.Fence) {
		list = append(list, variation{"checks_fence", string(f), func(n *selection.Needs) { n.Fence = f }})
	}
	for _, m := range []selection.Means{selection.Idempotent, selection.Compare, selection.Row} {
		with := toggled(n.Instead, m)
		list = append(list, variation{"instead", bracketed(with), func(n *selection.Needs) { n.Instead, n.Assumed = with, lo.Without(n.Assumed, "instead") }})
	}
	for _, t := range []selection.Trouble{selection.Restart, selection.Failover, selection.Clock, selection.Eviction} {
		with := toggled(n.Survives, t)
		list = append(list, variation{"survives_store", bracketed(with), func(n *selection.Needs) { n.Survives = with }})
	}
	return list
}

// toggled returns list without v if it contains v, and otherwise with v appended.
func toggled[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return lo.Without(list, v)
	}
	return append(slices.Clone(list), v)
}

func bracketed[T ~string](list []T) string { return strings.ReplaceAll(fmt.Sprint(list), " ", ", ") }

// changes returns the variations of the requirements for which the same evidence leads to another recommendation.
func (d *deciding) changes(now selection.Decision) []selection.Change {
	return lo.FilterMap(variations(d.needs), func(v variation, _ int) (selection.Change, bool) {
		n := d.needs
		v.change(&n)
		then := newDeciding(n, d.options, d.Evidence).decide().Decision
		same := then.Outcome == now.Outcome && slices.Equal(then.Recommended, now.Recommended) &&
			(then.Outcome != selection.NoLockNeeded || slices.Equal(then.Lock, now.Lock))
		return selection.Change{Need: v.need, Value: v.value, Outcome: then.Outcome, Recommended: then.Recommended, Lock: then.Lock}, !same
	})
}
