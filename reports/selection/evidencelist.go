package selection

import (
	"fmt"
	"strings"

	"lockbench/checker"
	"lockbench/reports/format"

	"lockbench/internal/choose/decision"
)

// proofs is all that was observed of one option.
type proofs struct {
	Title  string
	Anchor string
	About  string // how many there are
	Rows   []proof
}

// proof is one finding or figure.
type proof struct {
	Ref       ref
	What      string
	Where     string // the conditions
	N         string
	Look      look
	Result    string
	Doubt     string // why it is undecided, or means little
	Source    ref
	Dir       string
	Link      string // of the folder; empty where it is not clean
	Histories []kept
	Command   string
}

// kept is a history that something rests on.
type kept struct{ File, Link, Short, Sum string }

// proofsAll are by option, in display order; last what was observed of anything else.
func (v *view) proofsAll() []proofs {
	byOption := map[string][]proof{}
	for _, f := range v.Findings {
		o := v.optionOf(f.ID, f.Lock, f.Deployment)
		byOption[o] = append(byOption[o], v.finding(f))
	}
	for _, f := range v.Figures {
		o := v.optionOf(f.ID, f.Lock, f.Deployment)
		byOption[o] = append(byOption[o], v.figureProof(f))
	}
	for _, t := range v.Times {
		o := v.optionOf(t.ID, t.Lock, "")
		byOption[o] = append(byOption[o], v.timeProof(t))
	}
	var all []proofs
	for _, o := range v.Options {
		if rows := byOption[o.Name]; len(rows) > 0 {
			all = append(all, proofs{Title: o.Name, Anchor: "evidence-of-" + v.anchorOf(o.Name), Rows: rows})
		}
	}
	if rows := byOption[""]; len(rows) > 0 {
		all = append(all, proofs{Title: "What is no option here", Anchor: "evidence-of-others", Rows: rows})
	}
	for i := range all {
		all[i].About = format.Plural(len(all[i].Rows), "observation")
	}
	return all
}

func (v *view) finding(f decision.Finding) proof {
	p := proof{
		What:  f.Property,
		Where: strings.Join(nonEmpty(f.Workload, underFault(f.Fault), inScenario(f.Scenario), clientsText(f.Clients), leaseText(f.TTLNS)), ", "),
		N:     format.Plural(f.Trials, "trial") + ", " + format.Plural(f.Operations, "operation"), Doubt: f.Why, Look: lookOfObserved(f.Observed),
	}
	p.Result = f.Weight
	if f.Observed == checker.Held && f.Weight != "" {
		p.Result = "in " + f.Weight
	}
	if f.Observed == checker.Violated {
		p.Result = fmt.Sprintf("in %d of %s", f.ViolatedIn, format.Plural(f.Trials, "trial"))
		if f.Witness != "" {
			p.Doubt = strings.TrimSpace(f.Witness + " " + f.Why)
		}
	}
	return v.placed(p, f.ID, f.Source, f.Dir, f.Histories)
}

func (v *view) figureProof(f decision.Figure) proof {
	point := f.Point
	p := proof{
		What: metricTitle(f.Metric), N: format.Plural(f.Estimate.N, "trial"), Look: look{"", "", "calm"},
		Where: strings.Join(nonEmpty(point.Section, underFault(point.Fault), clientsText(point.Clients), leaseText(point.TTLNS)), ", "),
		Doubt: strings.Join(nonEmpty(f.Unsafe, f.Limited), "; "),
	}
	p.Result = strings.TrimSpace(amount(f.Estimate.Median, f.Unit) + " " + format.Span(f.Estimate.Low, f.Estimate.High))
	if f.Unsafe != "" {
		p.Result, p.Look = "it means nothing", look{"✗", "unsafe", "bad"}
	}
	return v.placed(p, f.ID, f.Source, f.Dir, f.Histories)
}

func (v *view) timeProof(t decision.RecordedTime) proof {
	p := proof{What: "recorded: " + t.What, Where: t.Where, N: format.Count(int(t.N)) + " times", Look: look{"", "", "calm"}}
	if n := len(t.Quantiles); n > 0 {
		p.Result = fmt.Sprintf("median %s, at most %s", format.Duration(float64(t.Quantiles[n/2])), format.Duration(float64(t.Quantiles[n-1])))
	}
	return v.placed(p, t.ID, t.Source, "", t.Histories)
}

// placed says where a proof lies, and how it is traced.
func (v *view) placed(p proof, id, source, dir string, histories []decision.History) proof {
	s := v.sources[source]
	p.Ref, p.Source, p.Dir = ref{id, v.anchors[id]}, ref{source, v.anchors[source]}, dir
	p.Link = link(s.Dir, dir)
	if dir == "" {
		p.Dir, p.Link = s.Dir, link(s.Dir)
	}
	p.Histories = historiesOf(s.Dir, histories)
	p.Command = trace(id)
	return p
}

func historiesOf(dir string, histories []decision.History) []kept {
	var all []kept
	for _, h := range histories {
		k := kept{File: h.File, Sum: h.SHA256, Short: h.SHA256[:min(12, len(h.SHA256))]}
		if h.File != "" {
			k.Link = link(dir, h.File)
		}
		all = append(all, k)
	}
	return all
}

// trace is the command that recomputes what an id stands for. FILE is where the reader keeps the report.
func trace(id string) string {
	if !plainID.MatchString(id) {
		return ""
	}
	return "lockbench verify-report FILE " + id
}

func lookOfObserved(o checker.Observed) look {
	switch o {
	case checker.Held:
		return look{"✓", "no violation", "good"}
	case checker.Violated:
		return look{"✗", "violated", "bad"}
	case checker.NotApplicable:
		return look{"·", "not applicable", "calm"}
	}
	return look{"?", "undecided", "unsure"}
}

func nonEmpty(all ...string) []string {
	var kept []string
	for _, s := range all {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return kept
}

func underFault(fault string) string {
	if fault == "" || fault == "none" {
		return "no fault"
	}
	return "under " + fault
}

func inScenario(s string) string {
	if s == "" {
		return ""
	}
	return "scenario " + s
}

func clientsText(n int) string {
	if n == 0 {
		return ""
	}
	return format.Plural(n, "client")
}

func leaseText(ns int64) string {
	if ns == 0 {
		return ""
	}
	return "a lease of " + format.Setting(ns)
}
