package selection

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lockbench/reports/format"
)

// view is what every face of a report shows: its methods return words and numbers ready to be printed.
type view struct {
	*Report
	options map[string]Option
	cells   map[[2]string]Cell // by option, and requirement or criterion
	sources map[string]Source
	anchors map[string]string // of an option, a finding, a figure or a source
}

func newView(r *Report) *view {
	v := &view{Report: r, options: map[string]Option{}, cells: map[[2]string]Cell{}, sources: map[string]Source{}, anchors: map[string]string{}}
	for i, o := range r.Options {
		v.options[o.Name] = o
		v.anchors["option "+o.Name] = fmt.Sprintf("option-%d", i+1)
	}
	for _, c := range r.Cells {
		v.cells[[2]string{c.Option, c.Of}] = c
	}
	for _, s := range r.Sources {
		v.sources[s.ID] = s
	}
	for _, id := range v.ids() {
		v.anchors[id] = id
		if !plainID.MatchString(id) {
			v.anchors[id] = fmt.Sprintf("evidence-%d", len(v.anchors))
		}
	}
	return v
}

var plainID = regexp.MustCompile(`^[A-Z][0-9]+$`)

// ids are those of all evidence, each once.
func (v *view) ids() []string {
	seen := map[string]bool{}
	var all []string
	add := func(id string) {
		if !seen[id] {
			seen[id], all = true, append(all, id)
		}
	}
	for _, s := range v.Report.Sources {
		add(s.ID)
	}
	for _, f := range v.Findings {
		add(f.ID)
	}
	for _, f := range v.Figures {
		add(f.ID)
	}
	for _, t := range v.Times {
		add(t.ID)
	}
	return all
}

// look is a symbol, a word and a class for its colour, so that colour is never alone.
type look struct{ Symbol, Word, Class string }

var looks = map[string]look{
	string(OneLock):      {"✓", "One option is ahead", "good"},
	string(ATie):         {"≈", "A tie", "unsure"},
	string(NoLockNeeded): {"◇", "No lock is needed", "good"},
	string(NothingFits):  {"✗", "Nothing fits", "bad"},
	string(Yes):          {"✓", "yes", "good"},
	string(No):           {"✗", "no", "bad"},
}

// lookOf returns the look of an outcome or an answer.
func lookOf[T ~string](of T, otherwise string) look {
	return cmp.Or(looks[string(of)], look{"?", otherwise, "unsure"})
}

// Look is that of the outcome.
func (v *view) Look() look { return lookOf(v.Decision.Outcome, "Not decided") }

// tagDoc is a tag and what it means.
type tagDoc struct {
	Tag Tag
	Doc string
}

// tags are all of them, from the strongest to the weakest.
func tags() []tagDoc {
	return []tagDoc{
		{Measured, "it was observed by lockbench; the ids lead to the runs"},
		{Documented, "the lock's own table, or its makers, say so"},
		{Assumed, "it rests on what the team said, or on a default"},
		{Unknown, "nothing is known: it never counts as a yes"},
	}
}

func helpOfTag(t Tag) string {
	return tags()[slices.IndexFunc(tags(), func(d tagDoc) bool { return d.Tag == tagOf(t) })].Doc
}

// tagOf is unknown for anything that is not one of the others: a word from outside is no evidence.
func tagOf(t Tag) Tag {
	if slices.Contains([]Tag{Measured, Documented, Assumed}, t) {
		return t
	}
	return Unknown
}

// Headline returns the recommendation in as few words as possible.
func (d Decision) Headline() string {
	names := format.Joined(d.Recommended)
	switch {
	case d.Outcome == NothingFits:
		return "No option meets all requirements"
	case names == "":
		return "No recommendation"
	case d.Outcome == ATie:
		return "A tie: " + names + " cannot be told apart"
	case d.Outcome == NoLockNeeded:
		return "No lock is needed: " + names + " will do"
	}
	return "Choose " + names
}

// Lead is what follows the headline: the figures that it rests on, the lease and the main thing that speaks against it.
func (v *view) Lead() []string {
	d := v.Decision
	all := []string{fmt.Sprintf("%d of %s meet all requirements.", len(d.Survivors), format.Plural(len(v.Options), "option"))}
	if s := d.Scores; len(s) > 1 && d.Outcome == OneLock {
		all = append(all, fmt.Sprintf("Score %s; next: %s, %s.", score(s[0].Score), s[1].Option, score(s[1].Score)))
	}
	if len(d.Out) > 0 && d.Outcome == NothingFits {
		nearest := slices.MinFunc(d.Out, func(a, b Elimination) int { return cmp.Compare(a.distance(), b.distance()) })
		all = append(all, fmt.Sprintf("Nearest: %s. Not met: %s. Not known: %s.", nearest.Option, v.titles(nearest.Fails), v.titles(nearest.Unsure)))
	}
	var evidence []string
	for _, c := range v.Cells {
		if c.Answer == Yes && slices.Contains(d.Recommended, c.Option) {
			evidence = append(evidence, c.Evidence...)
		}
	}
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

// distance is greater the more requirements an option fails, and greatest if it would replace a lock and does not apply.
func (e Elimination) distance() int {
	n := 1000*len(e.Fails) + len(e.Unsure)
	if slices.Contains(e.Fails, "applies") {
		n += 1e6
	}
	return n
}

// titles are those of requirements or criteria, in a list.
func (v *view) titles(names []string) string {
	var all []string
	for _, n := range names {
		all = append(all, v.title(n))
	}
	return cmp.Or(strings.Join(all, ", "), "none")
}

func (v *view) title(name string) string {
	for _, r := range v.Report.Requirements {
		if r.Name == name {
			return r.Title
		}
	}
	for _, c := range v.Report.Criteria {
		if c.Name == name {
			return c.Title
		}
	}
	return name
}

// ref is an evidence id and the place on the page that it leads to; none if there is no such evidence.
type ref struct{ ID, Anchor string }

func (v *view) ref(id string) ref { return ref{id, v.anchors[id]} }

// line is a cell as it is shown.
type line struct {
	Title, Text     string
	Look            look
	Value           string // of a criterion
	Interval, Ratio string // to the best of those that are compared
	Tag             Tag
	Refs            []ref
}

func (v *view) line(c Cell) line {
	l := line{Title: v.title(c.Of), Text: v.Sentence(c), Look: lookOf(c.Answer, "unknown"), Tag: tagOf(c.Tag)}
	for _, id := range c.Evidence {
		l.Refs = append(l.Refs, v.ref(id))
	}
	if l.Title == c.Of && (c.Reason == Violated || c.Reason == ExpectedViolation) {
		l.Title = "" // a property, which the sentence names
	}
	if c.Option != "" && len(v.Decision.Recommended) > 1 {
		l.Title = strings.TrimSpace(c.Option + " " + l.Title)
	}
	return l
}

// String is the line without what it rests on.
func (l line) String() string { return strings.TrimPrefix(l.Title+": "+l.Text, ": ") }

// Label is the whole cell, for a pointer or a screen reader.
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

// answer is that of an option to a requirement: unknown if there is none, or if what was given is none.
func (v *view) answer(option, requirement string) line {
	l := v.line(v.cells[[2]string{option, requirement}])
	l.Title = v.title(requirement)
	return l
}

// Against is what speaks against what is recommended.
func (v *view) Against() []line {
	var all []line
	for _, c := range v.Decision.Against {
		all = append(all, v.line(c))
	}
	return all
}

// For are the requirements that recommended options meet, and the criteria in which they beat others.
func (v *view) For() []line {
	var all []line
	best := func(c Cell) bool {
		own := slices.IndexFunc(v.Decision.Scores, func(s Score) bool { return s.Option == c.Option })
		return own >= 0 && v.Decision.Scores[own].Parts[c.Of] == 1 &&
			slices.ContainsFunc(v.Decision.Scores, func(s Score) bool { return s.Parts[c.Of] < 1 })
	}
	for _, c := range v.Cells {
		if !slices.Contains(v.Decision.Recommended, c.Option) || c.Answer != Yes && !best(c) {
			continue
		}
		l := v.line(c)
		if c.Answer == "" {
			l.Title = "best " + l.Title
		}
		all = append(all, l)
	}
	return all
}

// judged is an option in the matrix of options and requirements, and its figures if it is compared.
type judged struct {
	Option           Option
	Anchor           string
	Stays            bool
	Why              line // it is out
	Answers          []line
	Counts           string // of the answers
	Figures          []line // of the criteria
	Rank, Score, Won string
	Dominated        string // by which lock, and in what
}

// Matrix has all options, those first that stay; otherwise in display order.
func (v *view) Matrix() []judged {
	var all []judged
	for _, o := range v.Options {
		all = append(all, v.judged(o))
	}
	return slices.Concat(groups(all)...)
}

func (v *view) judged(o Option) judged {
	j := judged{Option: o, Anchor: v.anchors["option "+o.Name], Stays: slices.Contains(v.Decision.Survivors, o.Name), Rank: format.None, Score: format.None, Won: format.None}
	counts := map[string]int{}
	for _, r := range v.Report.Requirements {
		l := v.answer(o.Name, r.Name)
		counts[l.Look.Word]++
		j.Answers = append(j.Answers, l)
	}
	j.Counts = fmt.Sprintf("%d yes, %d no, %d unknown", counts["yes"], counts["no"], counts["unknown"])
	for _, k := range v.Report.Criteria {
		if c, given := v.cells[[2]string{o.Name, k.Name}]; given || j.Stays && o.Kind == ALock {
			j.Figures = append(j.Figures, v.figure(c, k))
		}
	}
	for _, e := range v.Decision.Out {
		if e.Option == o.Name {
			j.Why = v.answer(o.Name, e.Reason)
		}
	}
	for _, s := range v.Decision.Scores {
		if s.Option == o.Name {
			j.Rank, j.Score = fmt.Sprint(s.Rank), scored(s)
		}
	}
	for _, w := range v.Decision.Wins {
		if w.Option == o.Name {
			j.Won = format.Percent(w.Share)
		}
	}
	for _, d := range v.Decision.Dominated {
		if d.Option == o.Name {
			j.Dominated = fmt.Sprintf("%s is as good in every criterion, and better in %s", d.By, v.title(d.In))
		}
	}
	return j
}

// groups parts the options into those that stay and those that are out; either may be missing.
func groups(all []judged) [][]judged {
	var groups [][]judged
	for _, stays := range []bool{true, false} {
		of := slices.DeleteFunc(slices.Clone(all), func(j judged) bool { return j.Stays != stays })
		if len(of) > 0 {
			groups = append(groups, of)
		}
	}
	return groups
}

// Choices are the options that are recommended.
func (v *view) Choices() []judged { return v.named(v.Decision.Recommended) }

// OrLock are the best locks, if none is needed.
func (v *view) OrLock() []judged {
	if v.Decision.Outcome != NoLockNeeded {
		return nil
	}
	return v.named(v.Decision.Lock)
}

// named are the options of these names, in their order.
func (v *view) named(names []string) []judged {
	var all []judged
	for _, name := range names {
		if o, known := v.options[name]; known {
			all = append(all, v.judged(o))
		}
	}
	return all
}

// Without are the options that replace a lock.
func (v *view) Without() []judged {
	return slices.DeleteFunc(v.Matrix(), func(j judged) bool { return j.Option.Kind != NoLock })
}

// Open are the answers that are not yes.
func (j judged) Open() []line { return j.answers(false) }

func (j judged) answers(yes bool) []line {
	return slices.DeleteFunc(slices.Clone(j.Answers), func(l line) bool { return (l.Look.Word == "yes") != yes })
}
