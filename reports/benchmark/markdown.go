package benchmark

import (
	"bytes"
	"maps"
	"regexp"
	"strings"
	"text/template"
)

// Markdown is the report without its drawings: their tables stand for them.
func Markdown(r *Results) ([]byte, error) {
	p, err := newPage(r)
	if err != nil {
		return nil, err
	}
	all := template.FuncMap{
		"md": escaped, "code": inCode, "line": tableLine, "rule": tableRule,
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
	return tidy(b.Bytes()), nil
}

// tableLine is a row of cells.
func tableLine(cells []string) string {
	var b strings.Builder
	b.WriteString("|")
	for _, c := range cells {
		b.WriteString(" " + escaped(c) + " |")
	}
	return b.String()
}

// tableRule stands below the first row: words to the left, figures to the right.
func tableRule(cells []string) string {
	return "| --- |" + strings.Repeat(" ---: |", len(cells)-1)
}

// escaped makes a text from outside harmless: no markup, no table cells, no HTML, one line.
func escaped(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer(
		"<", "&lt;", ">", "&gt;", "|", `\|`, "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`, "~", `\~`,
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
