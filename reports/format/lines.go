package format

import (
	"strings"
	"unicode/utf8"
)

// Lines collects text; it never ends a line in spaces.
type Lines struct{ b strings.Builder }

// String is all that was added.
func (t *Lines) String() string { return t.b.String() }

// Add is a line of its own.
func (t *Lines) Add(line string) {
	t.b.WriteString(strings.TrimRight(Clean(line), " "))
	t.b.WriteByte('\n')
}

// textWidth is how long a line of a paragraph is at most.
const textWidth = 110

// Paragraph fills lines with words.
func (t *Lines) Paragraph(text string) { t.Hang("", text) }

// Hang fills lines with words, the first of which begins with a mark; those below are moved in as far as it is wide.
func (t *Lines) Hang(mark, text string) {
	mark = Clean(mark)
	inset := strings.Repeat(" ", utf8.RuneCountInString(mark))
	line, wide := mark, utf8.RuneCountInString(mark)
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case wide == len(inset):
			line, wide = line+word, wide+n
		case wide+1+n > textWidth:
			t.Add(line)
			line, wide = inset+word, len(inset)+n
		default:
			line, wide = line+" "+word, wide+1+n
		}
	}
	if strings.TrimSpace(line) != "" {
		t.Add(line)
	}
}

// Width is how many columns a text takes, about.
func Width(s string) int { return utf8.RuneCountInString(s) }

// Pad fills a text with spaces to a width.
func Pad(s string, wide int) string { return s + strings.Repeat(" ", max(0, wide-Width(s))) }

// PadLeft fills a text with spaces to its left.
func PadLeft(s string, wide int) string { return strings.Repeat(" ", max(0, wide-Width(s))) + s }

// Columns writes rows beneath each other: words to the left, and what begins with a digit or a bracket to the right.
func (t *Lines) Columns(cells [][]string) {
	wide := make([]int, len(cells[0]))
	for _, row := range cells {
		for c, text := range row {
			wide[c] = max(wide[c], utf8.RuneCountInString(text))
		}
	}
	for _, row := range cells {
		line := " "
		for c, text := range row {
			space := strings.Repeat(" ", wide[c]-utf8.RuneCountInString(text))
			if c > 1 && c < len(row)-1 && rightAligned(cells, c) {
				line += " " + space + text + " "
			} else {
				line += " " + text + space + " "
			}
		}
		t.Add(line)
	}
}

// rightAligned tells whether a column is of figures.
func rightAligned(cells [][]string, c int) bool {
	for _, row := range cells[1:] {
		if row[c] != "" && row[c][0] >= '0' && row[c][0] <= '9' || strings.HasPrefix(row[c], "[") {
			return true
		}
	}
	return false
}
