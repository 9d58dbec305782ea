package selection

import (
	"html/template"
	"slices"
	"strings"

	"lockbench/reports/format"
	"lockbench/reports/html"
)

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
