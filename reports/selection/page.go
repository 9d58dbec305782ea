package selection

import (
	"embed"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"

	"lockbench/reports/format"
	"lockbench/reports/html"
)

//go:embed templates
var templates embed.FS

// Page returns the report as one HTML file without scripts and without links to a network. ReadPage reads the report from this
// file.
func Page(r *Report) ([]byte, error) {
	r, err := Scrubbed(r)
	if err != nil {
		return nil, err
	}
	funcs := template.FuncMap{"tags": tags, "help": helpOfTag, "groups": groups, "about": aboutOption, "chosen": r.Decision.chosen,
		"refslice": func(r ref) []ref { return []ref{r} }}
	return html.Page(templates, funcs, newView(r), "templates/*.html.tmpl")
}

func (v *view) Embedded() (template.JS, error) { return html.Script(v.Report) }

type tried struct {
	TTL, Overlaps, Observed, Interval, Predicted string
	Look                                         look
	Ref                                          ref
	Files                                        []historyLink
}

type source struct {
	Source
	Anchor, Link, Began string
}

func (d Decision) chosen(o Option) bool { return slices.Contains(d.Recommended, o.Name) }

func aboutOption(o Option) string {
	if o.Kind == NoLock {
		return "no lock"
	}
	ends := map[Lease]string{NoLease: "nothing ends a hold", Fixed: "a fixed lease",
		Renewed: "a lease that is renewed", Connection: "held by its connection"}
	place := strings.Join(nonEmpty(o.Store, o.Deployment), ", ")
	return "lock: " + strings.Join(nonEmpty(place, ends[o.Lease], lo.Ternary(o.Fences, "fencing tokens", "")), "; ")
}

// Inputs returns a table row for each duration from which the lease predictions are calculated.
func (v *view) Inputs() [][]string {
	return lo.Map(lo.FromPtr(v.Lease).Inputs, func(in LeaseInput, _ int) []string {
		times, from := setting, strings.TrimSpace(strings.Join(in.Evidence, " ")+" "+in.Where)
		switch {
		case in.Tag == Unknown:
			times, from = func(time.Duration) string { return format.None }, "taken to last no time"
		case in.N > 0:
			times, from = format.Duration[time.Duration], from+", "+format.Count(in.N)+" recorded"
		}
		return []string{in.Name, times(in.Times.P50), times(in.Times.P99), times(in.Times.Max), string(tagOf(in.Tag)), from}
	})
}

func (v *view) Tried() []tried {
	return lo.Map(lo.FromPtr(v.Lease).Confirmed, func(c Confirmed, _ int) tried {
		t := tried{TTL: format.Setting(c.TTLNS), Overlaps: format.Count(c.Overlaps) + " of " + format.Count(c.Pauses), Observed: chance(c.Share()), Predicted: chance(c.Predicted),
			Interval: "[" + chance(c.Low) + ", " + chance(c.High) + "]", Look: lo.Ternary(c.Agrees, look{"✓", "agrees", "good"}, look{"✗", "differs", "bad"}),
			Ref: v.ref(c.Source), Files: historyLinks(v.sources[c.Source].Dir, c.Histories)}
		if c.Scale > 0 && c.Scale != 1 {
			t.TTL = format.Duration(c.InUse()) + " (tried as " + t.TTL + ", all times " + format.Times(c.Scale) + ")"
		}
		return t
	})
}

func (v *view) Sources() []source {
	return lo.Map(v.Report.Sources, func(s Source, _ int) source {
		began := s.Started
		if at, err := time.Parse(time.RFC3339, s.Started); err == nil {
			began = format.When(at)
		}
		return source{s, v.anchors[s.ID], link(s.Dir), began}
	})
}
