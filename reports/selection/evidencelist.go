package selection

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/samber/lo"

	"lockbench/checker"
	"lockbench/reports/bench"
	"lockbench/reports/format"
)

type proof struct {
	Ref          ref
	What, Where  string // property or metric, and conditions such as workload, fault and lease
	N            string
	Look         look
	Result, Note string
	Source       ref
	Dir, Link    string // folder of the evidence, and a link to the folder; the link is empty if the path is unsafe
	Histories    []historyLink
	Command      string // command that verifies the evidence; FILE is the report
}

type historyLink struct{ File, Link, Short, Sum string }

// Proofs returns the evidence by candidate. The key "" holds evidence that belongs to no candidate.
func (v *view) Proofs() map[string][]proof {
	rows := map[string][]proof{}
	add := func(option string, p proof) { rows[option] = append(rows[option], p) }
	for _, f := range v.Findings {
		add(v.optionOf(f.ID, f.Lock, f.Deployment), v.findingProof(f))
	}
	for _, f := range v.Figures {
		add(v.optionOf(f.ID, f.Lock, f.Deployment), v.figureProof(f))
	}
	for _, t := range v.Times {
		p := proof{What: "recorded: " + t.What, Where: t.Where, N: format.Plural(int(t.N), "time"), Look: look{"", "", "calm"}}
		if n := len(t.Quantiles); n > 0 {
			p.Result = fmt.Sprintf("median %s, at most %s", format.Duration(t.Quantiles[n/2]), format.Duration(t.Quantiles[n-1]))
		}
		add(v.optionOf(t.ID, t.Lock, ""), v.placed(p, t.ID, t.Source, "", t.Histories))
	}
	return rows
}

// optionOf returns the name of the candidate to which the evidence belongs. If a table cell refers to the evidence, it
// returns the candidate of the cell. Otherwise it returns the candidate with the name of the lock, or "" if no
// candidate has this name.
func (v *view) optionOf(id, lock, deployment string) string {
	c, _ := lo.Find(v.Cells, func(c Cell) bool { return slices.Contains(c.Evidence, id) })
	return cmp.Or(c.Option, v.options[lock+"@"+deployment].Name, v.options[lock].Name)
}

func conditions(what, fault, scenario string, clients int, ttl int64) string {
	return strings.Join(nonEmpty(what, fault, scenario, lo.Ternary(clients > 0, format.Plural(clients, "client"), ""),
		lo.Ternary(ttl > 0, "lease "+format.Setting(ttl), "")), ", ")
}

func (v *view) findingProof(f Finding) proof {
	p := proof{What: f.Property, Where: conditions(f.Workload, "fault "+f.Fault, f.Scenario, f.Clients, f.TTLNS), Result: f.Evidence,
		N: format.Plural(f.Trials, "trial") + ", " + format.Plural(f.Operations, "operation"), Note: f.Why, Look: look{"?", "undecided", "unsure"}}
	switch f.Observed {
	case checker.Held:
		p.Look = look{"✓", "no violation", "good"}
	case checker.NotApplicable:
		p.Look = look{"·", "not applicable", "calm"}
	case checker.Violated:
		p.Look, p.Result, p.Note = look{"✗", "violated", "bad"}, fmt.Sprintf("in %d of %s", f.ViolatedIn, format.Plural(f.Trials, "trial")), strings.TrimSpace(f.Example+" "+f.Why)
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
	return lo.Map(histories, func(h History, _ int) historyLink {
		return historyLink{File: h.File, Link: link(dir, h.File), Short: h.SHA256[:min(12, len(h.SHA256))], Sum: h.SHA256}
	})
}

// link returns a relative URL from the report to a file in the folder of a run or benchmark. If the path is unsafe, it
// returns "". Only the path of the folder may begin with "../".
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
		steps = append(steps, lo.Map(strings.Split(p, "/"), func(step string, _ int) string { return url.PathEscape(step) })...)
	}
	return up + strings.Join(steps, "/")
}

// isClean reports whether p is a relative path that stays within its folder. It rejects colons, backslashes and unprintable
// characters.
func isClean(p string) bool {
	odd := func(c rune) bool { return c == ':' || c == '\\' || !unicode.IsPrint(c) }
	return p == path.Clean(p) && p != "." && p != ".." && !strings.HasPrefix(p, "../") && p[0] != '/' && !strings.ContainsFunc(p, odd)
}
