package decision

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/reports/format"
)

// variation is another answer to one need.
type variation struct {
	need, value string
	change      func(*Needs)
}

// variations are other answers that a team might give, each to one need.
func variations(n Needs) []variation {
	list := []variation{
		{"if_two_hold", string(otherHarm(n.TwoHold)), func(n *Needs) { n.TwoHold = otherHarm(n.TwoHold) }},
		{"recovery_within", (n.Recovery / 10).String(), func(n *Needs) { n.Recovery /= 10 }},
		{"pauses.longest", (10 * n.Pauses.Longest).String(), func(n *Needs) { n.Pauses.Longest *= 10 }},
		{"hold.max", (10 * n.Hold.Max).String(), func(n *Needs) { n.Hold.Max *= 10 }},
		{"fair", fmt.Sprint(!n.Fair), func(n *Needs) { n.Fair = !n.Fair }},
		{"reenters", fmt.Sprint(!n.Reenters), func(n *Needs) { n.Reenters = !n.Reenters }},
	}
	for _, f := range []Check{NoCheck, OnWrites, OnAll} {
		if f != n.Fence {
			list = append(list, variation{"checks_fence", string(f), func(n *Needs) { n.Fence = f }})
		}
	}
	for _, m := range []Means{Idempotent, Compare, Row} {
		with := toggled(n.Instead, m)
		list = append(list, variation{"instead", bracketed(with), func(n *Needs) { n.Instead, n.Assumed = with, stated(n.Assumed, "instead") }})
	}
	for _, t := range []Trouble{Restart, Failover, Clock, Eviction} {
		with := toggled(n.Survives, t)
		list = append(list, variation{"survives_store", bracketed(with), func(n *Needs) { n.Survives = with }})
	}
	return list
}

func otherHarm(h Harm) Harm {
	if h == Corruption {
		return WastedWork
	}
	return Corruption
}

// toggled is a list with something more, or without it.
func toggled[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return slices.DeleteFunc(slices.Clone(list), func(o T) bool { return o == v })
	}
	return append(slices.Clone(list), v)
}

func bracketed[T ~string](list []T) string {
	var words []string
	for _, v := range list {
		words = append(words, string(v))
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// stated is what is assumed but for a need that somebody states.
func stated(assumed []string, need string) []string {
	return slices.DeleteFunc(slices.Clone(assumed), func(a string) bool { return a == need })
}

// changes tries other answers, each by itself, on the same evidence, and keeps what would come out otherwise.
func (d *deciding) changes(now Decision) []Change {
	list := []Change{}
	for _, v := range variations(d.needs) {
		n := d.needs
		v.change(&n)
		then := newDeciding(n, d.options, d.Evidence).decide().Decision
		if then.Outcome == now.Outcome && slices.Equal(then.Recommended, now.Recommended) && (then.Outcome != NoLockNeeded || slices.Equal(then.Lock, now.Lock)) {
			continue
		}
		list = append(list, Change{Need: v.need, Value: v.value, Outcome: then.Outcome, Recommended: then.Recommended,
			Text: first(came(then)) + "."})
	}
	return list
}

// came is what a decision came to, in a few words.
func came(d Decision) string {
	switch d.Outcome {
	case NothingFits:
		if n := unsure(d.Out); n > 0 {
			return fmt.Sprintf("nothing is known to fit; of %s it is not known, for want of evidence", plural(n, "option"))
		}
		best := leastOut(d)
		return fmt.Sprintf("nothing fits; nearest is %s, which does not meet %s", best.Option, format.Joined(best.Fails))
	case ATie:
		return format.Joined(d.Recommended) + " cannot be told apart"
	case NoLockNeeded:
		text := "no lock is needed: " + d.Recommended[0]
		if len(d.Lock) > 0 {
			text += ", or " + format.Joined(d.Lock)
		}
		return text
	}
	return d.Recommended[0] + " is ahead"
}

// unsure counts the options that are out only because something is not known.
func unsure(out []Knockout) int {
	n := 0
	for _, k := range out {
		if len(k.Fails) == 0 {
			n++
		}
	}
	return n
}
