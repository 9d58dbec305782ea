package format

import (
	"bytes"
	"regexp"
	"strings"
)

// TableLine writes a row of a Markdown table.
func TableLine(cells []string) string {
	var b strings.Builder
	b.WriteString("|")
	for _, c := range cells {
		b.WriteString(" " + Escaped(c) + " |")
	}
	return b.String()
}

// TableRule writes the line below the heading of a table: its first column is aligned left, the others right.
func TableRule(cells []string) string {
	return "| --- |" + strings.Repeat(" ---: |", len(cells)-1)
}

// Escaped makes a text from outside safe for Markdown: no markup, no table cells, no HTML, one line, no hidden characters.
func Escaped(s string) string {
	s = Clean(strings.Join(strings.Fields(s), " "))
	return strings.NewReplacer(
		`\`, `\\`, "<", "&lt;", ">", "&gt;", "|", `\|`, "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`, "~", `\~`,
	).Replace(s)
}

// InCode escapes a text for a code span, where only the span's end and a table's cell have a meaning.
func InCode(s string) string {
	return Clean(strings.NewReplacer("`", "'", "\n", " ", "|", "¦").Replace(s))
}

// Tidy merges consecutive blank lines.
func Tidy(text []byte) []byte {
	text = regexp.MustCompile(`\n{3,}`).ReplaceAll(bytes.TrimSpace(text), []byte("\n\n"))
	return append(text, '\n')
}
