package bench

import (
	"fmt"
	"lockbench/reports/stats"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// What the controls must show.
const (
	delayTolerance = 0.10
	stallPart      = 0.5
	againAlpha     = 0.01
)

// checks are the bench's controls, in display order. A bench that judges no lock needs none that it does not carry.
func (r *Results) checks() []Check {
	judgesLocks := len(r.withRole(Lock)) > 0
	checks := []Check{}
	for _, control := range []struct {
		role      Role
		name, doc string
		seen      func([]Subject) (string, bool)
	}{
		{Control, "broken-lock", "a lock that is known to be broken is seen to break, in every trial in which the lock changed hands", r.brokenSeen},
		{Delayed, "known-delay", "a delay that was put in is found again, within 10 %, in the uncontended latency", r.delayFound},
		{Stalled, "stalled-generator", "a generator that stands still on purpose is noticed, at half the time it stands still or more, in every trial", r.stallNoticed},
		{Again, "same-lock-twice", "a lock that is measured twice is not told apart from itself by its goodput (p < 0.01, over all points together)", r.sameTwice},
	} {
		subjects := r.withRole(control.role)
		c := Check{Name: control.name, Doc: control.doc}
		switch {
		case len(subjects) > 0:
			c.Seen, c.OK = control.seen(subjects)
		case judgesLocks:
			c.Seen = "not carried: the bench has no such subject"
		default:
			continue
		}
		checks = append(checks, c)
	}
	return checks
}

// withheld is why no figure is shown.
func (r *Results) withheld() []string {
	var why []string
	for _, c := range r.Checks {
		if !c.OK {
			why = append(why, fmt.Sprintf("%s: %s", c.Name, c.Seen))
		}
	}
	for _, t := range r.Trials {
		if t.Judged != nil && t.Judged.Disagree {
			why = append(why, fmt.Sprintf("monitor and oracle disagree on %s: a fault of lockbench", t.Dir))
		}
	}
	return why
}

// withRole are the subjects that are measured somewhere in this role.
func (r *Results) withRole(role Role) []Subject {
	var all []Subject
	for i, s := range r.Plan.Subjects {
		if s.Role == role && slices.ContainsFunc(r.Plan.Pairs, func(p Pair) bool { return p.Subject == i }) {
			all = append(all, s)
		}
	}
	return all
}

// brokenSeen looks at the trials in which the lock went from one client to another: only those can show anything.
func (r *Results) brokenSeen(subjects []Subject) (string, bool) {
	var seen []string
	ok := true
	for _, s := range subjects {
		trials, caught := 0, 0
		var property string
		for _, p := range r.Plan.Points {
			if !p.Contended() {
				continue
			}
			for _, t := range r.counted(s.Name, p.ID) {
				v := t.Unsafe()
				if v != nil {
					property = v.Property
					caught++
				}
				if v != nil || t.handedOver() {
					trials++
				}
			}
		}
		if trials == 0 {
			seen = append(seen, s.Name+": not shown, no trial has a hand-over")
			ok = false
			continue
		}
		ok = ok && caught == trials
		text := fmt.Sprintf("%s: seen to break in %d of %d trials", s.Name, caught, trials)
		if property != "" {
			text += " (" + property + ")"
		}
		seen = append(seen, text)
	}
	return strings.Join(seen, "; "), ok
}

// handedOver tells whether the lock went from one client to another.
func (t *Trial) handedOver() bool {
	return t.Figures["owner_changes"] > 0 || t.Curves["hand-off"] != ""
}

// delayFound pairs a delayed lock with the same one without the delay.
func (r *Results) delayFound(subjects []Subject) (string, bool) {
	const metric = "uncontended_p50"
	var seen []string
	ok := true
	for _, s := range subjects {
		delay, err := time.ParseDuration(s.Params["delay"])
		twin, found := r.twin(s)
		if err != nil || delay <= 0 || !found {
			seen = append(seen, s.Name+": not shown, it states no delay or is not measured without it")
			ok = false
			continue
		}
		var differences []float64
		for _, p := range r.Plan.Points {
			a, b := stats.Matched(estimateOver(r.counted(s.Name, p.ID), metric), estimateOver(r.counted(twin.Name, p.ID), metric))
			for i := range a {
				differences = append(differences, a[i]-b[i])
			}
		}
		if len(differences) == 0 {
			seen = append(seen, s.Name+": not shown, no block has both")
			ok = false
			continue
		}
		want, got := float64(delay)/1e6, stats.Median(differences)
		ok = ok && math.Abs(got-want) <= delayTolerance*want
		seen = append(seen, fmt.Sprintf("%s: %.3g ms of %.3g ms, in %d pairs", s.Name, got, want, len(differences)))
	}
	return strings.Join(seen, "; "), ok
}

// twin is the lock that a control is made of.
func (r *Results) twin(s Subject) (Subject, bool) {
	same := func(o Subject) bool { return o.Role == Lock && o.Lock == s.Lock && o.Deployment == s.Deployment }
	alike := func(o Subject) bool { // but for what makes it a control
		for k, v := range o.Params {
			if s.Params[k] != v {
				return false
			}
		}
		for k := range s.Params {
			if _, there := o.Params[k]; !there && k != "delay" && k != "stall" {
				return false
			}
		}
		return same(o)
	}
	if i := slices.IndexFunc(r.Plan.Subjects, alike); i >= 0 {
		return r.Plan.Subjects[i], true
	}
	return Subject{}, false
}

// stallNoticed wants the pause in one of the generator's own figures.
func (r *Results) stallNoticed(subjects []Subject) (string, bool) {
	var seen []string
	ok := true
	for _, s := range subjects {
		stall, err := time.ParseDuration(s.Params["stall"])
		least, trials := math.Inf(1), 0
		for _, p := range r.Plan.Points {
			for _, t := range r.counted(s.Name, p.ID) {
				trials++
				least = min(least, max(t.Figures["late_max"], t.Figures["stall_max"]))
			}
		}
		if err != nil || stall <= 0 || trials == 0 {
			seen = append(seen, s.Name+": not shown, it states no stall or has no trial")
			ok = false
			continue
		}
		of := float64(stall) / 1e6
		ok = ok && least >= stallPart*of
		seen = append(seen, fmt.Sprintf("%s: at least %.3g ms of %.3g ms noticed, in %d trials", s.Name, least, of, trials))
	}
	return strings.Join(seen, "; "), ok
}

// sameTwice compares each lock with itself, block by block over all points where both were measured.
func (r *Results) sameTwice(subjects []Subject) (string, bool) {
	var seen []string
	ok := true
	for _, s := range subjects {
		text, same := "not measured beside its lock", false
		if twin, found := r.twin(s); found {
			text, same = r.same(s, twin)
		}
		seen = append(seen, text)
		ok = ok && same
	}
	return strings.Join(seen, "; "), ok
}

// same compares a lock with itself: of each block the mean of the log ratios of all points. Points are not tested one by
// one, for that would take more blocks: the least p-value that there is only halves with each.
func (r *Results) same(s, twin Subject) (string, bool) {
	sums, counts, points := map[int]float64{}, map[int]int{}, 0
	for _, p := range r.Plan.Points {
		a, b := estimateOver(r.counted(s.Name, p.ID), rankedBy), estimateOver(r.counted(twin.Name, p.ID), rankedBy)
		va, vb := stats.Matched(a, b)
		if len(va) == 0 || !stats.Positive(va) || !stats.Positive(vb) {
			continue
		}
		points++
		blocks := slices.DeleteFunc(slices.Clone(a.Blocks), func(block int) bool { return !slices.Contains(b.Blocks, block) })
		for i, block := range blocks {
			sums[block] += math.Log(va[i] / vb[i])
			counts[block]++
		}
	}
	var means []float64
	for _, block := range slices.Sorted(maps.Keys(sums)) {
		means = append(means, sums[block]/float64(counts[block]))
	}
	if math.Pow(2, 1-float64(len(means))) >= againAlpha {
		return fmt.Sprintf("not shown: %s and %s have %d blocks in common, too few to be told apart however much they differ", s.Name, twin.Name, len(means)), false
	}
	p := stats.SignFlip(means, r.Plan.Seed)
	return fmt.Sprintf("%s against %s: ratio %.3f over %d points and %d blocks, p %.2g", s.Name, twin.Name, math.Exp(stats.Median(means)), points, len(means), p), p >= againAlpha
}
