package selection

import (
	"cmp"
	"embed"
	"html/template"
	"strings"
	"time"

	"lockbench/reports/format"
	"lockbench/reports/html"
)

//go:embed templates
var templates embed.FS

// Page returns the whole report as one file that needs nothing else: no network, no program. It carries the report itself,
// so that anybody can work it out again: see ReadPage.
func Page(r *Report) ([]byte, error) {
	r, err := Scrubbed(r)
	if err != nil {
		return nil, err
	}
	funcs := template.FuncMap{"tags": tags, "help": helpOfTag, "groups": groups, "about": aboutOption,
		"refslice": func(r ref) []ref { return []ref{r} }}
	return html.Page(templates, funcs, newView(r), "templates/*.html.tmpl")
}

// Embedded is the report as the page carries it.
func (v *view) Embedded() (template.JS, error) { return html.Script(v.Report) }

// Tiles are the figures below the headline.
func (v *view) Tiles() []html.Tile {
	d := v.Decision
	tiles := []html.Tile{
		{Big: format.Count(len(v.Options)), Small: "options"},
		{Big: format.Count(len(d.Out)), Small: "eliminated"},
		{Big: format.Count(len(d.Survivors)), Small: "meet all requirements"},
		{Big: format.Count(len(v.ids()) - len(v.Report.Sources)), Small: "observations"},
	}
	if len(d.Wins) > 0 {
		tiles = append(tiles, html.Tile{Big: format.Percent(d.Wins[0].Share), Small: "of weightings won by " + d.Wins[0].Option})
	}
	return tiles
}

// tried is a lease that was tried.
type tried struct {
	TTL, Doubles, Observed, Interval, Predicted string
	Look                                        look
	Ref                                         ref
	Files                                       []historyLink
}

// source is a folder of results, with the way to it.
type source struct {
	Source
	Anchor, Link, Began string
}

// aboutOption says in a few words what an option takes.
func aboutOption(o Option) string {
	if o.Kind == NoLock {
		return "no lock"
	}
	parts := nonEmpty(strings.Join(nonEmpty(o.Store, o.Deployment), ", "), map[Lease]string{NoLease: "nothing ends a hold", Fixed: "a fixed lease",
		Renewed: "a lease that is renewed", Connection: "held by its connection"}[o.Lease])
	if o.Fences {
		parts = append(parts, "fencing tokens")
	}
	return "lock: " + strings.Join(parts, "; ")
}

// LeaseSay is the advice on the lease, with the figures that it follows from.
func (v *view) LeaseSay() string {
	l := v.Lease
	if l == nil {
		return ""
	}
	pauses := "The longest pause is " + setting(v.Needs.Pauses.Longest) + ", the longest work " + setting(v.Needs.Hold.Max) + ". "
	const beyond = " Longer pauses than that are not in the model: every probability is a lower bound."
	switch {
	case l.Lease == Connection:
		return "There is no lease to choose: a hold lasts as long as the connection of its holder."
	case l.Lease == NoLease:
		return "There is no lease to choose: nothing ends the hold of a holder that has died."
	case l.AdvisedNS > 0:
		return pauses + v.leaseTakeaway() + beyond
	}
	return pauses + "A lease of at least " + format.Setting(l.NeededNS) + " is needed, and " +
		cmp.Or(map[bool]string{true: "recovery is to be within " + setting(v.Needs.Recovery)}[v.Needs.Recovery > 0], "the longest that is tried is shorter") + "." + beyond
}

// Inputs are the times that the lease curve is made from, in rows.
func (v *view) Inputs() [][]string {
	if v.Lease == nil {
		return nil
	}
	var all [][]string
	for _, in := range v.Lease.Inputs {
		row := []string{in.Name, setting(in.Times.P50), setting(in.Times.P99), setting(in.Times.Max), string(tagOf(in.Tag)), strings.TrimSpace(strings.Join(in.Evidence, " ") + " " + in.Where)}
		switch {
		case in.Tag == Unknown:
			row[1], row[2], row[3], row[5] = format.None, format.None, format.None, "taken to last no time"
		case in.N > 0:
			row[1], row[2], row[3] = format.Duration(in.Times.P50), format.Duration(in.Times.P99), format.Duration(in.Times.Max)
			row[5] += ", " + format.Count(in.N) + " recorded"
		}
		all = append(all, row)
	}
	return all
}

// Tried are the leases that were tried.
func (v *view) Tried() []tried {
	if v.Lease == nil {
		return nil
	}
	var all []tried
	for _, c := range v.Lease.Confirmed {
		t := tried{TTL: format.Setting(c.TTLNS), Doubles: format.Count(c.Doubles) + " of " + format.Count(c.Pauses), Observed: chance(c.Share()), Predicted: chance(c.Predicted),
			Interval: "[" + chance(c.Low) + ", " + chance(c.High) + "]", Look: look{"✗", "differs", "bad"},
			Ref: v.ref(c.Source), Files: historyLinks(v.sources[c.Source].Dir, c.Histories)}
		if c.Agrees {
			t.Look = look{"✓", "agrees", "good"}
		}
		if c.Scale > 0 && c.Scale != 1 {
			t.TTL = format.Duration(c.InUse()) + " (tried as " + t.TTL + ", all times " + format.Times(c.Scale) + ")"
		}
		all = append(all, t)
	}
	return all
}

// Sources are the folders of results.
func (v *view) Sources() []source {
	var all []source
	for _, s := range v.Report.Sources {
		began := s.Started
		if at, err := time.Parse(time.RFC3339, s.Started); err == nil {
			began = format.When(at)
		}
		all = append(all, source{s, v.anchors[s.ID], link(s.Dir), began})
	}
	return all
}
