package selection

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"lockbench/reports/charts"
	"lockbench/reports/format"

	"lockbench/internal/choose/decision"
)

// Text writes what a terminal shows: the verdict, who is out and why, who is left, what speaks against it and what would
// change it. An error is the writer's.
func Text(w io.Writer, r *decision.Report) error {
	r, err := decision.Scrubbed(r)
	if err != nil {
		return err
	}
	v := newView(r)
	d, t := r.Decision, &format.Lines{}
	l := lookOfOutcome(d.Outcome)
	t.Paragraph(l.Symbol + " " + l.Word + ". " + headline(d) + ".")
	t.Paragraph(d.Sentence)
	if d.Outcome == decision.NoLockNeeded && len(d.Lock) > 0 {
		t.Paragraph("If a lock is wanted all the same: " + format.Joined(d.Lock) + ".")
	}
	v.textOut(t)
	v.textCompared(t)
	textSaid(t, "what speaks for it", d.For)
	textSaid(t, "what speaks against it", d.Against)
	v.textChanges(t)
	v.textLease(t)
	textSaid(t, "conditions", d.Conditions)
	if len(r.Needs.Assumed) > 0 {
		t.Hang("  - ", "Nobody stated "+format.Joined(r.Needs.Assumed)+": defaults stand there. [assumed]")
	}
	textList(t, "ask again", d.Again)
	if n := len(r.Findings) + len(r.Figures) + len(r.Times); n > 0 {
		t.Add("")
		t.Paragraph(fmt.Sprintf("It rests on %s; `lockbench verify-report FILE ID` traces one.", format.Plural(n, "observation")))
	}
	_, err = io.WriteString(w, t.String())
	return err
}

// textOut has a line for each option that is out.
func (v *view) textOut(t *format.Lines) {
	if len(v.Decision.Out) == 0 {
		return
	}
	t.Add("")
	t.Add("out")
	wide := 0
	for _, k := range v.Decision.Out {
		wide = max(wide, format.Width(k.Option))
	}
	for _, k := range v.Decision.Out {
		sign := "✗"
		if len(k.Fails) == 0 {
			sign = "?"
		}
		mark := fmt.Sprintf("  %s %s  ", sign, format.Pad(k.Option, min(wide, widestName)))
		t.Add(mark + oneLine(k.Text, max(40, tableWidth-format.Width(mark))))
	}
}

// oneLine is as much of a text as a line has room for, in whole words.
func oneLine(text string, room int) string {
	all := strings.Fields(text)
	for n := len(all); n > 0; n-- {
		line := strings.Join(all[:n], " ")
		if n < len(all) {
			line += " …"
		}
		if format.Width(line) <= room {
			return line
		}
	}
	return charts.Short(text, float64(room), 1)
}

// widestName is as wide as a name may be without moving what stands beside it.
const widestName = 28

// textCompared is the table of those that are left; criteria for which a line has no room stand in another one below.
func (v *view) textCompared(t *format.Lines) {
	rows := v.comparedAll()
	if len(rows) == 0 {
		return
	}
	left, columns := [][]string{{"rank", "option"}}, [][]string{{"score"}, {"won"}}
	for _, k := range v.weighed() {
		columns = append(columns, []string{k.Heading()})
	}
	for _, c := range rows {
		left = append(left, []string{c.Rank, charts.Short(c.Option, widestName, 1)})
		columns[0], columns[1] = append(columns[0], v.scoreOf(c.Option)), append(columns[1], v.wonBy(c.Option))
		for i, f := range c.Figures {
			columns[i+2] = append(columns[i+2], f.Value+" "+format.PadLeft(f.brief(), 6))
		}
	}
	t.Add("")
	t.Add("left, compared by the median; beside it the ratio to the best")
	for i, table := range abreast(left, columns) {
		if i > 0 {
			t.Add("")
		}
		t.Columns(table)
	}
	for _, d := range v.Decision.Dominated {
		t.Hang("  outdone: ", d.Option+". "+d.Text)
	}
}

// tableWidth is how wide a table may be.
const tableWidth = 118

// abreast puts columns beside those at the left, as many as a line has room for, and the others into tables of their own.
func abreast(left, columns [][]string) [][][]string {
	var tables [][][]string
	room := 0
	for _, column := range columns {
		wide := columnWidth(column)
		if room < wide {
			var table [][]string
			for _, row := range left {
				table = append(table, slices.Clone(row))
			}
			tables, room = append(tables, table), tableWidth-columnWidth(columnOf(left, 0))-columnWidth(columnOf(left, 1))
		}
		room -= wide
		table := tables[len(tables)-1]
		for i, text := range column {
			table[i] = append(table[i], text)
		}
	}
	return tables
}

func columnOf(rows [][]string, i int) []string {
	var all []string
	for _, row := range rows {
		all = append(all, row[i])
	}
	return all
}

func columnWidth(column []string) int {
	wide := 0
	for _, text := range column {
		wide = max(wide, format.Width(text))
	}
	return wide + 2 // the space between two
}

// brief is the ratio as a terminal has room for it.
func (f figure) brief() string {
	if f.Best {
		return "best"
	}
	return strings.TrimSuffix(f.Ratio, " the best")
}

func (v *view) scoreOf(option string) string {
	i := slices.IndexFunc(v.Decision.Scores, func(s decision.Score) bool { return s.Option == option })
	if i < 0 {
		return format.None
	}
	return strings.TrimSpace(score(v.Decision.Scores[i].Score) + " " + scoreSpan(v.Decision.Scores[i]))
}

// wonBy is the share of the weightings in which an option is ahead.
func (v *view) wonBy(option string) string {
	i := slices.IndexFunc(v.Decision.Wins, func(w decision.Win) bool { return w.Option == option })
	if i < 0 {
		return format.None
	}
	return percent(v.Decision.Wins[i].Share)
}

func (v *view) textChanges(t *format.Lines) {
	var all []string
	for _, turn := range v.Decision.Turns {
		all = append(all, turn.Text)
	}
	for _, c := range v.Decision.Changes {
		all = append(all, fmt.Sprintf("%s %s: %s. %s", lookOfOutcome(c.Outcome).Symbol, c.Need, c.Value, c.Text))
	}
	textList(t, "what would change it", all)
}

func (v *view) textLease(t *format.Lines) {
	l := v.Lease
	if l == nil {
		return
	}
	t.Add("")
	t.Add("lease")
	if l.AdvisedNS > 0 {
		t.Hang("  ", fmt.Sprintf("%s for %s. %s", format.Setting(l.AdvisedNS), l.Option, l.Sentence))
	} else {
		t.Hang("  ", "No length of the lease does what is needed. "+l.Sentence)
	}
	for _, c := range v.tried() {
		t.Hang("  "+c.Look.Symbol+" ", fmt.Sprintf("tried: a lease of %s: %d double holds in %s (%s %s), predicted %s: %s",
			c.TTL, c.Doubles, format.Plural(c.Pauses, "pause"), c.Observed, c.Interval, c.Predicted, c.Look.Word))
	}
}

// textSaid lists sentences, each with what it rests on.
func textSaid(t *format.Lines, title string, statements []decision.Statement) {
	var all []string
	for _, s := range statements {
		tail := string(tagOf(s.Tag))
		if len(s.Evidence) > 0 {
			tail += ": " + strings.Join(s.Evidence, " ")
		}
		all = append(all, s.Text+" ["+tail+"]")
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
