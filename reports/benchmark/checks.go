package benchmark

import (
	"cmp"
	"fmt"
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
		{Again, "same-lock-twice", "a lock that is measured twice is not told apart from itself by its goodput (p < 0.01, corrected over the points)", r.sameTwice},
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
			a, b := matched(estimateOver(r.counted(s.Name, p.ID), metric), estimateOver(r.counted(twin.Name, p.ID), metric))
			for i := range a {
				differences = append(differences, a[i]-b[i])
			}
		}
		if len(differences) == 0 {
			seen = append(seen, s.Name+": not shown, no block has both")
			ok = false
			continue
		}
		want, got := float64(delay)/1e6, median(differences)
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

// sameTwice compares each lock with itself wherever both were measured.
func (r *Results) sameTwice(subjects []Subject) (string, bool) {
	var all []*Comparison
	for _, s := range subjects {
		twin, found := r.twin(s)
		if !found {
			continue
		}
		for _, p := range r.Plan.Points {
			a, okA := r.Row(s.Name, p.ID)
			b, okB := r.Row(twin.Name, p.ID)
			if !okA || !okB {
				continue
			}
			if c := r.paired(a, b, rankedBy); c.Pairs > 0 {
				all = append(all, &c)
			}
		}
	}
	if len(all) == 0 {
		return "not shown: no block has both", false
	}
	Holm(all)
	least := slices.MinFunc(all, func(a, b *Comparison) int { return cmp.Or(cmp.Compare(a.Holm, b.Holm), cmp.Compare(a.P, b.P)) })
	return fmt.Sprintf("%s against %s at %d points: the least p is %.2g, at %s (ratio %.3f)",
		least.A, least.B, len(all), least.Holm, least.Point, least.Ratio), least.Holm >= againAlpha
}
