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

// view formats a report for templates and the terminal. Its methods return words and numbers as text.
type view struct {
	*Report
	options map[string]Option
	cells   map[[2]string]Cell // table cells, by name of the candidate and name of the requirement or criterion
	sources map[string]Source
	anchors map[string]string // HTML anchors, by name of a candidate or by id of a finding, figure or source
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

// look is a symbol and a word, with the CSS class of their colour.
type look struct{ Symbol, Word, Class string }

var looks = map[string]look{
	string(OneLock):      {"✓", "Recommendation", "good"},
	string(ATie):         {"≈", "A tie", "unsure"},
	string(NoLockNeeded): {"◇", "No lock is needed", "calm"},
	string(NothingFits):  {"✗", "No recommendation", "unsure"},
	string(Yes):          {"✓", "yes", "good"},
	string(No):           {"✗", "no", "bad"},
}

func lookOf[T ~string](of T, otherwise string) look {
	return cmp.Or(looks[string(of)], look{"?", otherwise, "unsure"})
}

// Look returns the symbol, word and colour of the outcome. The colour is green only if confidence is not low and no
// recommended lock has an observed violation.
func (v *view) Look() look {
	l := lookOf(v.Decision.Outcome, "Not decided")
	level, _ := v.Confidence()
	if l.Class == "good" && (level == "low" || slices.ContainsFunc(v.Decision.Against, func(c Cell) bool { return c.Reason == Violated })) {
		l.Class = "unsure"
	}
	return l
}

type tagDoc struct {
	Tag Tag
	Doc string
}

func tags() []tagDoc {
	return []tagDoc{
		{Measured, "observed by lockbench; the ids lead to the runs"},
		{Documented, "stated by the documentation or by the expectations of the lock"},
		{Assumed, "follows from what you stated, or from a default"},
		{Unknown, "not known: it never counts as a yes"},
	}
}

func helpOfTag(t Tag) string {
	doc, _ := lo.Find(tags(), func(d tagDoc) bool { return d.Tag == tagOf(t) })
	return doc.Doc
}

func tagOf(t Tag) Tag {
	return lo.Ternary(slices.Contains([]Tag{Measured, Documented, Assumed}, t), t, Unknown)
}

func (v *view) title(name string) string {
	r, _ := lo.Find(v.Report.Requirements, func(r Requirement) bool { return r.Name == name })
	return cmp.Or(r.Title, v.criterion(name).Title, name)
}

func (v *view) criterion(name string) Criterion {
	k, _ := lo.Find(v.Report.Criteria, func(k Criterion) bool { return k.Name == name })
	return k
}

// ref is an evidence id and its anchor on the page. The anchor is empty if the evidence does not exist.
type ref struct{ ID, Anchor string }

func (v *view) ref(id string) ref { return ref{id, v.anchors[id]} }

type line struct {
	Title, Text     string
	Brief           string // the statement in the field Text, without the test conditions and the example
	Look            look
	Value           string // measured value, for a criterion
	Interval, Ratio string // confidence interval of Value, and Value divided by the best value of the criterion
	Tag             Tag
	Refs            []ref
}

func (v *view) line(c Cell) line {
	l := line{Title: v.title(c.Of), Text: v.sentence(c, true), Brief: v.sentence(c, false), Look: lookOf(c.Answer, "unknown"), Tag: tagOf(c.Tag),
		Refs: lo.Map(c.Evidence, func(id string, _ int) ref { return v.ref(id) })}
	if l.Title == c.Of && (c.Reason == Violated || c.Reason == ExpectedViolation) {
		l.Title = "" // omit the title, because the sentence names the property
	}
	if c.Option != "" && len(v.Decision.Recommended) > 1 {
		l.Title = strings.TrimSpace(c.Option + " " + l.Title)
	}
	return l
}

// String returns the title and the text.
func (l line) String() string { return strings.TrimPrefix(l.Title+": "+l.Text, ": ") }

// Short returns the title and a short text of a statement about a candidate. The short text omits test conditions and
// examples.
func (l line) Short() string { return strings.TrimPrefix(l.Title+": "+l.Brief, ": ") }

// Label returns a tooltip for a statement about a candidate: its title, answer, kind of evidence and text.
func (l line) Label() string {
	return fmt.Sprintf("%s: %s (%s). %s", l.Title, l.Look.Word, l.Tag, l.Text)
}

func (v *view) answer(option, requirement string) line {
	l := v.line(v.cells[[2]string{option, requirement}])
	l.Title = v.title(requirement)
	return l
}

// Against returns the disadvantages of the recommended candidates. Violations that are expected for the same reason share a
// line.
func (v *view) Against() []line {
	same := lo.PartitionBy(v.Decision.Against, func(c Cell) string {
		return fmt.Sprint(c.Option, c.Of, c.Reason, c.Evidence, lo.FromPtr(c.Expectation).Because)
	})
	return lo.Map(same, func(cells []Cell, _ int) line {
		c := cells[0]
		if c.Expectation != nil {
			e := *c.Expectation
			e.Fault = format.Joined(lo.Uniq(lo.Map(cells, func(c Cell, _ int) string { return lo.FromPtr(c.Expectation).Fault })))
			c.Expectation = &e
		}
		return v.line(c)
	})
}

// For returns the requirements that the recommended candidates meet, and the criteria in which they have the best value.
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

// judged holds a candidate and its answers to the requirements. If the candidate was not eliminated, judged also holds
// its measured values.
type judged struct {
	Option      Option
	Anchor      string
	Stays       bool
	Why         line // reason why the candidate was eliminated
	Answers     []line
	Figures     []line // one line for each criterion
	Rank, Score string
	Dominated   string // sentence that names the lock that dominates this candidate
}

// Matrix returns all candidates. Remaining candidates come first, by rank; eliminated candidates follow.
func (v *view) Matrix() []judged {
	order := slices.Concat(v.Decision.Recommended, v.inOrder(), lo.Map(v.Options, func(o Option, _ int) string { return o.Name }))
	return slices.Concat(groups(v.named(lo.Uniq(order)))...)
}

func (v *view) judged(o Option) judged {
	d := v.Decision
	j := judged{Option: o, Anchor: v.anchors["option "+o.Name], Stays: slices.Contains(d.Survivors, o.Name),
		Rank: format.None, Score: format.None,
		Answers: lo.Map(v.Report.Requirements, func(r Requirement, _ int) line { return v.answer(o.Name, r.Name) })}
	for _, k := range v.Report.Criteria {
		if c, given := v.cells[[2]string{o.Name, k.Name}]; given || j.Stays && o.Kind == ALock {
			j.Figures = append(j.Figures, v.figure(c, k))
		}
	}
	if e, out := lo.Find(d.Eliminated, func(e Elimination) bool { return e.Option == o.Name }); out {
		j.Why = v.answer(o.Name, e.Reason)
	}
	if s, scores := lo.Find(d.Scores, func(s Score) bool { return s.Option == o.Name }); scores {
		j.Rank, j.Score = fmt.Sprint(s.Rank), scored(s)
	}
	if by, dominated := lo.Find(d.Dominated, func(by Dominated) bool { return by.Option == o.Name }); dominated {
		j.Dominated = fmt.Sprintf("%s is as good in every criterion, and better in %s", by.By, v.title(by.In))
	}
	return j
}

// groups splits candidates into remaining and eliminated ones. It omits an empty group.
func groups(all []judged) [][]judged {
	stay, out := lo.FilterReject(all, func(j judged, _ int) bool { return j.Stays })
	return lo.Filter([][]judged{stay, out}, func(of []judged, _ int) bool { return len(of) > 0 })
}

// Choices returns the recommended candidates.
func (v *view) Choices() []judged { return v.named(v.Decision.Recommended) }

func (v *view) named(names []string) []judged {
	return lo.FilterMap(names, func(name string, _ int) (judged, bool) {
		o, known := v.options[name]
		return v.judged(o), known
	})
}

// Open returns a line for each requirement that the candidate is not known to meet.
func (j judged) Open() []line { return j.answers(false) }

func (j judged) answers(yes bool) []line {
	return lo.Filter(j.Answers, func(l line, _ int) bool { return (l.Look.Word == "yes") == yes })
}
