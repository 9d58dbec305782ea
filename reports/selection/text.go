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

// Text writes a summary of the report for a terminal. It contains the recommendation with its lease, confidence and
// main disadvantage, the eliminated candidates, and the scores. It also lists a few other disadvantages, and a few
// changes of requirements that would change the recommendation.
func Text(w io.Writer, r *Report) error {
	r, err := Scrubbed(r)
	if err != nil {
		return err
	}
	t := &terminal{view: newView(r), Lines: format.Lines{}}
	t.Paragraph(t.Look().Symbol + " " + t.Headline() + ".")
	facts := t.Summary()
	wide := lo.Max(lo.Map(facts, func(f fact, _ int) int { return format.Width(f.Name) }))
	for _, f := range facts {
		t.Hang("  "+format.Pad(f.Name, wide)+"  ", strings.Join(nonEmpty(f.Value, f.Text), ": "))
	}
	t.eliminated()
	t.compared()
	t.list("trade-offs", lo.FilterMap(t.Against(), func(l line, _ int) (string, bool) { return l.Short(), l.Short() != t.caveat() }))
	if t.Decision.Outcome != NothingFits { // otherwise the summary already lists the changes that would help
		t.list("what would change it", t.changes())
	}
	t.list("assumed, because you did not state them", nonEmpty(strings.Join(r.Needs.Assumed, ", ")))
	_, err = t.WriteTo(w)
	return err
}

const widestName = 28 // maximum width of a name; a longer name is cut

func name(s string) string {
	letters := []rune(s)
	return lo.Ternary(len(letters) > widestName, string(letters[:min(len(letters), widestName-1)])+"…", s)
}

// eliminated lists the eliminated candidates. Candidates with the same reason share an entry.
func (t *terminal) eliminated() {
	out := lo.Filter(t.Matrix(), func(j judged, _ int) bool { return j.Why.Title != "" })
	if len(out) > 0 {
		t.title(fmt.Sprintf("eliminated: %d of %s", len(out), format.Plural(len(t.Options), "candidate")))
	}
	for _, same := range lo.PartitionBy(out, func(j judged) string { return j.Why.Look.Symbol + j.Why.Short() }) {
		names := lo.Map(same, func(j judged, _ int) string { return name(j.Option.Name) })
		t.Hang("  "+same[0].Why.Look.Symbol+" ", strings.Join(names, ", ")+": "+same[0].Why.Short())
	}
}

const tableWidth, labelWidth = 98, 36 // width of the table of scores, and of its first two columns, in characters

// compared writes a table of the best candidates: their scores, and their figures by criterion.
func (t *terminal) compared() {
	all := t.Compared()
	if len(all) == 0 {
		return
	}
	t.title("scores of the candidates that meet all requirements: 1 is the best in every criterion")
	left := tableWidth - labelWidth
	shown := lo.Filter(all, func(j judged, _ int) bool {
		left -= 2 + max(format.Width(name(j.Option.Name)), format.Width(j.Score))
		return left >= 0
	})
	row := func(first, weight string, of func(judged) string) []string {
		return slices.Concat([]string{first, weight}, lo.Map(shown, func(j judged, _ int) string { return of(j) }), []string{""})
	}
	rows := [][]string{row("", "weight", func(j judged) string { return name(j.Option.Name) }), row("score", "", func(j judged) string { return j.Score })}
	for i, k := range t.Criteria {
		rows = append(rows, row(k.Heading(), format.Percent(k.Weight), func(j judged) string { return j.Figures[i].Value }))
	}
	t.Columns(rows)
	for _, c := range shown {
		if c.Dominated != "" {
			t.Hang("  ", c.Option.Name+" is not scored: "+c.Dominated+".")
		}
	}
	if more := len(all) - len(shown); more > 0 {
		t.Add(fmt.Sprintf("  (%d more in the report)", more))
	}
}

func (t *terminal) changes() []string {
	others := lo.Map(t.Changes(), func(row []string, _ int) string {
		return fmt.Sprintf("%s = %s: %s", row[0], row[1], strings.Join(nonEmpty(row[2], row[3]), ": "))
	})
	return append(others, lo.Map(t.Turns(), func(row []string, _ int) string {
		return fmt.Sprintf("%s, now %s: at %s, %s has the highest score", row[0], row[1], row[2], row[3])
	})...)
}

func (t *terminal) title(title string) {
	t.Add("")
	t.Add(title)
}

const mostListed = 3 // maximum number of entries in a list

func (t *terminal) list(title string, all []string) {
	if len(all) == 0 {
		return
	}
	t.title(title)
	for _, s := range all[:min(mostListed, len(all))] {
		t.Hang("  - ", s)
	}
	if more := len(all) - mostListed; more > 0 {
		t.Add(fmt.Sprintf("  (%d more in the report)", more))
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
		"chosen": r.Decision.chosen,
		"met":    func(j judged) []line { return j.answers(true) },
	}
	return html.Markdown(templates, funcs, newView(r), "record", "templates/decision.md.tmpl")
}

// newest returns the date of the newest evidence. The report uses this date instead of the current one, so the same
// evidence gives the same report.
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
