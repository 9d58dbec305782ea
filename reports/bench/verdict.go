package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lockbench/reports/format"
	"lockbench/reports/html"
	"lockbench/reports/stats"
)

type verdict struct {
	html.Verdict
	Groups []firstGroup // by section
}

// firstGroup is the points of a section at which the same locks come first.
type firstGroup struct {
	Section   string
	Names     []string
	Where     string // which points, if the section has others
	Name      string // of the section and the points
	Lead      string // over the next
	Doubts    []string
	Points    []Point
	Powerless string // why no figures could have made an order; empty: some could
}

// nobody stands for the winner if no lock is ranked.
const nobody = "nobody"

// Winner names those that come first together.
func (g firstGroup) Winner() string {
	switch {
	case len(g.Names) == 0:
		return nobody
	case g.Powerless != "":
		return "no order can be told"
	case len(g.Names) == 1:
		return g.Names[0]
	}
	return format.Joined(g.Names) + " (a tie)"
}

func (g firstGroup) brief() string {
	if len(g.Names) > 3 && g.Powerless == "" {
		return fmt.Sprintf("%d locks tie", len(g.Names))
	}
	return g.Winner()
}

func (v *view) verdict() verdict {
	d := verdict{Verdict: html.Verdict{Conditions: v.circumstances(), Tone: html.Good}}
	if len(v.Withheld) > 0 {
		d.Headline = "Figures withheld: " + strings.Join(v.Withheld, "; ") + "."
		d.Rest = "A control of this bench failed, so that its figures prove nothing. Below stand the controls and what was seen of each; nothing that was measured is shown."
		d.Tone = html.Bad
		return d
	}
	for _, name := range v.sections() {
		d.Groups = append(d.Groups, v.firstGroups(name)...)
	}
	if d.Headline = headline(d.Groups); strings.HasPrefix(d.Headline, "No ") {
		d.Tone = html.Unsure
	}
	if broken := v.brokenLocks(); len(broken) > 0 {
		d.Rest = fmt.Sprintf("Out of the running, as a violation of exclusion was seen: %s.", format.Joined(broken))
		d.Tone = html.Unsure
	}
	return d
}

func headline(groups []firstGroup) string {
	var sections, parts, winners []string
	for _, g := range groups {
		text := g.brief()
		winners = with(winners, text)
		if g.Where != "" {
			text += " at " + g.Where
		}
		if slices.Contains(sections, g.Section) {
			parts[len(parts)-1] += ", " + text
		} else {
			sections, parts = append(sections, g.Section), append(parts, text)
		}
	}
	for i, name := range sections {
		if len(sections) > 1 {
			parts[i] = name + ": " + parts[i]
		}
	}
	switch {
	case len(groups) == 0 || len(winners) == 1 && winners[0] == nobody:
		return "No lock could be ranked."
	case len(winners) == 1 && groups[0].Powerless != "":
		return "No order can be told: there are too few trials for so many locks."
	case len(winners) == 1 && len(sections) > 1:
		return fmt.Sprintf("Highest goodput in every section (%s): %s.", format.Joined(sections), winners[0])
	case len(groups) > 5:
		return fmt.Sprintf("Who completes the most depends on the conditions: %s come first somewhere.", format.Joined(winners))
	}
	return "Highest goodput: " + strings.Join(parts, "; ") + "."
}

func (v *view) firstGroups(section string) []firstGroup {
	var groups []firstGroup
	for _, p := range v.pointsOf(section) {
		if len(v.ranking(p.ID)) == 0 {
			continue
		}
		names := v.first(p.ID)
		sorted := slices.Sorted(slices.Values(names))
		i := slices.IndexFunc(groups, func(g firstGroup) bool { return slices.Equal(slices.Sorted(slices.Values(g.Names)), sorted) })
		if i < 0 {
			i, groups = len(groups), append(groups, firstGroup{Section: section, Names: names})
		}
		groups[i].Points = append(groups[i].Points, p)
	}
	for i := range groups {
		g := &groups[i]
		if len(groups) > 1 {
			g.Where = v.where(g.Points)
		}
		g.Name = strings.TrimSpace(v.named(section, g.Where))
		if g.Powerless = v.powerless(g.Points[0]); g.Powerless != "" {
			g.Doubts = append(g.Doubts, g.Powerless)
		}
		g.Lead, g.Doubts = v.lead(g.Points), append(g.Doubts, v.doubts(*g)...)
	}
	return groups
}

// powerless reports that a point has too few trials for so many locks to show any difference: of n pairs the least p is 2
// in 2^n, and Holm multiplies it by the number of comparisons.
func (v *view) powerless(p Point) string {
	order := v.ranked(p.ID)
	if len(order) < 2 {
		return ""
	}
	pairs, needed := 0, 1
	for _, r := range order[1:] {
		pairs = max(pairs, r.ToBest.Pairs)
	}
	for math.Pow(2, float64(1-needed))*float64(len(order)-1) >= stats.Alpha {
		needed++
	}
	if pairs >= needed {
		return ""
	}
	return fmt.Sprintf("with %s of trials no difference between %d locks can be shown, however great it is: it takes %d", format.Plural(pairs, "pair"), len(order), needed)
}

// where lists points of a section: "4, 16 and 64 clients" if they differ in that alone.
func (v *view) where(points []Point) string {
	names := collect(points, v.apart)
	clients := collect(names, func(text string) string { return strings.TrimSuffix(text, " clients") })
	for i, number := range clients {
		if number == names[i] || strings.Contains(number, " ") {
			return strings.Join(names, "; ")
		}
	}
	return format.Joined(clients) + " clients"
}

func (v *view) next(p Point) (Ranked, bool) {
	return find(v.ranked(p.ID), func(r Ranked) bool { return r.Rank > 1 && r.ToBest.Ratio > 0 })
}

func (v *view) lead(points []Point) string {
	least, most, _ := extremes(points, func(p Point) (string, float64, bool) {
		r, ok := v.next(p)
		return r.Subject, 1 / r.ToBest.Ratio, ok
	})
	switch {
	case least.value == 0:
		return ""
	case len(points) == 1 || most.value < least.value*1.005:
		return fmt.Sprintf("%s the goodput of %s, the next", format.Times(least.value), least.lock)
	}
	return fmt.Sprintf("%s to %s the goodput of the next", format.Times(least.value), format.Times(most.value))
}

// doubts returns the limits and violations that put a first rank in doubt.
func (v *view) doubts(g firstGroup) (all []string) {
	for i, p := range g.Points {
		for _, name := range g.Names {
			row, ok := v.Row(name, p.ID)
			if !ok {
				continue
			}
			if apart := v.apart(p); row.Limited != "" && apart != "" {
				all = append(all, fmt.Sprintf("%s at %s: %s", name, apart, row.Limited))
			} else if row.Limited != "" {
				all = append(all, name+": "+row.Limited)
			}
			elsewhere, violated := v.unsafeRow(name)
			if violated && i == 0 { // it does not depend on the point
				all = append(all, fmt.Sprintf("%s: %s was violated at %s", name, elsewhere.Unsafe.Property, v.name(*elsewhere.point)))
			}
		}
	}
	return all
}

func (v *view) unsafeRow(name string) (Row, bool) {
	return find(v.Rows, func(row Row) bool { return row.Subject == name && row.Unsafe != nil })
}

func (v *view) circumstances() string {
	e := v.Plan.Environment
	judged, _ := v.judged()
	text := "Measured on " + format.Plural(e.Cores, "processor")
	if e.CPU != "" {
		text += " (" + e.CPU + ")"
	}
	text += fmt.Sprintf(", servers: %s; %s of each lock at each point in shuffled blocks, %s judged in all",
		v.Plan.Servers, format.Plural(v.Plan.Trials, "trial"), format.Plural(judged, "history"))
	if v.Plan.Interrupted {
		text += "; interrupted"
	}
	if len(v.Withheld) > 0 {
		return text + "."
	}
	return text + ". Goodput is critical sections per second; a tie is a difference that may be noise at the 5 % level, corrected for all that is compared at a point. The verdict holds for these points, this machine and these versions, and for no other."
}

func (v *view) judged() (histories, operations int) {
	for _, row := range v.safety() {
		histories, operations = histories+row.Judged, operations+row.Operations
	}
	return histories, operations
}

func (v *view) brokenLocks() (all []string) {
	for _, s := range v.Plan.Subjects {
		row, violated := v.unsafeRow(s.Name)
		if s.Role == Lock && violated {
			all = append(all, fmt.Sprintf("%s (%s%s)", s.Name, row.Unsafe.Property, row.Unsafe.Foreseen()))
		}
	}
	return all
}

func (v *view) tiles() []html.Tile {
	judged, operations := v.judged()
	passed, unsafe := len(filter(v.Checks, func(c Check) bool { return c.OK })), len(v.brokenLocks())
	class := map[bool]string{true: "result-pass", false: "result-fail"}
	_, locks, _ := strings.Cut(format.Plural(unsafe, "lock"), " ")
	return []html.Tile{
		{Big: format.Count(judged), Small: "histories judged"},
		{Big: format.Count(operations), Small: "operations in them"},
		{Big: fmt.Sprintf("%d of %d", passed, len(v.Checks)), Small: "controls passed", Class: class[passed == len(v.Checks)]},
		{Big: format.Count(unsafe), Small: locks + " seen to break", Class: class[unsafe == 0]},
	}
}
