package charts

import (
	"embed"
	"fmt"
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

// File returns a drawing as an SVG file that can be opened by itself. The colours are the rules of the page's style sheet
// that set its custom properties.
func File(drawn template.HTML, colours string) (string, error) {
	css, err := Files.ReadFile("chart.css")
	opening, rest, _ := strings.Cut(string(drawn), ">")
	return fmt.Sprintf("%s>\n<style><![CDATA[\n%s%s%s]]></style>%s\n", opening, colours, css, alone, rest), err
}

// alone is what a page would otherwise set.
const alone = `svg { background: var(--ground); color: var(--ink); font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", sans-serif; }
`

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
