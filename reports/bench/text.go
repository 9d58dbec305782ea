package bench

import (
	"io"
	"strconv"
	"strings"

	"lockbench/reports/format"
)

// Text writes the summary for the terminal: the verdict, a table for each point, and the bench's controls. An error is
// the writer's.
func Text(w io.Writer, r *Results) error {
	v := newView(r)
	t := &format.Lines{}
	if len(r.Withheld) == 0 {
		for _, p := range v.tables(v.compared()) {
			t.Add(p.Name + " (" + p.About + ")")
			t.Columns(textRows(p))
			t.Add("")
		}
		for _, s := range v.tunedRows() {
			t.Add("tuned " + s.Lock + ", " + s.Where + ": " + s.words())
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
	t.Columns(cells)
	t.Add("")
	d := v.verdict()
	t.Paragraph(d.Headline)
	for _, s := range d.Sections {
		for _, g := range s.Groups {
			for _, doubt := range g.Doubts {
				t.Paragraph("but " + g.Name + ": " + doubt)
			}
		}
	}
	t.Paragraph(d.Rest)
	t.Paragraph(d.Conditions)
	_, err := io.WriteString(w, t.String())
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
			text := format.None
			if r.Violated == "" && i < len(r.Extra) {
				text = r.Extra[i]
			}
			row = append(row, text)
		}
		cells = append(cells, append(row, strconv.Itoa(r.N), r.Notice()))
	}
	return cells
}
