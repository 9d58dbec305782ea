package html

import (
	"bytes"
	"html/template"
	"io/fs"
	"maps"
	"strings"
	text "text/template"

	"lockbench/reports/format"
)

// Markdown renders a Markdown template of a report. The template may use the functions of Funcs, and md, code and fence, which
// escape untrusted text.
func Markdown(own fs.FS, funcs template.FuncMap, data any, name, pattern string) ([]byte, error) {
	all := text.FuncMap{
		"md": format.Escaped, "code": format.InCode,
		"fence": func(s string) string { return format.Clean(strings.ReplaceAll(s, "```", "` ` `")) },
	}
	maps.Copy(all, text.FuncMap(Funcs()))
	maps.Copy(all, text.FuncMap(funcs))
	t, err := text.New(name).Funcs(all).ParseFS(own, pattern)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, data); err != nil {
		return nil, err
	}
	return format.Tidy(b.Bytes()), nil
}
