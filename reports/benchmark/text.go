package benchmark

import (
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text writes the summary for the terminal: the verdict, a table for each point, and the bench's controls. An error is
// the writer's.
func Text(w io.Writer, r *Results) error {
	v := newView(r)
	t := &lines{}
	if len(r.Withheld) == 0 {
		for _, p := range v.tables(v.compared()) {
			t.add(p.Name + " (" + p.About + ")")
			t.columns(textRows(p))
			t.add("")
		}
		for _, s := range v.tunedRows() {
			t.add("tuned " + s.Lock + ", " + s.Where + ": " + s.words())
		}
	}
	cells := [][]string{{"control", "result", "what came out"}}
	for _, c := range r.Checks {
		result := "passed"
		if !c.OK {
			result = "FAILED"
		}
		cells = append(cells, []string{c.Name, result, c.Seen})
	}
	t.columns(cells)
	t.add("")
	d := v.verdict()
	t.paragraph(d.Headline)
	for _, s := range d.Sections {
		for _, g := range s.Groups {
			for _, doubt := range g.Doubts {
				t.paragraph("but " + g.Name + ": " + doubt)
			}
		}
	}
	t.paragraph(d.Rest)
	t.paragraph(d.Conditions)
	_, err := io.WriteString(w, t.b.String())
	return err
}

// words says what tuning did, in a line.
func (r tunedRow) words() string {
	switch {
	case r.Violated:
		return "exclusion violated"
	case !r.Differs:
		return "no difference that is more than noise (" + strings.TrimSpace(r.Ratio+" "+r.Interval) + ")"
	}
	return r.Before + " to " + r.After + " /s, " + strings.TrimSpace(r.Ratio+" "+r.Interval)
}

func textRows(p pointTable) [][]string {
	head := []string{"rank", "lock", "goodput /s", "95 % interval", "to the best", "95 % interval"}
	var shown []int
	for i, m := range p.Extra {
		if m.Group != "fairness" && m.Name != "handoff_p50" { // a terminal is narrow
			shown, head = append(shown, i), append(head, heading(m))
		}
	}
	cells := [][]string{append(head, "n", "")}
	for _, r := range append(p.Locks, p.Others...) {
		row := []string{r.Rank, r.Subject.Name, r.Goodput, r.Interval, r.Ratio + r.Noise(), r.RatioIn}
		if r.Violated != "" { // no figure of it stands beside the others'
			row = []string{r.Rank, r.Subject.Name, "violated", "", "", ""}
		}
		for _, i := range shown {
			text := none
			if r.Violated == "" && i < len(r.Extra) {
				text = r.Extra[i]
			}
			row = append(row, text)
		}
		cells = append(cells, append(row, strconv.Itoa(r.N), r.Notice()))
	}
	return cells
}

// lines collects text; it never ends a line in spaces.
type lines struct{ b strings.Builder }

func (t *lines) add(line string) {
	t.b.WriteString(strings.TrimRight(clean(line), " "))
	t.b.WriteByte('\n')
}

// textWidth is how long a line of a paragraph is at most.
const textWidth = 110

func (t *lines) paragraph(text string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > textWidth {
			t.add(line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	if line != "" {
		t.add(line)
	}
}

// columns writes rows beneath each other: words to the left, and what begins with a digit or a bracket to the right.
func (t *lines) columns(cells [][]string) {
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
		t.add(line)
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
