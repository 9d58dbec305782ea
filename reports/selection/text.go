package selection

import (
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"lockbench/reports/format"
	"lockbench/reports/html"
)

// terminal is what a terminal shows.
type terminal struct {
	*view
	format.Lines
}

// Text writes what a terminal shows: the verdict, which options are eliminated and why, which are left, what speaks against
// the choice and what would change it. An error is the writer's.
func Text(w io.Writer, r *Report) error {
	r, err := Scrubbed(r)
	if err != nil {
		return err
	}
	t := &terminal{view: newView(r)}
	look := t.Look()
	t.Paragraph(look.Symbol + " " + look.Word + ". " + t.Decision.Headline() + ".")
	for _, s := range t.Lead() {
		t.Hang("  ", s)
	}
	if len(t.OrLock()) > 0 {
		t.Paragraph("If a lock is wanted all the same: " + format.Joined(t.Decision.Lock) + ".")
	}
	t.eliminated()
	t.compared()
	t.list("for it", tagged(t.For()))
	t.list("against it", tagged(t.Against()))
	t.list("what would change it", t.changes())
	t.list("lease", nonEmpty(t.LeaseSay()))
	for _, c := range t.Tried() {
		t.Hang("  "+c.Look.Symbol+" ", fmt.Sprintf("tried %s: %s pauses with a double hold (%s %s), predicted %s: %s", c.TTL, c.Doubles, c.Observed, c.Interval, c.Predicted, c.Look.Word))
	}
	var conditions []string
	for _, a := range t.Needs.Asks() {
		if a.Key == "hold" || a.Key == "pauses" {
			conditions = append(conditions, a.Title+": "+a.Answer+" ["+a.Tag+"]")
		}
	}
	t.list("conditions", conditions)
	t.list("not stated, so that defaults are assumed", nonEmpty(strings.Join(r.Needs.Assumed, ", ")))
	t.list("decide again when", t.Needs.Again())
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

func (t *terminal) eliminated() {
	wide := 0
	for _, k := range t.Decision.Out {
		wide = max(wide, format.Width(name(k.Option)))
	}
	if wide > 0 {
		t.title("eliminated")
	}
	for _, j := range t.Matrix() {
		if j.Why.Title != "" {
			t.Hang(fmt.Sprintf("  %s %s  ", j.Why.Look.Symbol, format.Pad(name(j.Option.Name), wide)), j.Why.String())
		}
	}
}

// abreast is how many criteria a line has room for.
const abreast = 3

// compared writes the table of the surviving locks; criteria beyond those that fit stand in another table below.
func (t *terminal) compared() {
	all := t.Compared()
	if len(all) == 0 {
		return
	}
	t.title("meet all requirements; the median, and the ratio to the best")
	table := [][]string{{"rank", "option", "score", "won", ""}}
	for _, c := range all {
		table = append(table, []string{c.Rank, name(c.Option.Name), c.Score, c.Won, ""})
	}
	t.Columns(table)
	at := 0
	for some := range slices.Chunk(t.Criteria, abreast) {
		table := [][]string{{"", "option"}}
		for _, k := range some {
			table[0] = append(table[0], k.Heading())
		}
		for _, c := range all {
			row := []string{"", name(c.Option.Name)}
			for _, f := range c.Figures[at : at+len(some)] {
				row = append(row, f.Value+" "+format.PadLeft(f.Ratio, 6))
			}
			table = append(table, row)
		}
		for i := range table {
			table[i] = append(table[i], "")
		}
		t.Add("")
		t.Columns(table)
		at += len(some)
	}
	for _, c := range all {
		if c.Dominated != "" {
			t.Hang("  dominated: ", c.Option.Name+": "+c.Dominated+".")
		}
	}
}

func (t *terminal) changes() []string {
	var all []string
	for _, row := range t.turns() {
		all = append(all, fmt.Sprintf("%s, now %s: at %s %s leads.", row[0], row[1], row[2], row[3]))
	}
	for _, row := range t.Changes() {
		all = append(all, strings.TrimSuffix(fmt.Sprintf("%s %s: %s: %s", row[0], row[1], row[2], row[3]), ": "))
	}
	return all
}

// tagged are lines, each with what it rests on.
func tagged(lines []line) []string {
	var all []string
	for _, l := range lines {
		tail := []string{string(l.Tag)}
		for _, r := range l.Refs {
			tail = append(tail, r.ID)
		}
		all = append(all, l.String()+" ["+strings.Join(slices.Compact(tail), " ")+"]")
	}
	return all
}

func (t *terminal) title(title string) {
	t.Add("")
	t.Add(title)
}

func (t *terminal) list(title string, all []string) {
	for i, s := range all {
		if i == 0 {
			t.title(title)
		}
		t.Hang("  - ", s)
	}
}

// Markdown returns the recommendation as a decision record (MADR 4), for the folder in which a team keeps those.
func Markdown(r *Report) ([]byte, error) {
	r, err := Scrubbed(r)
	if err != nil {
		return nil, err
	}
	funcs := template.FuncMap{
		"md": mdText, "ids": mdIDs, "about": aboutOption,
		"lower": strings.ToLower, "row": mdRow, "rule": func(n int) string { return "|" + strings.Repeat(" --- |", n) },
		"date":   func() string { return newest(r) },
		"chosen": func(o Option) bool { return slices.Contains(r.Decision.Recommended, o.Name) },
		"met":    func(j judged) []line { return j.answers(true) },
	}
	return html.Markdown(templates, funcs, newView(r), "record", "templates/decision.md.tmpl")
}

// newest is the day of the newest evidence: the report itself has no clock.
func newest(r *Report) string {
	day := ""
	for _, s := range r.Sources {
		if at, _, dated := strings.Cut(s.Started, "T"); dated {
			day = max(day, at)
		}
	}
	return day
}

// mdText is safe in Markdown: also not a heading, a list or a link of its own.
func mdText(s string) string {
	return strings.NewReplacer("_", `\_`, "#", `\#`, "://", `:\/\/`).Replace(format.Escaped(s))
}

func mdRow(cells []string) string {
	var b strings.Builder
	b.WriteString("|")
	for _, c := range cells {
		b.WriteString(" " + mdText(c) + " |")
	}
	return b.String()
}

// mdIDs are the tag of a line and the evidence ids behind it.
func mdIDs(l line) string {
	var all []string
	for _, r := range l.Refs {
		all = append(all, "`"+format.InCode(r.ID)+"`")
	}
	if len(all) == 0 {
		return "(" + string(l.Tag) + ")"
	}
	return "(" + string(l.Tag) + ": " + strings.Join(all, ", ") + ")"
}
