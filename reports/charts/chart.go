package charts

import (
	"embed"
	"html/template"
	"strings"
)

// Chart is a drawing with what it shows in one sentence, and its data.
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

// Files are the template "chart", which shows a Chart, and the style that it needs beyond that of all pages.
//
//go:embed chart.css chart.html.tmpl
var Files embed.FS

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
