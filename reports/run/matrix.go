package run

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/checker"
)

// matrix is the whole run at a glance: a row per lock, a column per property.
type matrix struct {
	Properties []string
	Rows       []matrixRow
}

type matrixRow struct {
	ID, Label string // of the lock's group
	Cells     []matrixCell
}

// matrixCell shows the scores of one lock and property over all workloads and faults, gravest first.
type matrixCell struct {
	Scores []scoreCount
	Title  string
}

type scoreCount struct {
	Symbol string
	Class  string
	N      int
}

func (r *Results) matrix() matrix {
	var m matrix
	for _, o := range r.Cells {
		if o.Observed != checker.NotApplicable && !slices.Contains(m.Properties, o.Property) {
			m.Properties = append(m.Properties, o.Property)
		}
	}
	for _, g := range r.groups() {
		row := matrixRow{ID: g.ID, Label: g.Label}
		all := slices.Clone(g.Rest)
		for _, c := range g.Main {
			all = append(all, c.Seen...)
		}
		for _, property := range m.Properties {
			row.Cells = append(row.Cells, glance(property, all))
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

// glance counts the scores of a property. What was violated without a claim shows as such; what was
// measured and not violated shows only where there is nothing else.
func glance(property string, all []Observation) matrixCell {
	order := []string{"broken", "missed", "undecided", "violated", "caught", "kept"}
	n := map[string]int{}
	measured := 0
	for _, o := range all {
		switch {
		case o.Property != property || o.Observed == checker.NotApplicable:
		case o.Score != checker.Measured:
			n[strings.ToLower(o.Score.String())]++
		case o.Observed == checker.Violated:
			n["violated"]++
		default:
			measured++
		}
	}
	var c matrixCell
	var words []string
	for _, name := range order {
		if n[name] > 0 {
			c.Scores = append(c.Scores, scoreCount{Symbol: glyph(name), Class: "score-" + name, N: n[name]})
			words = append(words, fmt.Sprintf("%d %s", n[name], name))
		}
	}
	if measured > 0 {
		words = append(words, fmt.Sprintf("%d measured without a claim", measured))
		if len(c.Scores) == 0 {
			c.Scores = append(c.Scores, scoreCount{Symbol: "·", Class: "score-measured", N: measured})
		}
	}
	c.Title = joined(words)
	return c
}

func glyph(name string) string {
	return map[string]string{"broken": "✗", "missed": "!", "undecided": "?", "violated": "×", "caught": "◉", "kept": "✓"}[name]
}
