package run

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

// markdown renders report/report.md: the page without its drawings.
func (p *page) markdown() ([]byte, error) {
	funcs := template.FuncMap{
		"md":    escaped,
		"code":  inCode,
		"fence": func(s string) string { return strings.ReplaceAll(s, "```", "` ` `") },
		"all":   func(w workload) []Measurement { return slices.Concat(w.Plain, w.Faulty) },
	}
	maps.Copy(funcs, template.FuncMap(p.funcs()))
	t, err := template.New("markdown").Funcs(funcs).ParseFS(templates, "templates/report.md.tmpl")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.ExecuteTemplate(&b, "markdown", p)
	return tidy(b.Bytes()), err
}

// escaped makes a text from outside harmless: no markup, no table cells, no HTML, one line.
func escaped(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer(
		"<", "&lt;", ">", "&gt;", "|", `\|`, "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`,
	).Replace(s)
}

// inCode is escaped for a code span, in which nothing but its end has a meaning.
func inCode(s string) string {
	return strings.NewReplacer("`", "'", "\n", " ", "|", "¦").Replace(s)
}

// tidy leaves no more than one blank line in a row.
func tidy(text []byte) []byte {
	text = regexp.MustCompile(`\n{3,}`).ReplaceAll(bytes.TrimSpace(text), []byte("\n\n"))
	return append(text, '\n')
}
