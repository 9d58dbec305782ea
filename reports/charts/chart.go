package charts

import (
	_ "embed"
	"html/template"
	"strings"
)

// Chart is a drawing with what it shows in one sentence, and its data as a table.
type Chart struct {
	ID       string
	Name     string // of the place where it was measured
	Takeaway string
	SVG      template.HTML
	Note     string // what is particular to it, and what it leaves out
	Open     bool   // its table is in sight
	Worded   bool   // the table has words in it, rather than figures
	Head     []string
	Rows     [][]string
}

// Draw fills the chart's drawing. The takeaway describes it.
func (c *Chart) Draw(d interface{ SVG(Head) template.HTML }, title string) {
	c.SVG = d.SVG(Head{ID: c.ID, Title: title, Desc: c.Takeaway})
}

// CSS is the style sheet of drawings. It uses the colours of the page.
//
//go:embed chart.css
var CSS template.CSS

// Slug makes an id of a name: letters that an id must not have become dashes.
func Slug(parts ...string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			return c
		}
		return '-'
	}, strings.Join(parts, "-"))
}
