package selection

import (
	"bytes"
	"slices"
	"strings"
	"text/template"
	"time"

	"lockbench/reports/format"

	"lockbench/internal/choose/decision"
)

// record is the decision record: what the page has, in the order that MADR 4 gives it.
type record struct {
	*page
	Date    string // of the newest evidence: the report itself has no clock
	Problem string
	Drivers []driver
	Options []pros
}

// driver is a requirement or a criterion, and why it is one.
type driver struct{ Kind, Title, Because string }

// pros are what is good, neutral and bad about one option.
type pros struct {
	judged
	About             string
	Good, Unsure, Bad []answered
	Chosen            bool
}

// Markdown is the recommendation as a decision record, for the folder in which a team keeps those.
func Markdown(r *decision.Report) ([]byte, error) {
	r, err := decision.Scrubbed(r)
	if err != nil {
		return nil, err
	}
	p, err := newPage(r)
	if err != nil {
		return nil, err
	}
	all := template.FuncMap{
		"md": mdText, "code": mdCode, "ids": mdIDs, "titles": format.Joined, "setting": format.Setting,
		"yes": mdAnswers, "lower": strings.ToLower,
	}
	t, err := template.New("record").Funcs(all).ParseFS(templates, "templates/decision.md.tmpl")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "record", newRecord(p)); err != nil {
		return nil, err
	}
	return format.Tidy(b.Bytes()), nil
}

func newRecord(p *page) *record {
	rec := &record{page: p, Problem: "What keeps two from doing the same thing at once?"}
	if p.Needs.Guards != "" {
		rec.Problem = "What keeps two from changing " + p.Needs.Guards + " at once?"
	}
	var newest time.Time
	for _, s := range p.Report.Sources {
		if at, err := time.Parse(time.RFC3339, s.Started); err == nil && at.After(newest) {
			newest, rec.Date = at, at.UTC().Format(time.DateOnly)
		}
	}
	for _, r := range p.Requirements {
		rec.Drivers = append(rec.Drivers, driver{orElse(r.Safety, "required, for safety", "required, for use"), r.Title, r.Because})
	}
	for _, c := range p.Criteria {
		rec.Drivers = append(rec.Drivers, driver{"compared, with a weight of " + percent(c.Weight), c.Title, c.Doc})
	}
	for _, j := range p.Matrix {
		rec.Options = append(rec.Options, prosOf(j, slices.Contains(p.Decision.Recommended, j.Option.Name)))
	}
	return rec
}

// prosOf parts the answers.
func prosOf(j judged, chosen bool) pros {
	o := pros{judged: j, About: aboutOption(j.Option), Chosen: chosen}
	for _, a := range j.Answers {
		switch a.Look.Word {
		case string(decision.Yes):
			o.Good = append(o.Good, a)
		case string(decision.No):
			o.Bad = append(o.Bad, a)
		default:
			o.Unsure = append(o.Unsure, a)
		}
	}
	return o
}

// mdText is harmless in Markdown: also not as a heading, a list or a link of its own.
func mdText(s any) string {
	var text string
	switch s := s.(type) {
	case string:
		text = s
	case decision.Tag:
		text = string(s)
	}
	return strings.NewReplacer("_", `\_`, "#", `\#`, "://", `:\/\/`).Replace(format.Clean(format.Escaped(text)))
}

// mdCode is what stands between backquotes.
func mdCode(s string) string { return format.Clean(format.InCode(s)) }

// mdIDs are evidence ids behind a sentence.
func mdIDs(refs []ref) string {
	var all []string
	for _, r := range refs {
		all = append(all, "`"+mdCode(r.ID)+"`")
	}
	return strings.Join(all, ", ")
}

// mdAnswers names the requirements of some answers.
func mdAnswers(all []answered) string {
	var titles []string
	for _, a := range all {
		titles = append(titles, a.Title)
	}
	return format.Joined(titles)
}
