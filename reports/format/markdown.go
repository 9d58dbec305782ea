package format

import (
	"bytes"
	"regexp"
	"strings"
)

// TableLine is a row of cells.
func TableLine(cells []string) string {
	var b strings.Builder
	b.WriteString("|")
	for _, c := range cells {
		b.WriteString(" " + Escaped(c) + " |")
	}
	return b.String()
}

// TableRule stands below the first row: words to the left, figures to the right.
func TableRule(cells []string) string {
	return "| --- |" + strings.Repeat(" ---: |", len(cells)-1)
}

// Escaped makes a text from outside harmless: no markup, no table cells, no HTML, one line.
func Escaped(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer(
		`\`, `\\`, "<", "&lt;", ">", "&gt;", "|", `\|`, "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`, "~", `\~`,
	).Replace(s)
}

// InCode is escaped for a code span, in which nothing but its end has a meaning.
func InCode(s string) string {
	return strings.NewReplacer("`", "'", "\n", " ", "|", "¦").Replace(s)
}

// Tidy leaves no more than one blank line in a row.
func Tidy(text []byte) []byte {
	text = regexp.MustCompile(`\n{3,}`).ReplaceAll(bytes.TrimSpace(text), []byte("\n\n"))
	return append(text, '\n')
}
