package decision

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

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

type variation struct {
	need, value string
	change      func(*selection.Needs)
}

// variations are other answers that a team might give, each to one need.
func variations(n selection.Needs) []variation {
	list := []variation{
		{"if_two_hold", string(otherHarm(n.TwoHold)), func(n *selection.Needs) { n.TwoHold = otherHarm(n.TwoHold) }},
		{"recovery_within", (n.Recovery / 10).String(), func(n *selection.Needs) { n.Recovery /= 10 }},
		{"pauses.longest", (10 * n.Pauses.Longest).String(), func(n *selection.Needs) { n.Pauses.Longest *= 10 }},
		{"hold.max", (10 * n.Hold.Max).String(), func(n *selection.Needs) { n.Hold.Max *= 10 }},
		{"fair", fmt.Sprint(!n.Fair), func(n *selection.Needs) { n.Fair = !n.Fair }},
		{"reenters", fmt.Sprint(!n.Reenters), func(n *selection.Needs) { n.Reenters = !n.Reenters }},
	}
	for _, f := range []selection.Check{selection.NoCheck, selection.OnWrites, selection.OnAll} {
		if f != n.Fence {
			list = append(list, variation{"checks_fence", string(f), func(n *selection.Needs) { n.Fence = f }})
		}
	}
	for _, m := range []selection.Means{selection.Idempotent, selection.Compare, selection.Row} {
		with := toggled(n.Instead, m)
		list = append(list, variation{"instead", bracketed(with), func(n *selection.Needs) { n.Instead, n.Assumed = with, stated(n.Assumed, "instead") }})
	}
	for _, t := range []selection.Trouble{selection.Restart, selection.Failover, selection.Clock, selection.Eviction} {
		with := toggled(n.Survives, t)
		list = append(list, variation{"survives_store", bracketed(with), func(n *selection.Needs) { n.Survives = with }})
	}
	return list
}

func otherHarm(h selection.Harm) selection.Harm {
	if h == selection.Corruption {
		return selection.WastedWork
	}
	return selection.Corruption
}

// toggled returns a list with v, or without it if it has it.
func toggled[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return slices.DeleteFunc(slices.Clone(list), func(o T) bool { return o == v })
	}
	return append(slices.Clone(list), v)
}

func bracketed[T ~string](list []T) string { return strings.ReplaceAll(fmt.Sprint(list), " ", ", ") }

// stated returns the needs that are still assumed when one of them is stated.
func stated(assumed []string, need string) []string {
	return slices.DeleteFunc(slices.Clone(assumed), func(a string) bool { return a == need })
}

// changes tries other answers, each by itself, on the same evidence, and returns those that change the outcome.
func (d *deciding) changes(now selection.Decision) []selection.Change {
	list := []selection.Change{}
	for _, v := range variations(d.needs) {
		n := d.needs
		v.change(&n)
		then := newDeciding(n, d.options, d.Evidence).decide().Decision
		if then.Outcome == now.Outcome && slices.Equal(then.Recommended, now.Recommended) && (then.Outcome != selection.NoLockNeeded || slices.Equal(then.Lock, now.Lock)) {
			continue
		}
		list = append(list, selection.Change{Need: v.need, Value: v.value, Outcome: then.Outcome, Recommended: then.Recommended, Lock: then.Lock})
	}
	return list
}
