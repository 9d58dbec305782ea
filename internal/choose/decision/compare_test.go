package decision

import (
	"lockbench/reports/selection"
	"lockbench/reports/stats"
	"testing"
)

// twoLocks returns a comparison of two locks, named "a" and "b". The parameter goodput holds their goodputs, which vary
// between trials by at most 10 %.
func twoLocks(goodput [2]float64, trials int) *scoring {
	s := &scoring{by: weighed(selection.Needs{Weights: map[string]float64{"acquire": 0, "wait": 0, "fairness": 0, "recovery": 0, "commands": 0}}),
		options: []string{"a", "b"}, values: map[string]map[string]value{}}
	for i, o := range s.options {
		v := value{}
		var blocks []int
		for n := range trials {
			v.values = append(v.values, goodput[i]*(1+0.05*float64((n*(2+i))%5-2)))
			blocks = append(blocks, n)
		}
		e := stats.EstimateOf(v.values, blocks)
		v.median, v.low, v.high = e.Median, e.Low, e.High
		s.values[o] = map[string]value{"goodput": v}
	}
	return s
}

// TestRanks checks that two locks get different ranks only if their difference exceeds the noise and both have enough trials.
func TestRanks(t *testing.T) {
	for _, c := range []struct {
		goodput [2]float64
		trials  int
		second  int // expected rank of the second lock
	}{{[2]float64{100, 50}, 8, 2}, {[2]float64{100, 99}, 8, 1}, {[2]float64{100, 50}, 5, 1}} {
		scores := twoLocks(c.goodput, c.trials).scores()
		if scores[0].Option != "a" || scores[0].Rank != 1 || scores[1].Rank != c.second {
			t.Errorf("%v of %d trials: %+v", c.goodput, c.trials, scores)
		}
	}
}

// TestTurns checks the points at which the recommendation changes to another lock. Such a point is a weight or a
// measured value. Both locks must have the same score at each point.
func TestTurns(t *testing.T) {
	n := selection.Needs{Weights: map[string]float64{"goodput": 1, "commands": 1, "acquire": 0, "wait": 0, "fairness": 0, "recovery": 0}}
	s := &scoring{by: weighed(n), options: []string{"a", "b"}, values: map[string]map[string]value{
		"a": {"goodput": {median: 100}, "commands": {median: 20}},
		"b": {"goodput": {median: 60}, "commands": {median: 10}},
	}}
	// Relative scores: goodput 1 (a) and 0.6 (b), commands 0.5 (a) and 1 (b). With weight w for commands, a scores 1-w+0.5w and b
	// scores 0.6(1-w)+w.
	leading := s.options[s.leader(s.parts(median), s.weights())]
	if leading != "b" {
		t.Fatalf("%s leads", leading)
	}
	const appliesTo = 4.0 / 9
	found, over := false, false
	for _, turn := range s.turns("b") {
		if turn.Weight != nil && turn.Of == "commands" {
			found = true
			if d := *turn.Weight - appliesTo; turn.To != "a" || d > 1e-3 || d < -1e-3 {
				t.Errorf("%+v, want %v", turn, appliesTo)
			}
		}
		if d := 5.0 / 9; turn.Weight != nil && turn.Of == "goodput" {
			over = turn.To == "a" && *turn.Weight > d-1e-3 && *turn.Weight < d+1e-3
		}
		if turn.Value != nil && turn.Of == "goodput" { // the score of the lock named "a" is 0.75
			if d := *turn.Value - 50; d > 0.1 || d < -0.1 {
				t.Errorf("%+v, want 50", turn)
			}
		}
	}
	if !found || !over {
		t.Errorf("missing weights: %+v", s.turns("b"))
	}
	total, wins := s.weightings()
	if total != 3003 || wins[0].Option != "b" || wins[0].Times+wins[1].Times != total {
		t.Errorf("%d weightings, %+v", total, wins)
	}
}

// TestEnough checks that values better than Criterion.Enough get the same score as Enough.
func TestEnough(t *testing.T) {
	s := twoLocks([2]float64{1000, 500}, 8)
	for i := range s.by {
		s.by[i].Enough = 100
	}
	if scores := s.scores(); scores[0].Score != 1 || scores[1].Score != 1 {
		t.Errorf("%+v", scores)
	}
}
