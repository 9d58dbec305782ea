package html

import (
	"fmt"
	"html/template"
)

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
	c := column{Text: text, Doc: doc}
	if len(rest) > 0 {
		c.Rest = rest[0]
	}
	return c
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

// section is an entry of the nav.
type section struct{ ID, Title string }

// sections takes an id, a title and a condition for each section of a page: {{sections "lease" "Lease" .Lease}}.
func sections(all ...any) ([]section, error) {
	var shown []section
	for i := 0; i+2 < len(all); i += 3 {
		id, isText := all[i].(string)
		title, isTitle := all[i+1].(string)
		if !isText || !isTitle {
			return nil, fmt.Errorf("section %v: its id and its title are no texts", all[i])
		}
		if truth, ok := template.IsTrue(all[i+2]); ok && truth {
			shown = append(shown, section{id, title})
		}
	}
	if len(all)%3 != 0 {
		return nil, fmt.Errorf("sections: %d arguments, not three for each", len(all))
	}
	return shown, nil
}
