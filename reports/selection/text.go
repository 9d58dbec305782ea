package selection

import (
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/samber/lo"

	"lockbench/reports/format"
	"lockbench/reports/html"
)

type terminal struct {
	*view
	format.Lines
}

// Text writes the verdict, the candidates, what speaks against the choice and what would change it, for a terminal.
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
		t.Hang("  "+c.Look.Symbol+" ", fmt.Sprintf("tried %s: %s pauses with two holders (%s %s), predicted %s: %s", c.TTL, c.Doubles, c.Observed, c.Interval, c.Predicted, c.Look.Word))
	}
	t.list("conditions", lo.FilterMap(t.Needs.Asks(), func(a asked, _ int) (string, bool) {
		return a.Title + ": " + a.Answer + " [" + a.Tag + "]", a.Key == "hold" || a.Key == "pauses"
	}))
	t.list("not stated, so that defaults are assumed", nonEmpty(strings.Join(r.Needs.Assumed, ", ")))
	t.list("decide again when", t.Needs.Again())
	if n := len(r.Findings) + len(r.Figures) + len(r.Times); n > 0 {
		t.Add("")
		t.Paragraph(fmt.Sprintf("It rests on %s; `lockbench verify-report FILE ID` traces one.", format.Plural(n, "observation")))
	}
	_, err = t.WriteTo(w)
	return err
}

const widestName = 28 // the width at which a name is cut

func name(s string) string {
	letters := []rune(s)
	return lo.Ternary(len(letters) > widestName, string(letters[:min(len(letters), widestName-1)])+"…", s)
}

func (t *terminal) eliminated() {
	out := lo.Filter(t.Matrix(), func(j judged, _ int) bool { return j.Why.Title != "" })
	wide := lo.Max(lo.Map(t.Decision.Out, func(e Elimination, _ int) int { return format.Width(name(e.Option)) }))
	if wide > 0 {
		t.title("eliminated")
	}
	for _, j := range out {
		t.Hang(fmt.Sprintf("  %s %s  ", j.Why.Look.Symbol, format.Pad(name(j.Option.Name), wide)), j.Why.String())
	}
}

const abreast = 3 // how many criteria fit into a line

// compared writes the tables of the surviving locks, with as many criteria in each as fit.
func (t *terminal) compared() {
	all := t.Compared()
	if len(all) == 0 {
		return
	}
	t.title("meet all requirements; the median, and the ratio to the best")
	ranks := lo.Map(all, func(c judged, _ int) []string { return []string{c.Rank, name(c.Option.Name), c.Score, c.Won, ""} })
	t.Columns(append([][]string{{"rank", "candidate", "score", "won", ""}}, ranks...))
	for i, some := range lo.Chunk(t.Criteria, abreast) {
		headings := lo.Map(some, func(k Criterion, _ int) string { return k.Heading() })
		figures := lo.Map(all, func(c judged, _ int) []string {
			values := lo.Map(c.Figures[i*abreast:][:len(some)], func(f line, _ int) string { return f.Value + " " + format.PadLeft(f.Ratio, 6) })
			return slices.Concat([]string{"", name(c.Option.Name)}, values, []string{""})
		})
		t.Add("")
		t.Columns(append([][]string{slices.Concat([]string{"", "candidate"}, headings, []string{""})}, figures...))
	}
	for _, c := range all {
		if c.Dominated != "" {
			t.Hang("  dominated: ", c.Option.Name+": "+c.Dominated+".")
		}
	}
}

func (t *terminal) changes() []string {
	turns := lo.Map(t.turns(), func(row []string, _ int) string {
		return fmt.Sprintf("%s, now %s: at %s %s leads.", row[0], row[1], row[2], row[3])
	})
	return append(turns, lo.Map(t.Changes(), func(row []string, _ int) string {
		return strings.TrimSuffix(fmt.Sprintf("%s %s: %s: %s", row[0], row[1], row[2], row[3]), ": ")
	})...)
}

func tagged(lines []line) []string {
	return lo.Map(lines, func(l line, _ int) string {
		ids := lo.Map(l.Refs, func(r ref, _ int) string { return r.ID })
		return l.String() + " [" + strings.Join(slices.Compact(append([]string{string(l.Tag)}, ids...)), " ") + "]"
	})
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

// Markdown returns the recommendation as a decision record (MADR 4).
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

// newest returns the day of the newest evidence: the report itself has no clock.
func newest(r *Report) string {
	return lo.Max(lo.Map(r.Sources, func(s Source, _ int) string {
		day, _, dated := strings.Cut(s.Started, "T")
		return lo.Ternary(dated, day, "")
	}))
}

func mdText(s string) string {
	return strings.NewReplacer("_", `\_`, "#", `\#`, "://", `:\/\/`).Replace(format.Escaped(s))
}

func mdRow(cells []string) string {
	return "|" + strings.Join(lo.Map(cells, func(c string, _ int) string { return " " + mdText(c) + " |" }), "")
}

func mdIDs(l line) string {
	ids := strings.Join(lo.Map(l.Refs, func(r ref, _ int) string { return "`" + format.InCode(r.ID) + "`" }), ", ")
	return "(" + strings.Join(nonEmpty(string(l.Tag), ids), ": ") + ")"
}
