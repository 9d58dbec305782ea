package selection

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/samber/lo"

	"lockbench/reports/format"
)

// view is a report as it is shown: its methods return words and numbers ready to be printed.
type view struct {
	*Report
	options map[string]Option
	cells   map[[2]string]Cell // by option, and requirement or criterion
	sources map[string]Source
	anchors map[string]string // of an option, a finding, a figure or a source
}

func newView(r *Report) *view {
	v := &view{Report: r, options: lo.KeyBy(r.Options, func(o Option) string { return o.Name }), anchors: map[string]string{},
		cells:   lo.KeyBy(r.Cells, func(c Cell) [2]string { return [2]string{c.Option, c.Of} }),
		sources: lo.KeyBy(r.Sources, func(s Source) string { return s.ID })}
	for i, o := range r.Options {
		v.anchors["option "+o.Name] = fmt.Sprintf("option-%d", i+1)
	}
	for _, id := range v.ids() {
		v.anchors[id] = lo.Ternary(plainID.MatchString(id), id, fmt.Sprintf("evidence-%d", len(v.anchors)))
	}
	return v
}

var plainID = regexp.MustCompile(`^[A-Z][0-9]+$`)

func (v *view) ids() []string {
	return lo.Uniq(slices.Concat(lo.Map(v.Report.Sources, func(s Source, _ int) string { return s.ID }),
		lo.Map(v.Findings, func(f Finding, _ int) string { return f.ID }), lo.Map(v.Figures, func(f Figure, _ int) string { return f.ID }),
		lo.Map(v.Times, func(t RecordedTime, _ int) string { return t.ID })))
}

// look is a symbol, a word and a class for its colour, so that colour is never alone.
type look struct{ Symbol, Word, Class string }

var looks = map[string]look{
	string(OneLock):      {"✓", "One recommendation", "good"},
	string(ATie):         {"≈", "A tie", "unsure"},
	string(NoLockNeeded): {"◇", "No lock is needed", "good"},
	string(NothingFits):  {"✗", "Nothing fits", "bad"},
	string(Yes):          {"✓", "yes", "good"},
	string(No):           {"✗", "no", "bad"},
}

func lookOf[T ~string](of T, otherwise string) look {
	return cmp.Or(looks[string(of)], look{"?", otherwise, "unsure"})
}

func (v *view) Look() look { return lookOf(v.Decision.Outcome, "Not decided") }

type tagDoc struct {
	Tag Tag
	Doc string
}

func tags() []tagDoc {
	return []tagDoc{
		{Measured, "it was observed by lockbench; the ids lead to the runs"},
		{Documented, "the lock's own table, or its makers, say so"},
		{Assumed, "it rests on what the team said, or on a default"},
		{Unknown, "nothing is known: it never counts as a yes"},
	}
}

func helpOfTag(t Tag) string {
	doc, _ := lo.Find(tags(), func(d tagDoc) bool { return d.Tag == tagOf(t) })
	return doc.Doc
}

func tagOf(t Tag) Tag {
	return lo.Ternary(slices.Contains([]Tag{Measured, Documented, Assumed}, t), t, Unknown)
}

// Headline returns the recommendation in a few words.
func (d Decision) Headline() string {
	names := format.Joined(d.Recommended)
	switch {
	case d.Outcome == NothingFits:
		return "No candidate meets all requirements"
	case names == "":
		return "No recommendation"
	case d.Outcome == ATie:
		return "A tie: " + names + " cannot be told apart"
	case d.Outcome == NoLockNeeded:
		return "No lock is needed: " + names + " will do"
	}
	return "Choose " + names
}

// Lead returns what follows the headline: the figures, the lease and the main disadvantage.
func (v *view) Lead() []string {
	d := v.Decision
	all := []string{fmt.Sprintf("%d of %s meet all requirements.", len(d.Survivors), format.Plural(len(v.Options), "candidate"))}
	if s := d.Scores; len(s) > 1 && d.Outcome == OneLock {
		all = append(all, fmt.Sprintf("Score %s; next: %s, %s.", score(s[0].Score), s[1].Option, score(s[1].Score)))
	}
	if len(d.Out) > 0 && d.Outcome == NothingFits {
		nearest := slices.MinFunc(d.Out, func(a, b Elimination) int { return cmp.Compare(a.distance(), b.distance()) })
		all = append(all, fmt.Sprintf("Nearest: %s. Not met: %s. Not known: %s.", nearest.Option, v.titles(nearest.Fails), v.titles(nearest.Unsure)))
	}
	evidence := lo.FlatMap(v.Cells, func(c Cell, _ int) []string {
		return lo.Ternary(c.Answer == Yes && slices.Contains(d.Recommended, c.Option), c.Evidence, nil)
	})
	if len(evidence) > 0 {
		all = append(all, v.Sentence(Cell{Reason: Held, Evidence: evidence}))
	}
	if v.Lease != nil && v.Lease.AdvisedNS > 0 {
		all = append(all, fmt.Sprintf("Lease: %s.", format.Setting(v.Lease.AdvisedNS)))
	}
	if len(d.Against) > 0 {
		all = append(all, "Against it: "+v.line(d.Against[0]).String())
	}
	return all
}

// distance grows with the requirements that an option fails. It is greatest if it replaces a lock and does not apply.
func (e Elimination) distance() int {
	return 1000*len(e.Fails) + len(e.Unsure) + lo.Ternary(slices.Contains(e.Fails, "applies"), 1_000_000, 0)
}

func (v *view) titles(names []string) string {
	return cmp.Or(strings.Join(lo.Map(names, func(n string, _ int) string { return v.title(n) }), ", "), "none")
}

func (v *view) title(name string) string {
	r, _ := lo.Find(v.Report.Requirements, func(r Requirement) bool { return r.Name == name })
	return cmp.Or(r.Title, v.criterion(name).Title, name)
}

func (v *view) criterion(name string) Criterion {
	k, _ := lo.Find(v.Report.Criteria, func(k Criterion) bool { return k.Name == name })
	return k
}

// ref is an evidence id and its anchor on the page; empty if there is no such evidence.
type ref struct{ ID, Anchor string }

func (v *view) ref(id string) ref { return ref{id, v.anchors[id]} }

type line struct {
	Title, Text     string
	Look            look
	Value           string // of a criterion
	Interval, Ratio string // to the best of those that are compared
	Tag             Tag
	Refs            []ref
}

func (v *view) line(c Cell) line {
	l := line{Title: v.title(c.Of), Text: v.Sentence(c), Look: lookOf(c.Answer, "unknown"), Tag: tagOf(c.Tag),
		Refs: lo.Map(c.Evidence, func(id string, _ int) ref { return v.ref(id) })}
	if l.Title == c.Of && (c.Reason == Violated || c.Reason == ExpectedViolation) {
		l.Title = "" // a property, which the sentence names
	}
	if c.Option != "" && len(v.Decision.Recommended) > 1 {
		l.Title = strings.TrimSpace(c.Option + " " + l.Title)
	}
	return l
}

// String returns the line without its evidence.
func (l line) String() string { return strings.TrimPrefix(l.Title+": "+l.Text, ": ") }

func (l line) Label() string {
	return fmt.Sprintf("%s: %s (%s). %s", l.Title, l.Look.Word, l.Tag, l.Text)
}

// Small stands below the answer: its tag, unless the answer says it already.
func (l line) Small() string {
	if l.Tag == Unknown && l.Look.Word == string(DontKnow) {
		return "no evidence"
	}
	return string(l.Tag)
}

func (v *view) answer(option, requirement string) line {
	l := v.line(v.cells[[2]string{option, requirement}])
	l.Title = v.title(requirement)
	return l
}

func (v *view) Against() []line {
	return lo.Map(v.Decision.Against, func(c Cell, _ int) line { return v.line(c) })
}

// For returns the requirements that recommended options meet, and the criteria in which they beat others.
func (v *view) For() []line {
	best := func(c Cell) bool {
		own, _ := lo.Find(v.Decision.Scores, func(s Score) bool { return s.Option == c.Option })
		return own.Parts[c.Of] == 1 && lo.ContainsBy(v.Decision.Scores, func(s Score) bool { return s.Parts[c.Of] < 1 })
	}
	return lo.FilterMap(v.Cells, func(c Cell, _ int) (line, bool) {
		l := v.line(c)
		if c.Answer == "" {
			l.Title = "best " + l.Title
		}
		return l, slices.Contains(v.Decision.Recommended, c.Option) && (c.Answer == Yes || best(c))
	})
}

// judged is an option with its answers, and its figures if it is compared.
type judged struct {
	Option           Option
	Anchor           string
	Stays            bool
	Why              line // it is eliminated
	Answers          []line
	Counts           string // of the answers
	Figures          []line // of the criteria
	Rank, Score, Won string
	Dominated        string // by which lock, and in what
}

// Matrix returns all options: first the ones that stay, in display order, then the others.
func (v *view) Matrix() []judged {
	return slices.Concat(groups(lo.Map(v.Options, func(o Option, _ int) judged { return v.judged(o) }))...)
}

func (v *view) judged(o Option) judged {
	d := v.Decision
	j := judged{Option: o, Anchor: v.anchors["option "+o.Name], Stays: slices.Contains(d.Survivors, o.Name),
		Rank: format.None, Score: format.None, Won: format.None,
		Answers: lo.Map(v.Report.Requirements, func(r Requirement, _ int) line { return v.answer(o.Name, r.Name) })}
	counts := lo.CountValuesBy(j.Answers, func(l line) string { return l.Look.Word })
	j.Counts = fmt.Sprintf("%d yes, %d no, %d unknown", counts["yes"], counts["no"], counts["unknown"])
	for _, k := range v.Report.Criteria {
		if c, given := v.cells[[2]string{o.Name, k.Name}]; given || j.Stays && o.Kind == ALock {
			j.Figures = append(j.Figures, v.figure(c, k))
		}
	}
	if e, out := lo.Find(d.Out, func(e Elimination) bool { return e.Option == o.Name }); out {
		j.Why = v.answer(o.Name, e.Reason)
	}
	if s, scores := lo.Find(d.Scores, func(s Score) bool { return s.Option == o.Name }); scores {
		j.Rank, j.Score = fmt.Sprint(s.Rank), scored(s)
	}
	if w, wins := lo.Find(d.Wins, func(w Win) bool { return w.Option == o.Name }); wins {
		j.Won = format.Percent(w.Share)
	}
	if by, dominated := lo.Find(d.Dominated, func(by Dominated) bool { return by.Option == o.Name }); dominated {
		j.Dominated = fmt.Sprintf("%s is as good in every criterion, and better in %s", by.By, v.title(by.In))
	}
	return j
}

// groups parts the options into the ones that stay and the others; either may be missing.
func groups(all []judged) [][]judged {
	stay, out := lo.FilterReject(all, func(j judged, _ int) bool { return j.Stays })
	return lo.Filter([][]judged{stay, out}, func(of []judged, _ int) bool { return len(of) > 0 })
}

func (v *view) Choices() []judged { return v.named(v.Decision.Recommended) }

// OrLock returns the best locks, if none is needed.
func (v *view) OrLock() []judged {
	if v.Decision.Outcome != NoLockNeeded {
		return nil
	}
	return v.named(v.Decision.Lock)
}

func (v *view) named(names []string) []judged {
	return lo.FilterMap(names, func(name string, _ int) (judged, bool) {
		o, known := v.options[name]
		return v.judged(o), known
	})
}

func (v *view) Without() []judged {
	return lo.Filter(v.Matrix(), func(j judged, _ int) bool { return j.Option.Kind == NoLock })
}

// Open returns the answers that are not yes.
func (j judged) Open() []line { return j.answers(false) }

func (j judged) answers(yes bool) []line {
	return lo.Filter(j.Answers, func(l line, _ int) bool { return (l.Look.Word == "yes") == yes })
}
