package bench

import (
	"io"
	"slices"
	"strconv"

	"lockbench/reports/format"
)

// Text writes the summary for the terminal: a table for each point, the bench's controls, and the verdict.
func Text(w io.Writer, r *Results) error {
	v, t := newView(r), &format.Lines{}
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
	for _, g := range d.Groups {
		for _, doubt := range g.Doubts {
			t.Paragraph("but " + g.Name + ": " + doubt)
		}
	}
	t.Paragraph(d.Rest)
	t.Paragraph(d.Conditions)
	_, err := t.WriteTo(w)
	return err
}

// textRows has no figure of a lock that was seen to break.
func textRows(p pointTable) [][]string {
	head := []string{"rank", "lock", "goodput /s", "95 % interval", "to the best", "95 % interval"}
	var shown []int // of the further metrics: a terminal is narrow
	for i, m := range p.Extra {
		if m.Group != "fairness" && m.Name != "handoff_p50" {
			head, shown = append(head, m.Heading()), append(shown, i)
		}
	}
	cells := [][]string{append(head, "n", "")}
	for _, r := range slices.Concat(p.Locks, p.Others) {
		row := []string{r.Rank, r.Subject.Name, r.Goodput, r.Interval, r.Ratio + r.Noise(), r.RatioIn}
		if r.Violated != "" {
			row = []string{r.Rank, r.Subject.Name, "violated", "", "", ""}
		}
		for _, i := range shown {
			if r.Violated != "" {
				row = append(row, format.None)
			} else {
				row = append(row, r.Extra[i])
			}
		}
		cells = append(cells, append(row, strconv.Itoa(r.N), r.Notice()))
	}
	return cells
}
