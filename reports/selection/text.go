package selection

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"lockbench/reports/format"
)

// Text writes what a terminal shows: the verdict, which options are eliminated and why, which are left, what speaks against
// the choice and what would change it. An error is the writer's.
func Text(w io.Writer, r *Report) error {
	r, err := Scrubbed(r)
	if err != nil {
		return err
	}
	v := newView(r)
	t := &format.Lines{}
	t.Paragraph(v.Look().Symbol + " " + v.Look().Word + ". " + v.Decision.Headline() + ".")
	for _, s := range v.Lead() {
		t.Hang("  ", s)
	}
	if len(v.OrLock()) > 0 {
		t.Paragraph("If a lock is wanted all the same: " + format.Joined(v.Decision.Lock) + ".")
	}
	v.textEliminated(t)
	v.textCompared(t)
	textLines(t, "for it", v.For())
	textLines(t, "against it", v.Against())
	v.textChanges(t)
	v.textLease(t)
	var conditions []string
	for _, a := range v.Needs.Asks() {
		if a.Key == "hold" || a.Key == "pauses" {
			conditions = append(conditions, a.Title+": "+a.Answer+" ["+a.Tag+"]")
		}
	}
	textList(t, "conditions", conditions)
	if len(r.Needs.Assumed) > 0 {
		textList(t, "not stated, so that defaults are assumed", []string{strings.Join(r.Needs.Assumed, ", ")})
	}
	textList(t, "decide again when", v.Needs.Again())
	if n := len(r.Findings) + len(r.Figures) + len(r.Times); n > 0 {
		t.Add("")
		t.Paragraph(fmt.Sprintf("It rests on %s; `lockbench verify-report FILE ID` traces one.", format.Plural(n, "observation")))
	}
	_, err = t.WriteTo(w)
	return err
}

// widestName is as wide as a name may be without moving what stands beside it.
const widestName = 28

func name(s string) string {
	if letters := []rune(s); len(letters) > widestName {
		return string(letters[:widestName-1]) + "…"
	}
	return s
}

func (v *view) textEliminated(t *format.Lines) {
	if len(v.Decision.Out) == 0 {
		return
	}
	t.Add("")
	t.Add("eliminated")
	wide := 0
	for _, k := range v.Decision.Out {
		wide = max(wide, format.Width(name(k.Option)))
	}
	for _, j := range v.Matrix() {
		if j.Why.Title != "" {
			t.Hang(fmt.Sprintf("  %s %s  ", j.Why.Look.Symbol, format.Pad(name(j.Option.Name), wide)), j.Why.String())
		}
	}
}

// abreast is how many criteria a line has room for.
const abreast = 3

// textCompared writes the table of the surviving locks; criteria beyond those that fit stand in another table below.
func (v *view) textCompared(t *format.Lines) {
	if len(v.Compared()) == 0 {
		return
	}
	t.Add("")
	t.Add("meet all requirements; the median, and the ratio to the best")
	first := [][]string{{"rank", "option", "score", "won", ""}}
	for _, c := range v.Compared() {
		first = append(first, []string{c.Rank, name(c.Option), c.Score, c.Won, ""})
	}
	t.Columns(first)
	for at := 0; at < len(v.Criteria); at += abreast {
		upTo := min(at+abreast, len(v.Criteria))
		table := [][]string{{"", "option"}}
		for _, k := range v.Criteria[at:upTo] {
			table[0] = append(table[0], k.Heading())
		}
		table[0] = append(table[0], "")
		for _, c := range v.Compared() {
			row := []string{"", name(c.Option)}
			for _, f := range c.Figures[at:upTo] {
				row = append(row, f.Value+" "+format.PadLeft(f.Ratio, 6))
			}
			table = append(table, append(row, ""))
		}
		t.Add("")
		t.Columns(table)
	}
	for _, c := range v.Compared() {
		if c.Dominated != "" {
			t.Hang("  dominated: ", c.Option+": "+c.Dominated+".")
		}
	}
}

func (v *view) textChanges(t *format.Lines) {
	var all []string
	for _, row := range v.turns() {
		all = append(all, fmt.Sprintf("%s, now %s: at %s %s leads.", row[0], row[1], row[2], row[3]))
	}
	for _, row := range v.Changes() {
		all = append(all, strings.TrimSuffix(fmt.Sprintf("%s %s: %s: %s", row[0], row[1], row[2], row[3]), ": "))
	}
	textList(t, "what would change it", all)
}

func (v *view) textLease(t *format.Lines) {
	if v.Lease == nil {
		return
	}
	textList(t, "lease", []string{v.LeaseSay()})
	for _, c := range v.Tried() {
		t.Hang("  "+c.Look.Symbol+" ", fmt.Sprintf("tried %s: %s pauses with a double hold (%s %s), predicted %s: %s", c.TTL, c.Doubles, c.Observed, c.Interval, c.Predicted, c.Look.Word))
	}
}

// textLines lists cells, each with what it rests on.
func textLines(t *format.Lines, title string, lines []line) {
	var all []string
	for _, l := range lines {
		tail := []string{string(l.Tag)}
		for _, r := range l.Refs {
			tail = append(tail, r.ID)
		}
		all = append(all, l.String()+" ["+strings.Join(slices.Compact(tail), " ")+"]")
	}
	textList(t, title, all)
}

func textList(t *format.Lines, title string, all []string) {
	if len(all) == 0 {
		return
	}
	t.Add("")
	t.Add(title)
	for _, s := range all {
		t.Hang("  - ", s)
	}
}
