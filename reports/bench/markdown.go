package bench

import (
	"bytes"
	"maps"
	"strings"
	"text/template"

	"lockbench/reports/format"
)

// Markdown is the report without its drawings: their tables stand for them.
func Markdown(r *Results) ([]byte, error) {
	p, err := newPage(r)
	if err != nil {
		return nil, err
	}
	all := template.FuncMap{
		"md": format.Escaped, "code": format.InCode, "line": format.TableLine, "rule": format.TableRule,
		"fence": func(s string) string { return strings.ReplaceAll(s, "```", "` ` `") },
	}
	maps.Copy(all, template.FuncMap(funcs()))
	t, err := template.New("markdown").Funcs(all).ParseFS(templates, "templates/report.md.tmpl")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "markdown", p); err != nil {
		return nil, err
	}
	return format.Tidy(b.Bytes()), nil
}
