// Package html makes every page: one layout, one style sheet, and partials for what the pages have in common.
//
// A report's own templates define "title", "head", "body" and "foot" of the page, and may define "assets", "class",
// "before" and "after". They use the partials of layout.html.tmpl: a verdict, a badge, tiles, nav, a list, a command,
// a table with its cells, a chart, and the rows of a machine.
package html

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"lockbench/reports/charts"
	"lockbench/reports/format"
)

//go:embed layout.html.tmpl colors.css style.css
var files embed.FS

// Tone is how a verdict sounds. It picks a colour, which never stands alone.
type Tone string

const (
	Good   Tone = "good"
	Bad    Tone = "bad"
	Unsure Tone = "unsure"
)

// Verdict is the head of a report.
type Verdict struct {
	Tone       Tone
	Headline   string
	Rest       string
	Conditions string // under which it was found
}

// Badge is a short result: a symbol and a word, in a colour.
type Badge struct{ Class, Symbol, Word string }

// Key is an entry of a legend: a badge and its meaning.
type Key struct {
	Badge
	Means string
}

// Tile is one number of the head.
type Tile struct{ Class, Symbol, Big, Small string }

// Page renders a page from a report's own templates and functions.
func Page(own fs.FS, funcs template.FuncMap, data any, patterns ...string) ([]byte, error) {
	t, err := Parse(own, funcs, patterns...)
	if err != nil {
		return nil, err
	}
	return Render(t, "page", data)
}

// Parse returns the layout with a report's own templates. Its functions are added to those of Funcs.
func Parse(own fs.FS, funcs template.FuncMap, patterns ...string) (*template.Template, error) {
	t, err := template.New("page").Funcs(Funcs()).Funcs(pageFuncs()).Funcs(funcs).ParseFS(files, "layout.html.tmpl")
	if err != nil {
		return nil, err
	}
	return t.ParseFS(own, patterns...)
}

// Render executes one template. Hidden characters, which names and errors from outside may have, are replaced.
func Render(t *template.Template, name string, data any) ([]byte, error) {
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, data); err != nil {
		return nil, err
	}
	return format.Visible(b.Bytes()), nil
}

// Script writes a value as JSON for a script element, without hidden characters: they are escaped, so that the value
// that is read from the page is the same.
func Script(v any) (template.JS, error) {
	text, err := json.Marshal(v) // it escapes < > &
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	for _, c := range string(text) {
		if !format.Hidden(c) {
			b.WriteRune(c)
			continue
		}
		for _, unit := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return template.JS(b.String()), nil
}

// Style returns the style sheet of every page.
func Style() template.CSS { return sheet("colors.css") + sheet("style.css") + charts.CSS }

func sheet(name string) template.CSS {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return template.CSS(text)
}

// Drawing returns a drawing as an SVG file that can be opened by itself.
func Drawing(drawn template.HTML) string {
	const alone = `svg { background: var(--ground); font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", sans-serif; }
`
	opening, rest, _ := strings.Cut(string(drawn), ">")
	opening = strings.Replace(opening, "<svg ", `<svg xmlns="http://www.w3.org/2000/svg" `, 1)
	return fmt.Sprintf("%s>\n<style><![CDATA[\n%s%s%s]]></style>%s\n", opening, sheet("colors.css"), charts.CSS, alone, rest)
}

// Funcs returns the functions that templates of pages and of Markdown share.
func Funcs() template.FuncMap {
	return template.FuncMap{
		"count":       format.Count,
		"duration":    format.Duration[int64],
		"gibibytes":   format.Gibibytes,
		"inc":         func(i int) int { return i + 1 },
		"joined":      format.Joined,
		"ms":          format.Milliseconds[int64],
		"percent":     format.Percent,
		"plural":      format.Plural,
		"setting":     format.Setting,
		"significant": format.Significant,
		"when":        format.When,
	}
}

func pageFuncs() template.FuncMap {
	return template.FuncMap{
		"abbr":     abbr,
		"fold":     func(id, title, note string) fold { return fold{ID: id, Title: title, Note: note} },
		"number":   func(text string) column { return column{Text: text, Class: "number"} },
		"onlyif":   onlyIf,
		"px":       func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) },
		"sections": sections,
		"style":    Style,
		"table":    newTable,
	}
}

func onlyIf(condition any, text string) string {
	if truth, ok := template.IsTrue(condition); ok && truth {
		return text
	}
	return ""
}

// table is the beginning of a table: what the partial "table" writes. The rows follow it, then the partial "endtable".
type table struct {
	Label   string
	Class   string
	Columns []column
}

// column is the heading of a column.
type column struct {
	Text  string
	Doc   string // explains the text
	Rest  string // after the text
	Class string
}

// abbr returns a column whose heading is explained: {{abbr "goodput" "critical sections completed per second" "/s"}}.
func abbr(text, doc string, rest ...string) column {
	return column{Text: text, Doc: doc, Rest: strings.Join(rest, "")}
}

// newTable takes the columns as texts, lists of texts, or what abbr and number return.
func newTable(label, class string, columns ...any) (table, error) {
	t := table{Label: label, Class: class}
	for _, c := range columns {
		switch c := c.(type) {
		case string:
			t.Columns = append(t.Columns, column{Text: c})
		case []string:
			for _, text := range c {
				t.Columns = append(t.Columns, column{Text: text})
			}
		case column:
			t.Columns = append(t.Columns, c)
		default:
			return t, fmt.Errorf("table %s: %T is no column", label, c)
		}
	}
	return t, nil
}

// fold is the head of a section that is folded: {{template "fold" (fold "method" "Method" "")}} ... {{template "endfold"}}.
// The ID is that of the content, since a browser unfolds what a link leads into.
type fold struct{ ID, Title, Note string }

// section is an entry of the nav.
type section struct{ ID, Title string }

// sections takes an id, a title and a condition for each section of a page: {{sections "lease" "Lease" .Lease}}.
func sections(all ...any) (shown []section, err error) {
	if len(all)%3 != 0 {
		return nil, fmt.Errorf("sections: %d arguments, not three for each", len(all))
	}
	for of := range slices.Chunk(all, 3) {
		if onlyIf(of[2], "shown") != "" {
			shown = append(shown, section{fmt.Sprint(of[0]), fmt.Sprint(of[1])})
		}
	}
	return shown, nil
}
