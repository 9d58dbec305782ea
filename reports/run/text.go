package run

import (
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"lockbench/checker"
)

// Text writes the table for the terminal: per lock what was expected and what was observed, then the
// verdict. Colour only repeats what symbols and words say. An error is the writer's.
func (r *Results) Text(w io.Writer, color bool) error {
	t := table{color: color}
	for _, g := range r.groups() {
		t.heading(g)
		t.rows(g)
		t.line("")
	}
	t.stores(r.stores())
	t.sales(r.saleRows())
	for _, gap := range r.Gaps {
		t.line(t.paint("33", "missing"), clean(gap.Dir+": "+gap.Reason))
	}
	for _, trial := range r.Trials {
		if trial.State == Void {
			t.line(t.paint("33", "void   "), clean(trial.Dir+": "+trial.Reason))
		}
	}
	for _, warning := range slices.Concat(r.Run.Warnings, r.Warnings) {
		t.line(t.paint("33", "warning"), clean(warning))
	}
	first, rest, sound := r.headline()
	t.line(t.paint(map[tone]string{good: "32;1", bad: "31;1", unsure: "33;1"}[sound], first))
	if rest != "" {
		t.line(clean(rest))
	}
	t.line(clean(r.conditions()))
	_, err := io.WriteString(w, t.b.String())
	return err
}

// table collects lines; it never ends one in spaces.
type table struct {
	color bool
	b     strings.Builder
}

func (t *table) line(parts ...string) {
	t.b.WriteString(strings.TrimRight(strings.Join(parts, "  "), " "))
	t.b.WriteByte('\n')
}

// paint cleans a text and colours it, where that is asked for.
func (t *table) paint(code, s string) string {
	if !t.color || code == "" {
		return clean(s)
	}
	return "\x1b[" + code + "m" + clean(s) + "\x1b[0m"
}

// textWidth is how long a line of a paragraph is at most.
const textWidth = 110

// heading names a group: a lock with its sentence, a scenario with its paragraph.
func (t *table) heading(g group) {
	if !g.Scenario {
		t.line(t.paint("1", g.Label), clean(g.Doc))
		return
	}
	t.line(t.paint("1", g.Label), clean(g.Title))
	if g.Warning != "" {
		t.paragraph("Warns of: " + g.Warning)
	}
	t.paragraph(g.Doc)
}

// paragraph breaks a text into lines.
func (t *table) paragraph(text string) {
	line := ""
	for _, word := range strings.Fields(clean(text)) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > textWidth {
			t.line("  " + line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	if line != "" {
		t.line("  " + line)
	}
}

// seen is what was observed of a claim: how often, and in how many trials where there were several.
func (c *claim) seen() string {
	switch text := inTrials(c.Gravest); {
	case text != "":
		return text
	case c.Times > 0:
		return plural(c.Times, "violation")
	}
	return observed(c.Gravest.Observed)
}

// rows writes the observations of a group in columns: the claims and what was violated, then a line for
// the rest.
func (t *table) rows(g group) {
	cells := [][]string{{"", "property", "expected", "observed", "score", "in", "weight"}}
	scores := []checker.Score{checker.Measured}
	if g.Scenario {
		cells, scores = scenarioRows(g.Main)
	} else {
		for _, c := range g.Main {
			o := c.Gravest
			cells = append(cells, []string{markOf(o), c.Property, expectation(c.Expected), c.seen(), o.Score.String(), c.where(), counts(c.Counts)})
			scores = append(scores, o.Score)
		}
	}
	score := slices.Index(cells[0], "score")
	if len(cells) == 1 {
		t.line("  nothing was claimed and nothing was violated")
		return
	}
	wide := widths(cells)
	for i, row := range cells {
		for c, text := range row {
			code := ""
			if c == 0 || c == score {
				code = scoreColor(scores[i])
			}
			row[c] = t.paint(code, text) + strings.Repeat(" ", wide[c]-utf8.RuneCountInString(text))
		}
		t.line(append([]string{""}, row...)...)
	}
	if n := len(claims(g.Rest)); n > 0 {
		t.line("     and " + plural(n, "property") + " measured without a claim, none violated")
	}
}

// scenarioRows are the claims of a scenario: a line for what came out alike with one lock.
func scenarioRows(all []claim) (cells [][]string, scores []checker.Score) {
	cells = [][]string{{"", "lock", "expected", "score", "property", "weight"}}
	scores = []checker.Score{checker.Measured}
	for _, c := range all {
		o := c.Gravest
		weight := counts(c.Counts)
		if text := inTrials(o); text != "" {
			weight = text + "; " + weight
		}
		row := []string{markOf(o), c.Lock, expectation(c.Expected), o.Score.String(), c.Property, weight}
		i := slices.IndexFunc(cells, func(other []string) bool {
			return slices.Equal(other[:4], row[:4]) && other[5] == row[5]
		})
		if i >= 0 {
			cells[i][4] += ", " + c.Property
			continue
		}
		cells, scores = append(cells, row), append(scores, o.Score)
	}
	return cells, scores
}

// columns writes rows beneath each other, the first of which is the heading.
func (t *table) columns(cells [][]string) {
	wide := widths(cells)
	for _, row := range cells {
		for c, text := range row {
			row[c] = clean(text) + strings.Repeat(" ", wide[c]-utf8.RuneCountInString(text))
		}
		t.line(append([]string{""}, row...)...)
	}
}

func widths(cells [][]string) []int {
	wide := make([]int, len(cells[0]))
	for _, row := range cells {
		for c, text := range row {
			wide[c] = max(wide[c], utf8.RuneCountInString(text))
		}
	}
	return wide
}

func scoreColor(s checker.Score) string {
	switch s {
	case checker.Kept, checker.Caught:
		return "32"
	case checker.Broken, checker.Missed:
		return "31"
	case checker.LeftUndecided:
		return "33"
	}
	return ""
}

// clean keeps control characters, as a lock's name or a server's error may hold, off the terminal.
func clean(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return '·'
		}
		return c
	}, s)
}
