package run

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"lockbench/checker"
	"lockbench/reports/format"
	"lockbench/reports/html"
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
	Scores []html.Badge // their words are numbers
	Title  string
}

func (r *Results) matrix() matrix {
	var m matrix
	for _, o := range r.Cells {
		if o.Observed != checker.NotApplicable {
			m.Properties = append(m.Properties, o.Property)
		}
	}
	m.Properties = unique(m.Properties)
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

// glance counts the scores of a property. What was measured and not violated shows only if there is nothing else.
func glance(property string, all []Observation) matrixCell {
	order := []string{"score-broken", "score-missed", "score-undecided", "score-violated", "score-caught", "score-kept", "score-measured"}
	n := map[html.Badge]int{}
	for _, o := range all {
		if o.Property == property && o.Observed != checker.NotApplicable {
			n[o.badge()]++
		}
	}
	kinds := slices.SortedFunc(maps.Keys(n), func(a, b html.Badge) int {
		return cmp.Compare(slices.Index(order, a.Class), slices.Index(order, b.Class))
	})
	var c matrixCell
	var words []string
	for _, b := range kinds {
		word := strings.TrimPrefix(b.Class, "score-")
		shown := true
		if word == "measured" {
			word, shown = "measured without a claim", len(c.Scores) == 0
		}
		words = append(words, fmt.Sprintf("%d %s", n[b], word))
		if shown {
			c.Scores = append(c.Scores, html.Badge{Class: b.Class, Symbol: b.Symbol, Word: strconv.Itoa(n[b])})
		}
	}
	c.Title = format.Joined(words)
	return c
}
