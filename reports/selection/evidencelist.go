package selection

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"lockbench/checker"
	"lockbench/reports/bench"
	"lockbench/reports/format"
)

// proofs is all that was observed of one option.
type proofs struct {
	Title, Anchor string
	Rows          []proof
}

// proof is one finding, figure or recorded time.
type proof struct {
	Ref          ref
	What, Where  string // and under what conditions
	N            string
	Look         look
	Result, Note string
	Source       ref
	Dir, Link    string // of the folder; no link if its path is not clean
	Histories    []historyLink
	Command      string // that recomputes it; FILE is where the reader keeps the report
}

// historyLink leads to a history that something rests on.
type historyLink struct{ File, Link, Short, Sum string }

// Proofs are by option, in display order; last what was observed of anything else.
func (v *view) Proofs() []proofs {
	rows := map[string][]proof{}
	for _, f := range v.Findings {
		o := v.optionOf(f.ID, f.Lock, f.Deployment)
		rows[o] = append(rows[o], v.findingProof(f))
	}
	for _, f := range v.Figures {
		o := v.optionOf(f.ID, f.Lock, f.Deployment)
		rows[o] = append(rows[o], v.figureProof(f))
	}
	for _, t := range v.Times {
		p := proof{What: "recorded: " + t.What, Where: t.Where, N: format.Plural(int(t.N), "time"), Look: look{"", "", "calm"}}
		if n := len(t.Quantiles); n > 0 {
			p.Result = fmt.Sprintf("median %s, at most %s", format.Duration(t.Quantiles[n/2]), format.Duration(t.Quantiles[n-1]))
		}
		o := v.optionOf(t.ID, t.Lock, "")
		rows[o] = append(rows[o], v.placed(p, t.ID, t.Source, "", t.Histories))
	}
	var all []proofs
	for _, o := range v.Options {
		if len(rows[o.Name]) > 0 {
			all = append(all, proofs{o.Name, "evidence-of-" + v.anchors["option "+o.Name], rows[o.Name]})
		}
	}
	if len(rows[""]) > 0 {
		all = append(all, proofs{"No option", "evidence-of-others", rows[""]})
	}
	return all
}

// optionOf returns the option that something observed of a lock speaks of: one whose answers rest on it, or else one of its
// name; "" if it is none of them.
func (v *view) optionOf(id, lock, deployment string) string {
	for _, c := range v.Cells {
		if slices.Contains(c.Evidence, id) {
			return c.Option
		}
	}
	for _, name := range []string{lock + "@" + deployment, lock} {
		if _, known := v.options[name]; known {
			return name
		}
	}
	return ""
}

// conditions are those under which something was observed.
func conditions(what, fault, scenario string, clients int, ttl int64) string {
	all := nonEmpty(what, fault, scenario)
	if clients > 0 {
		all = append(all, format.Plural(clients, "client"))
	}
	if ttl > 0 {
		all = append(all, "lease "+format.Setting(ttl))
	}
	return strings.Join(all, ", ")
}

func (v *view) findingProof(f Finding) proof {
	p := proof{What: f.Property, Where: conditions(f.Workload, "fault "+f.Fault, f.Scenario, f.Clients, f.TTLNS), Result: f.Weight,
		N: format.Plural(f.Trials, "trial") + ", " + format.Plural(f.Operations, "operation"), Note: f.Why, Look: look{"?", "undecided", "unsure"}}
	switch f.Observed {
	case checker.Held:
		p.Look = look{"✓", "no violation", "good"}
	case checker.NotApplicable:
		p.Look = look{"·", "not applicable", "calm"}
	case checker.Violated:
		p.Look, p.Result, p.Note = look{"✗", "violated", "bad"}, fmt.Sprintf("in %d of %s", f.ViolatedIn, format.Plural(f.Trials, "trial")), strings.TrimSpace(f.Witness+" "+f.Why)
	}
	return v.placed(p, f.ID, f.Source, f.Dir, f.Histories)
}

func (v *view) figureProof(f Figure) proof {
	p := proof{What: f.Metric, N: format.Plural(f.Estimate.N, "trial"), Where: conditions(f.Point.Section, "fault "+f.Point.Fault, "", f.Point.Clients, f.Point.TTLNS), Look: look{"", "", "calm"},
		Result: strings.TrimSpace(amount(f.Estimate.Median, f.Unit) + " " + format.Span(f.Estimate.Low, f.Estimate.High)), Note: strings.Join(nonEmpty(f.Unsafe, f.Limited), "; ")}
	if m, known := bench.FindMetric(f.Metric); known {
		p.What = m.Title
	}
	if f.Unsafe != "" {
		p.Result, p.Look = "it does not count", look{"✗", "unsafe", "bad"}
	}
	return v.placed(p, f.ID, f.Source, f.Dir, f.Histories)
}

// placed adds where a proof lies, and how it is traced.
func (v *view) placed(p proof, id, source, dir string, histories []History) proof {
	s := v.sources[source]
	p.Ref, p.Source, p.Histories = v.ref(id), v.ref(source), historyLinks(s.Dir, histories)
	p.Dir, p.Link = cmp.Or(dir, s.Dir), link(s.Dir, nonEmpty(dir)...)
	if plainID.MatchString(id) {
		p.Command = "lockbench verify-report FILE " + id
	}
	return p
}

func historyLinks(dir string, histories []History) []historyLink {
	var all []historyLink
	for _, h := range histories {
		k := historyLink{File: h.File, Sum: h.SHA256, Short: h.SHA256[:min(12, len(h.SHA256))]}
		if h.File != "" {
			k.Link = link(dir, h.File)
		}
		all = append(all, k)
	}
	return all
}

// link is the way from the report to a file of a source: the folder of the source, as seen from the report, and what lies
// in it. It is empty for anything but a clean relative path: the parts come from files that others may have written. A
// source may lie beside the report; what is said to be in a source never lies outside of it.
func link(source string, within ...string) string {
	below := strings.TrimLeft(source, "./")
	up, _ := strings.CutSuffix(source, below)
	if up != strings.Repeat("../", len(up)/3) {
		return ""
	}
	var steps []string
	for _, p := range append([]string{below}, within...) {
		if !isClean(p) {
			return ""
		}
		for step := range strings.SplitSeq(p, "/") {
			steps = append(steps, url.PathEscape(step))
		}
	}
	return up + strings.Join(steps, "/")
}

// isClean tells whether a path leads downwards, and nothing else: a scheme, a host or a way up are none of it.
func isClean(p string) bool {
	odd := func(c rune) bool { return c == ':' || c == '\\' || !unicode.IsPrint(c) }
	return p == path.Clean(p) && p != "." && p != ".." && !strings.HasPrefix(p, "../") && p[0] != '/' && !strings.ContainsFunc(p, odd)
}
