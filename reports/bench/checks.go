package bench

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"lockbench/reports/format"
	"lockbench/reports/stats"
)

const (
	delayTolerance = 0.10
	stallPart      = 0.5
	againAlpha     = 0.01
)

// FewestBlocks is the minimum number of trials per lock for the self-check "same-lock-twice". With n trials, the
// smallest possible p-value is 2/2^n.
const FewestBlocks = 8

// checks returns the results of the self-checks. A missing self-check counts as failed, unless the bench has no locks.
func (r *Results) checks() []Check {
	judgesLocks := len(r.withRole(Lock)) > 0
	checks := []Check{}
	for _, control := range []struct {
		role      Role
		name, doc string
		seen      func(Subject) (string, bool)
	}{
		{Control, "broken-lock", "a known-broken lock is detected in every trial with a hand-off, and in at least one", r.brokenSeen},
		{Delayed, "known-delay", "a delay that was added is measured to within 10 %, in the uncontended latency", r.delayFound},
		{Stalled, "stalled-generator", "a generator that is stopped on purpose is noticed in every trial, at half that time or more", r.stallNoticed},
		{Again, "same-lock-twice", "a lock that is measured twice does not differ from itself in goodput (p < 0.01 over all points)", r.sameTwice},
	} {
		subjects := r.withRole(control.role)
		if len(subjects) == 0 && !judgesLocks {
			continue
		}
		c := Check{Name: control.name, Doc: control.doc, OK: len(subjects) > 0}
		c.Seen = cmp.Or(strings.Join(collect(subjects, func(s Subject) string {
			text, ok := control.seen(s)
			c.OK = c.OK && ok
			return text
		}), "; "), "missing: the bench has no such subject")
		checks = append(checks, c)
	}
	if r.Plan.Agents > 1 { // a single agent has one clock
		checks = append(checks, r.clocks())
	}
	return checks
}

// clocks returns what is known about the clocks of the agents that ran the clients.
func (r *Results) clocks() Check {
	var all []float64
	grants, hidden := 0, 0
	for _, t := range r.Trials {
		if t.Agents == nil || len(t.Agents.Names) < 2 {
			continue
		}
		all = append(all, float64(t.Agents.UncertaintyNS)/1e6)
		if s, ok := r.Plan.Subject(t.Subject); ok && s.Role == Lock {
			grants, hidden = grants+t.Agents.Grants, hidden+t.Agents.Hidden
		}
	}
	c := Check{Name: "clocks", Doc: "the difference of the agents' clocks is bounded in every trial, and holds are shortened by the uncertainty", OK: len(all) > 0}
	if !c.OK {
		c.Seen = "inconclusive, no trial ran on several agents"
		return c
	}
	c.Seen = fmt.Sprintf("uncertain by %.2g ms in the median and %.2g ms at most, in %d trials; %s of %s holds of locks were shorter than that, and cannot show a violation",
		stats.Median(all), slices.Max(all), len(all), format.Count(hidden), format.Count(grants))
	return c
}

func (r *Results) withheld() (why []string) {
	for _, c := range r.Checks {
		if !c.OK {
			why = append(why, c.Name+": "+c.Seen)
		}
	}
	for _, t := range r.Trials {
		if t.Judged != nil && t.Judged.Disagree {
			why = append(why, fmt.Sprintf("monitor and oracle disagree on %s: a bug of lockbench", t.Dir))
		}
	}
	return why
}

func (r *Results) withRole(role Role) []Subject {
	return filter(r.Plan.Subjects, func(s Subject) bool {
		return s.Role == role && slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Subject == s.Name })
	})
}

func (r *Results) trialsOf(s Subject) []*Trial {
	return filter(r.Trials, func(t *Trial) bool { return t.Subject == s.Name && t.Discarded == "" })
}

// brokenSeen reports whether the known-broken lock was detected in every relevant trial. A trial is relevant if clients
// shared keys, and a hand-off or a violation happened. brokenSeen also returns a sentence with the number of trials.
func (r *Results) brokenSeen(s Subject) (string, bool) {
	trials, detected, property := 0, 0, ""
	for _, t := range r.trialsOf(s) {
		p, _ := r.Plan.Point(t.Point)
		violated, handedOver := t.Unsafe(), t.Figures["owner_changes"] > 0 || t.Curves["hand-off"] != ""
		if !p.Contended() || violated == nil && !handedOver {
			continue
		}
		if trials++; violated != nil {
			detected, property = detected+1, " ("+violated.Property+")"
		}
	}
	if trials == 0 {
		return s.Name + ": inconclusive, no trial has a hand-off", false
	}
	return fmt.Sprintf("%s: detected in %d of %d trials%s", s.Name, detected, trials, property), detected == trials
}

func (r *Results) delayFound(s Subject) (string, bool) {
	delay, err := time.ParseDuration(s.Params["delay"])
	twin, found := r.twin(s)
	if err != nil || delay <= 0 || !found {
		return s.Name + ": inconclusive, it states no delay or is not measured without it", false
	}
	var differences []float64
	for _, p := range r.Plan.Points {
		a, b, _ := r.matched(s, twin, p, "uncontended_p50")
		for i := range a {
			differences = append(differences, a[i]-b[i])
		}
	}
	if len(differences) == 0 {
		return s.Name + ": inconclusive, no block has both", false
	}
	want, got := float64(delay)/1e6, stats.Median(differences)
	return fmt.Sprintf("%s: %.3g ms of %.3g ms, in %d pairs", s.Name, got, want, len(differences)), math.Abs(got-want) <= delayTolerance*want
}

// twin returns the ordinary lock with which a self-check is compared. The self-check runs the same lock, either
// unchanged or with an added delay or stall.
func (r *Results) twin(s Subject) (Subject, bool) {
	params := func(of Subject) map[string]string {
		own := maps.Clone(of.Params)
		maps.DeleteFunc(own, func(k, v string) bool { return (k == "delay" || k == "stall") && s.Params[k] == v })
		return own
	}
	return find(r.Plan.Subjects, func(o Subject) bool {
		return o.Role == Lock && o.Lock == s.Lock && o.Deployment == s.Deployment && maps.Equal(params(o), params(s))
	})
}

// stallNoticed reports whether every trial measured at least half of the injected stall. It also returns a sentence
// with the result.
func (r *Results) stallNoticed(s Subject) (string, bool) {
	stall, err := time.ParseDuration(s.Params["stall"])
	least, trials := math.Inf(1), r.trialsOf(s)
	for _, t := range trials {
		least = min(least, max(t.Figures["late_max"], t.Figures["stall_max"]))
	}
	if err != nil || stall <= 0 || len(trials) == 0 {
		return s.Name + ": inconclusive, it states no stall or has no trial", false
	}
	of := float64(stall) / 1e6
	return fmt.Sprintf("%s: at least %.3g ms of %.3g ms noticed, in %d trials", s.Name, least, of, len(trials)), least >= stallPart*of
}

// sameTwice reports whether two measurements of the same lock agree in goodput. For each block (round of measurements),
// it averages the log ratios over all conditions, and then tests the averages. A separate test for each set of
// conditions would need more blocks.
func (r *Results) sameTwice(s Subject) (string, bool) {
	twin, found := r.twin(s)
	if !found {
		return "not measured beside its lock", false
	}
	ratios, points := map[int][]float64{}, 0 // logarithms of the goodput ratios of s and twin, by block (round of measurements)
	for _, p := range r.Plan.Points {
		va, vb, blocks := r.matched(s, twin, p, rankedBy)
		if len(va) == 0 || slices.Min(va) <= 0 || slices.Min(vb) <= 0 {
			continue
		}
		points++
		for i, block := range blocks {
			ratios[block] = append(ratios[block], math.Log(va[i]/vb[i]))
		}
	}
	means := collect(slices.Sorted(maps.Keys(ratios)), func(block int) float64 { return stat.Mean(ratios[block], nil) })
	if len(means) < FewestBlocks {
		return fmt.Sprintf("inconclusive: %s and %s have %d blocks in common, too few to show a difference (it takes %d)", s.Name, twin.Name, len(means), FewestBlocks), false
	}
	p := stats.SignFlip(means, r.Plan.Seed)
	return fmt.Sprintf("%s against %s: ratio %.3f over %s and %d blocks, p %.2g", s.Name, twin.Name, math.Exp(stats.Median(means)), format.Plural(points, "condition"), len(means), p), p >= againAlpha
}

// matched returns the values of a metric for two locks under the same conditions. It uses only blocks (rounds of
// measurements) that include both locks.
func (r *Results) matched(a, b Subject, at Point, metric string) (va, vb []float64, blocks []int) {
	rowA, okA := r.Row(a.Name, at.ID)
	rowB, okB := r.Row(b.Name, at.ID)
	if !okA || !okB {
		return nil, nil, nil
	}
	return stats.Matched(rowA.Estimates[metric], rowB.Estimates[metric])
}
