package format

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// Lines collects text for the terminal. No line ends in spaces, and no hidden character gets through.
type Lines struct {
	bytes.Buffer      // the text
	Color        bool // painted parts are coloured
}

// Add adds a line.
func (t *Lines) Add(line string) { t.add(Clean(line)) }

func (t *Lines) add(line string) {
	t.WriteString(strings.TrimRight(line, " ") + "\n")
}

// AddPainted adds a line whose beginning is in a colour, given by its codes as in "31;1".
func (t *Lines) AddPainted(codes, beginning, rest string) {
	t.add(t.paint(codes, Clean(beginning)) + Clean(rest))
}

func (t *Lines) paint(codes, text string) string {
	if !t.Color || codes == "" || text == "" {
		return text
	}
	return "\x1b[" + codes + "m" + text + "\x1b[0m"
}

// textWidth is the longest line of a paragraph, in columns.
const textWidth = 100

// Paragraph breaks a text into lines.
func (t *Lines) Paragraph(text string) { t.Hang("", text) }

// Hang breaks a text into lines, of which the first begins with a mark and the others are indented by its width.
func (t *Lines) Hang(mark, text string) {
	mark = Clean(mark)
	inset := strings.Repeat(" ", Width(mark))
	line, wide := mark, Width(mark)
	for word := range strings.FieldsSeq(text) {
		n := Width(word)
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

// Width returns about how many columns a text takes.
func Width(s string) int { return utf8.RuneCountInString(s) }

// Pad fills a text with spaces to a width.
func Pad(s string, wide int) string { return s + strings.Repeat(" ", max(0, wide-Width(s))) }

// PadLeft fills a text with spaces to its left.
func PadLeft(s string, wide int) string { return strings.Repeat(" ", max(0, wide-Width(s))) + s }

// Columns writes a table whose first row is the heading: columns of figures are aligned right, except for the first two
// and the last.
func (t *Lines) Columns(cells [][]string) {
	t.table(cells, func(c int) bool { return c > 1 && c < len(cells[0])-1 && isOfFigures(cells[1:], c) }, nil)
}

// PaintedColumns writes a table whose columns are all aligned left. Paint returns the colour of a cell, as codes.
func (t *Lines) PaintedColumns(cells [][]string, paint func(row, column int) string) {
	t.table(cells, func(int) bool { return false }, paint)
}

func (t *Lines) table(cells [][]string, right func(column int) bool, paint func(row, column int) string) {
	wide := make([]int, len(cells[0]))
	for _, row := range cells {
		for c, text := range row {
			wide[c] = max(wide[c], Width(text))
		}
	}
	for r, row := range cells {
		var line strings.Builder
		for c, text := range row {
			text = Clean(text)
			space := strings.Repeat(" ", wide[c]-Width(text))
			if right(c) {
				text, space = space+text, ""
			}
			if paint != nil {
				text = t.paint(paint(r, c), text)
			}
			line.WriteString("  " + text + space)
		}
		t.add(line.String())
	}
}

// isOfFigures reports whether a column has a cell that begins with a digit or a bracket.
func isOfFigures(rows [][]string, c int) bool {
	return slices.ContainsFunc(rows, func(row []string) bool { return row[c] != "" && strings.Contains("0123456789[", row[c][:1]) })
}
