package run

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"text/template"

	"lockbench/reports/format"
	"lockbench/reports/html"
)

// markdown renders report/report.md: the page without its drawings.
func (p *page) markdown() ([]byte, error) {
	funcs := template.FuncMap{
		"md":    format.Escaped,
		"code":  format.InCode,
		"fence": func(s string) string { return format.Clean(strings.ReplaceAll(s, "```", "` ` `")) },
		"all":   func(w workload) []figureRow { return slices.Concat(w.Plain, w.Faulty) },
	}
	maps.Copy(funcs, template.FuncMap(html.Funcs()))
	maps.Copy(funcs, template.FuncMap(p.funcs()))
	t, err := template.New("markdown").Funcs(funcs).ParseFS(templates, "templates/report.md.tmpl")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.ExecuteTemplate(&b, "markdown", p)
	return format.Tidy(b.Bytes()), err
}
