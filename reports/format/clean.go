package format

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Hidden reports whether a character is not to be seen itself, but may steer a terminal, turn the direction of the text
// after it, or hide in a name.
func Hidden(c rune) bool {
	return unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Clean shows a dot in place of every hidden character, such as may be in a name or in a server's error.
func Clean(s string) string {
	return strings.Map(func(c rune) rune {
		if Hidden(c) {
			return '·'
		}
		return c
	}, s)
}

// Visible replaces the hidden characters of a text of several lines.
func Visible(text []byte) []byte {
	return bytes.Map(func(c rune) rune {
		if Hidden(c) && c != '\n' && c != '\t' {
			return unicode.ReplacementChar
		}
		return c
	}, text)
}

// EscapeJSON escapes the hidden characters of a JSON text, so that its value stays the same.
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

// credentials finds what stands before the @ of a URL. A password may have a space in it, if somebody did not encode it;
// but what follows host:port is other words, often a lock's name with the @ of its deployment.
var credentials = regexp.MustCompile(`://(?:[^\s/]*:[^\s/]*[^\s/\d]\S*[ \t][^\n]*|\S*)@`)

// named finds a password in the parameters of a URL or of a connection.
var named = regexp.MustCompile(`(?i)\b(password|passwd|pwd)=[^\s&"']+`)

// Scrub takes the passwords out of a text that may have URLs in it. It goes flag by flag, so that one's password does not take the next one with it.
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
