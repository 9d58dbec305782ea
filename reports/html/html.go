// Package html renders the pages of all reports with one layout and one style sheet. Page returns a page from the
// templates and the data of a report.
//
// The templates of a report define "title", "head", "body" and "foot", and may define "assets", "class", "before" and
// "after". They can use all templates of layout.html.tmpl. These are verdict, badge, tiles, nav, legend, fold, scroll,
// list, command, table, cells, chart and machine.
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

	"lockbench/reports/charts"
	"lockbench/reports/format"
)

//go:embed layout.html.tmpl colors.css style.css
var files embed.FS

// Tone is the colour of a verdict. A word or symbol beside the verdict states the same, for readers who cannot see the
// colour.
type Tone string

// The values of Tone, which select the colour of a verdict.
const (
	Good   Tone = "good"
	Bad    Tone = "bad"
	Unsure Tone = "unsure"
)

// Verdict is the headline of a report, with further sentences and the test conditions.
type Verdict struct {
	Tone       Tone
	Headline   string
	Rest       string
	Conditions string
}

// Badge is a short result: a symbol and a word, in a colour.
type Badge struct{ Class, Symbol, Word string }

// Key is an entry of a legend: a badge and its meaning.
type Key struct {
	Badge
	Means string
}

// Tile is a box with one number at the top of a page.
type Tile struct{ Class, Symbol, Big, Small string }

// Page renders a page from the templates and functions of a report.
func Page(own fs.FS, funcs template.FuncMap, data any, patterns ...string) ([]byte, error) {
	t, err := Parse(own, funcs, patterns...)
	if err != nil {
		return nil, err
	}
	return Render(t, "page", data)
}

// Parse returns the templates of the layout and of a report. The templates can call the functions that Funcs returns,
// and the functions in the parameter funcs.
func Parse(own fs.FS, funcs template.FuncMap, patterns ...string) (*template.Template, error) {
	t, err := template.New("page").Funcs(Funcs()).Funcs(pageFuncs()).Funcs(funcs).ParseFS(files, "layout.html.tmpl")
	if err != nil {
		return nil, err
	}
	return t.ParseFS(own, patterns...)
}

// Render executes one template and replaces invisible control characters in the output.
func Render(t *template.Template, name string, data any) ([]byte, error) {
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, data); err != nil {
		return nil, err
	}
	return format.Visible(b.Bytes()), nil
}

// Script returns a value as JSON for a script element. It escapes hidden characters, so that the script decodes the
// same value.
func Script(v any) (template.JS, error) {
	text, err := json.Marshal(v) // json.Marshal also escapes < > &
	if err != nil {
		return "", err
	}
	return template.JS(format.EscapeJSON(text)), nil
}

// Style returns the style sheet of every page.
func Style() template.CSS { return sheet("colors.css") + sheet("style.css") + charts.CSS }

func sheet(name string) template.CSS {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // cannot fail: the file is embedded
	}
	return template.CSS(text)
}

// Drawing returns an SVG element as a standalone SVG file, with a style sheet.
func Drawing(drawn template.HTML) string {
	const alone = `svg { background: var(--ground); font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", sans-serif; }
`
	opening, rest, _ := strings.Cut(string(drawn), ">")
	opening = strings.Replace(opening, "<svg ", `<svg xmlns="http://www.w3.org/2000/svg" `, 1)
	return fmt.Sprintf("%s>\n<style><![CDATA[\n%s%s%s]]></style>%s\n", opening, sheet("colors.css"), charts.CSS, alone, rest)
}

// Funcs returns the template functions for both HTML and Markdown.
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
		"abbr": abbr,
		"fold": func(id, title, note string, class ...string) fold {
			return fold{id, title, note, strings.Join(class, " ")}
		},
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

// table is the head of an HTML table. The template "table" writes the head, and the template "endtable" closes the
// table after the rows.
type table struct {
	Label   string
	Class   string
	Columns []column
}

// column holds the heading of one table column, with an optional tooltip.
type column struct {
	Text  string
	Doc   string // explanation of Text, shown as a tooltip
	Rest  string // second part of the heading, such as a unit; it has no tooltip
	Class string
}

// abbr returns a column heading with a tooltip: {{abbr "goodput" "critical sections completed per second" "/s"}}.
func abbr(text, doc string, rest ...string) column {
	return column{Text: text, Doc: doc, Rest: strings.Join(rest, "")}
}

// newTable returns the head of a table. Each argument in columns is a string, a []string, or a result of the template
// function abbr or number.
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
			return t, fmt.Errorf("table %s: %T is not a column", label, c)
		}
	}
	return t, nil
}

// fold is the head of a section that readers can fold: {{template "fold" (fold "method" "Method" "")}} ... {{template
// "endfold"}}. The ID belongs to the element inside the fold. A browser therefore unfolds the section if the reader
// follows a link to the ID. A section with the class "unprinted" is not printed.
type fold struct{ ID, Title, Note, Class string }

// section is an entry of the navigation bar.
type section struct{ ID, Title string }

// sections returns the entries of the navigation bar. The arguments are an id, a title and a condition for each entry:
// {{sections "lease" "Lease" .Lease}}.
func sections(all ...any) (shown []section, err error) {
	if len(all)%3 != 0 {
		return nil, fmt.Errorf("sections: %d arguments, want three for each section", len(all))
	}
	for of := range slices.Chunk(all, 3) {
		if onlyIf(of[2], "shown") != "" {
			shown = append(shown, section{fmt.Sprint(of[0]), fmt.Sprint(of[1])})
		}
	}
	return shown, nil
}
