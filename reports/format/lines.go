package format

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// Lines collects text for the terminal. It trims trailing spaces and replaces hidden characters.
type Lines struct {
	bytes.Buffer      // text that was collected so far
	Color        bool // whether AddPainted and similar methods add colour codes
}

// Add appends a line to the collected text.
func (t *Lines) Add(line string) { t.add(Clean(line)) }

func (t *Lines) add(line string) {
	t.WriteString(strings.TrimRight(line, " ") + "\n")
}

// AddPainted adds a line that begins with coloured text. The codes are terminal colour codes, such as "31;1".
func (t *Lines) AddPainted(codes, beginning, rest string) {
	t.add(t.paint(codes, Clean(beginning)) + Clean(rest))
}

func (t *Lines) paint(codes, text string) string {
	if !t.Color || codes == "" || text == "" {
		return text
	}
	return "\x1b[" + codes + "m" + text + "\x1b[0m"
}

// textWidth is the maximum length of a line in a paragraph, in columns.
const textWidth = 100

// Paragraph adds a text, broken into lines.
func (t *Lines) Paragraph(text string) { t.Hang("", text) }

// Hang adds a text, broken into lines. The first line begins with mark. The following lines are indented by the width
// of mark.
func (t *Lines) Hang(mark, text string) {
	mark = Clean(mark)
	for _, line := range wrap(text, textWidth-Width(mark)) {
		if strings.TrimSpace(mark+line) != "" {
			t.Add(mark + line)
		}
		mark = strings.Repeat(" ", Width(mark))
	}
}

// PaintedParagraph adds a coloured paragraph and breaks it into lines of at most textWidth columns. The parameter codes sets
// the colour by terminal codes, such as "31" for red.
func (t *Lines) PaintedParagraph(codes, text string) {
	for _, line := range wrap(text, textWidth) {
		t.AddPainted(codes, line, "")
	}
}

// wrap breaks a text at spaces into lines of at most the parameter width. For an empty text, it returns one empty line.
func wrap(text string, width int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		switch last := &lines[len(lines)-1]; {
		case *last == "":
			*last = word
		case Width(*last)+1+Width(word) > width:
			lines = append(lines, word)
		default:
			*last += " " + word
		}
	}
	return lines
}

// Width returns the approximate width of a text in columns.
func Width(s string) int { return utf8.RuneCountInString(s) }

// Pad returns a text with spaces appended, up to a width in columns.
func Pad(s string, wide int) string { return s + strings.Repeat(" ", max(0, wide-Width(s))) }

// PadLeft returns a text with spaces prepended, up to a width in columns.
func PadLeft(s string, wide int) string { return strings.Repeat(" ", max(0, wide-Width(s))) + s }

// Columns writes a table whose first row is the heading. Columns that contain numbers are aligned right, except the
// first two columns and the last column.
func (t *Lines) Columns(cells [][]string) {
	t.table(cells, func(c int) bool { return c > 1 && c < len(cells[0])-1 && isOfFigures(cells[1:], c) }, nil)
}

// PaintedColumns writes a table with left-aligned columns. The function paint returns the terminal colour codes for a
// cell.
func (t *Lines) PaintedColumns(cells [][]string, paint func(row, column int) string) {
	t.table(cells, func(int) bool { return false }, paint)
}

// narrow is the minimum width of the last column of a table. If there is less room, the cells of the last column are
// written below their rows. The same applies if one of the cells needs more than two lines.
const narrow = 28

// table writes a table. If the table is wider than textWidth, the headings and the last column are broken into lines.
func (t *Lines) table(cells [][]string, right func(column int) bool, paint func(row, column int) string) {
	head, wide := cells[:1], widths(cells)
	last, inset := len(wide)-1, "      "
	whole := span(wide) <= textWidth
	if !whole {
		head, wide = folded(cells)
	}
	room := textWidth - span(wide[:last]) - 2
	beside := room >= narrow && !slices.ContainsFunc(cells, func(row []string) bool { return Width(row[last]) > 2*room })
	for r, row := range slices.Concat(head, cells[1:]) {
		r = max(0, r-len(head)+1)
		var line strings.Builder
		for c, text := range row[:last] {
			line.WriteString("  " + t.cell(text, wide[c], right(c), r, c, paint))
		}
		if whole {
			t.add(line.String() + "  " + t.cell(row[last], wide[last], right(last), r, last, paint))
			continue
		}
		rest := wrap(Clean(row[last]), textWidth-len(inset))
		if inset := strings.Repeat(" ", span(wide[:last])); beside {
			rest = wrap(Clean(row[last]), room)
			line.WriteString("  " + rest[0])
			rest = rest[1:]
			for i := range rest {
				rest[i] = inset + "  " + rest[i]
			}
		}
		t.add(line.String())
		for _, text := range rest {
			if beside {
				t.add(text)
			} else if text != "" && r > 0 {
				t.add(inset + text)
			}
		}
	}
}

func (t *Lines) cell(text string, wide int, right bool, row, column int, paint func(row, column int) string) string {
	text = Clean(text)
	space := strings.Repeat(" ", max(0, wide-Width(text)))
	if right {
		text, space = space+text, ""
	}
	if paint != nil {
		text = t.paint(paint(row, column), text)
	}
	return text + space
}

func widths(cells [][]string) []int {
	wide := make([]int, len(cells[0]))
	for _, row := range cells {
		for c, text := range row {
			wide[c] = max(wide[c], Width(text))
		}
	}
	return wide
}

// span returns the total width of table columns, with two spaces before each column.
func span(wide []int) (sum int) {
	for _, w := range wide {
		sum += 2 + w
	}
	return sum
}

// folded returns the heading of a table, broken into rows, and the column widths. A column is as wide as its widest
// cell, or as the longest word of its heading if this is wider.
func folded(cells [][]string) (head [][]string, wide []int) {
	wide = widths(append([][]string{make([]string, len(cells[0]))}, cells[1:]...))
	var columns [][]string
	for c, text := range cells[0] {
		for word := range strings.FieldsSeq(text) {
			wide[c] = max(wide[c], Width(word))
		}
		columns = append(columns, wrap(text, wide[c]))
	}
	high := 0
	for _, lines := range columns {
		high = max(high, len(lines))
	}
	for i := range high {
		row := make([]string, len(columns))
		for c, lines := range columns {
			if j := i - high + len(lines); j >= 0 {
				row[c] = lines[j]
			}
		}
		head = append(head, row)
	}
	return head, wide
}

// isOfFigures reports whether a column contains numbers. A number begins with a digit or a bracket.
func isOfFigures(rows [][]string, c int) bool {
	return slices.ContainsFunc(rows, func(row []string) bool { return row[c] != "" && strings.Contains("0123456789[", row[c][:1]) })
}
