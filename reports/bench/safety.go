package bench

import (
	"fmt"
	"slices"
	"strings"
)

// safetyRow is what was found of a subject when its histories were judged.
type safetyRow struct {
	Subject    Subject
	Judged     int // trials
	Operations int
	Violated   []violatedIn
	Undecided  []string
	Disagree   int
	Void       int
}

// violatedIn is a property and in how many trials it was violated.
type violatedIn struct {
	Violation
	Trials int
}

// State is the word for the row, and the class of its colour.
func (r safetyRow) State() (word, class string) {
	exclusion := slices.ContainsFunc(r.Violated, func(x violatedIn) bool { return x.Exclusion() })
	switch {
	case r.Judged == 0:
		return "not judged", "score-measured"
	case exclusion && r.Subject.Role == Control:
		return "caught", "score-caught"
	case exclusion && r.Subject.Role == Floor:
		return "no lock", "score-measured"
	case exclusion:
		return "violated", "score-broken"
	case r.Subject.Role == Control:
		return "not caught", "score-undecided"
	case len(r.Violated) > 0:
		return "other property violated", "score-undecided"
	case len(r.Undecided) > 0:
		return "undecided", "score-undecided"
	}
	return "no violation", "score-kept"
}

// Word is the state in words.
func (r safetyRow) Word() string { word, _ := r.State(); return word }

// Class is the state's class.
func (r safetyRow) Class() string { _, class := r.State(); return class }

// Symbol stands before the word, so that colour is never the only difference.
func (r safetyRow) Symbol() string {
	return map[string]string{
		"score-kept": "✓", "score-caught": "◉", "score-broken": "✗", "score-undecided": "?", "score-measured": "·",
	}[r.Class()]
}

// UndecidedText lists what could not be decided.
func (r safetyRow) UndecidedText() string { return strings.Join(r.Undecided, ", ") }

// In says in how many of the row's trials.
func (x violatedIn) In(r safetyRow) string {
	return fmt.Sprintf("in %d of %d trials", x.Trials, r.Judged)
}

func (v *view) safety() []safetyRow {
	var all []safetyRow
	for _, s := range v.Plan.Subjects {
		row := safetyRow{Subject: s}
		for _, t := range v.Trials {
			if t.Subject == s.Name {
				row.add(t)
			}
		}
		if row.Judged+row.Void > 0 {
			all = append(all, row)
		}
	}
	return all
}

func (r *safetyRow) add(t *Trial) {
	if t.Void != "" {
		r.Void++
		return
	}
	if t.Judged == nil {
		return
	}
	r.Judged++
	r.Operations += t.Judged.Operations
	if t.Judged.Disagree {
		r.Disagree++
	}
	for _, name := range t.Judged.Undecided {
		if !slices.Contains(r.Undecided, name) {
			r.Undecided = append(r.Undecided, name)
		}
	}
	var seen []string
	for _, x := range t.Judged.Violated {
		if slices.Contains(seen, x.Property) {
			continue
		}
		seen = append(seen, x.Property)
		i := slices.IndexFunc(r.Violated, func(y violatedIn) bool { return y.Property == x.Property })
		if i < 0 {
			i, r.Violated = len(r.Violated), append(r.Violated, violatedIn{Violation: x})
		}
		r.Violated[i].Trials++
	}
}
