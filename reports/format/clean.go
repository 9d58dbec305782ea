package format

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Hidden reports whether a character is a control character, a format character or a line separator. Hidden characters
// can control a terminal or disguise a name.
func Hidden(c rune) bool {
	return unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Clean replaces each hidden character with a dot.
func Clean(s string) string {
	return strings.Map(func(c rune) rune {
		if Hidden(c) {
			return '·'
		}
		return c
	}, s)
}

// Visible replaces hidden characters, except newlines and tabs, with the Unicode replacement character.
func Visible(text []byte) []byte {
	return bytes.Map(func(c rune) rune {
		if Hidden(c) && c != '\n' && c != '\t' {
			return unicode.ReplacementChar
		}
		return c
	}, text)
}

// EscapeJSON escapes the hidden characters of a JSON text, except newlines. The decoded value stays the same.
func EscapeJSON(text []byte) []byte {
	var b bytes.Buffer
	for _, c := range string(text) {
		if !Hidden(c) || c == '\n' {
			b.WriteRune(c)
			continue
		}
		for _, unit := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.Bytes()
}

// credentials matches the user and password in a URL. An unencoded password may contain spaces. A number between a
// colon and a space counts as a port, not as a password. For example, redis://host:6379 redlock@five contains no
// credentials.
var credentials = regexp.MustCompile(`://(?:[^\s/]*:[^\s/]*[^\s/\d]\S*[ \t][^\n]*|\S*)@`)

// named matches a password parameter in a URL or connection string.
var named = regexp.MustCompile(`(?i)\b(password|passwd|pwd)=[^\s&"']+`)

// Scrub masks the passwords in a text, such as a command line with URLs. It handles each flag separately, so that a
// match cannot span two flags.
func Scrub(text string) string {
	text = named.ReplaceAllString(text, "$1=***")
	if !strings.Contains(text, "://") {
		return text
	}
	var b strings.Builder
	for text != "" {
		end := len(text)
		if i := strings.Index(text[1:], " --"); i >= 0 {
			end = i + 1
		}
		b.WriteString(credentials.ReplaceAllString(text[:end], "://***@"))
		text = text[end:]
	}
	return b.String()
}

// TableLine returns a row of a Markdown table, with escaped cells.
func TableLine(cells []string) string {
	var b strings.Builder
	b.WriteString("|")
	for _, c := range cells {
		b.WriteString(" " + Escaped(c) + " |")
	}
	return b.String()
}

// TableRule returns the line below the heading of a Markdown table. The first column is aligned left, all other columns
// right.
func TableRule(cells []string) string {
	return "| --- |" + strings.Repeat(" ---: |", len(cells)-1)
}

// Escaped escapes untrusted text for Markdown, including HTML and table cells. It replaces newlines with spaces and
// hidden characters with dots.
func Escaped(s string) string {
	s = Clean(strings.Join(strings.Fields(s), " "))
	return strings.NewReplacer(
		`\`, `\\`, "<", "&lt;", ">", "&gt;", "|", `\|`, "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`, "~", `\~`,
	).Replace(s)
}

// InCode returns a text that can be put into a code span within a Markdown table cell.
func InCode(s string) string {
	return Clean(strings.NewReplacer("`", "'", "\n", " ", "|", "¦").Replace(s))
}

// Tidy replaces several consecutive blank lines with one. It trims white space at both ends and appends a newline.
func Tidy(text []byte) []byte {
	text = regexp.MustCompile(`\n{3,}`).ReplaceAll(bytes.TrimSpace(text), []byte("\n\n"))
	return append(text, '\n')
}
