package decision

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/reports/selection"
)

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
