package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lockbench/reports/format"
	"lockbench/reports/stats"
)

// verdict is what a reader takes home.
type verdict struct {
	Headline   string
	Tone       string // good, bad, unsure
	Rest       string
	Conditions string
	Sections   []sectionVerdict
}

// sectionVerdict is who comes first in a section, point by point or for several at once.
type sectionVerdict struct {
	Name   string
	Groups []firstGroup
}

// firstGroup are points at which the same come first.
type firstGroup struct {
	Names  []string
	Where  string // which points, where there are others
	Name   string // of the section and the points
	Lead   string // over the next
	Doubts []string
	Points []Point
	// Powerless says why no order could come out, whatever the figures; empty where one could.
	Powerless string
}

// nobody comes first where each lock is out of the running.
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

// brief is the same for a headline.
func (g firstGroup) brief() string {
	if len(g.Names) > 3 && g.Powerless == "" {
		return fmt.Sprintf("%d locks tie", len(g.Names))
	}
	return g.Winner()
}

func (v *view) verdict() verdict {
	d := verdict{Conditions: v.conditions(), Tone: "good"}
	if len(v.Withheld) > 0 {
		d.Headline = "Figures withheld: " + strings.Join(v.Withheld, "; ") + "."
		d.Rest = "A control of this bench failed, so that its figures prove nothing. Below stand the controls and what was seen of each; nothing that was measured is shown."
		d.Tone = "bad"
		return d
	}
	for _, name := range v.sections() {
		if s := v.sectionVerdict(name); len(s.Groups) > 0 {
			d.Sections = append(d.Sections, s)
		}
	}
	if d.Headline = headline(d.Sections); strings.HasPrefix(d.Headline, "No ") {
		d.Tone = "unsure"
	}
	if broken := v.brokenLocks(); len(broken) > 0 {
		d.Rest = fmt.Sprintf("Out of the running, as a violation of exclusion was seen: %s.", format.Joined(broken))
		d.Tone = "unsure"
	}
	return d
}

// headline says who comes first, in one sentence.
func headline(sections []sectionVerdict) string {
	var parts, names, winners []string
	groups := 0
	for _, s := range sections {
		groups += len(s.Groups)
		text := s.groupText()
		if len(sections) > 1 {
			text = s.Name + ": " + text
		}
		parts, names = append(parts, text), append(names, s.Name)
		for _, g := range s.Groups {
			if !slices.Contains(winners, g.brief()) {
				winners = append(winners, g.brief())
			}
		}
	}
	switch {
	case len(sections) == 0 || len(winners) == 1 && winners[0] == nobody:
		return "No lock could be ranked."
	case len(winners) == 1 && sections[0].Groups[0].Powerless != "":
		return "No order can be told: there are too few trials for so many locks."
	case len(winners) == 1 && len(sections) > 1:
		return fmt.Sprintf("Highest goodput in every section (%s): %s.", format.Joined(names), winners[0])
	case groups > 5:
		return fmt.Sprintf("Who completes the most depends on the conditions: %s come first somewhere.", format.Joined(winners))
	}
	return "Highest goodput: " + strings.Join(parts, "; ") + "."
}

// groupText says who comes first in a section.
func (s sectionVerdict) groupText() string {
	var groups []string
	for _, g := range s.Groups {
		text := g.brief()
		if g.Where != "" {
			text += " at " + g.Where
		}
		groups = append(groups, text)
	}
	return strings.Join(groups, ", ")
}

// sectionVerdict puts points together that have the same winners.
func (v *view) sectionVerdict(section string) sectionVerdict {
	s := sectionVerdict{Name: section}
	for _, p := range v.pointsOf(section) {
		if len(v.ranking(p.ID)) == 0 {
			continue
		}
		names := v.first(p.ID)
		i := slices.IndexFunc(s.Groups, func(g firstGroup) bool {
			return slices.Equal(slices.Sorted(slices.Values(g.Names)), slices.Sorted(slices.Values(names)))
		})
		if i < 0 {
			i, s.Groups = len(s.Groups), append(s.Groups, firstGroup{Names: names})
		}
		s.Groups[i].Points = append(s.Groups[i].Points, p)
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		if len(s.Groups) > 1 {
			g.Where = v.where(g.Points)
		}
		g.Name = strings.TrimSpace(v.named(section, g.Where))
		g.Powerless = v.powerless(g.Points[0])
		g.Lead, g.Doubts = v.lead(g.Points), v.doubts(*g)
		if g.Powerless != "" {
			g.Doubts = append([]string{g.Powerless}, g.Doubts...)
		}
	}
	return s
}

// powerless tells where a point has so few trials for so many locks that no difference could be shown: of n pairs the
// least p is 2 in 2^n, and Holm multiplies it by the number of comparisons.
func (v *view) powerless(p Point) string {
	order := v.ranked(p.ID)
	if len(order) < 2 {
		return ""
	}
	pairs, comparisons := 0, len(order)-1
	for _, r := range order[1:] {
		pairs = max(pairs, r.ToBest.Pairs)
	}
	needed := 1
	for math.Pow(2, float64(1-needed))*float64(comparisons) >= stats.Alpha {
		needed++
	}
	if pairs >= needed {
		return ""
	}
	return fmt.Sprintf("with %s of trials no difference between %d locks can be shown, however great it is: it takes %d", format.Plural(pairs, "pair"), len(order), needed)
}

// where lists points of a section: "4, 16 and 64 clients" where they differ in that alone.
func (v *view) where(points []Point) string {
	var names, clients []string
	for _, p := range points {
		text := v.apart(p)
		names = append(names, text)
		if number, ok := strings.CutSuffix(text, " clients"); ok && !strings.Contains(number, " ") {
			clients = append(clients, number)
		}
	}
	if len(clients) == len(names) {
		return format.Joined(clients) + " clients"
	}
	return strings.Join(names, "; ")
}

// lead says by how much those that come first are ahead of the next.
func (v *view) lead(points []Point) string {
	var least, most float64
	next := ""
	for _, p := range points {
		for _, r := range v.ranked(p.ID) {
			if r.Rank == 1 || r.ToBest.Ratio <= 0 {
				continue
			}
			ahead := 1 / r.ToBest.Ratio
			if least == 0 || ahead < least {
				least, next = ahead, r.Subject
			}
			most = max(most, ahead)
			break
		}
	}
	switch {
	case least == 0:
		return ""
	case len(points) == 1 || most < least*1.005:
		return fmt.Sprintf("%s the goodput of %s, the next", format.Times(least), next)
	}
	return fmt.Sprintf("%s to %s the goodput of the next", format.Times(least), format.Times(most))
}

// doubts are why a place at the top may not be the lock's own merit.
func (v *view) doubts(g firstGroup) []string {
	var all []string
	for _, p := range g.Points {
		for _, name := range g.Names {
			row := v.rows[place{name, p.ID}]
			if row == nil {
				continue
			}
			at := v.apart(p)
			if at != "" {
				at = " at " + at
			}
			if row.Limited != "" {
				all = append(all, fmt.Sprintf("%s%s: %s", name, at, row.Limited))
			}
			if elsewhere := v.unsafeElsewhere(name); elsewhere != "" && p.ID == g.Points[0].ID {
				all = append(all, fmt.Sprintf("%s: %s", name, elsewhere))
			}
			if d := v.subjects[name].Defect; d != "" && p.ID == g.Points[0].ID {
				all = append(all, fmt.Sprintf("%s: %s", name, d))
			}
		}
	}
	return all
}

// unsafeElsewhere says where a lock that may come first here was seen to break.
func (v *view) unsafeElsewhere(name string) string {
	for _, row := range v.Rows {
		if row.Subject == name && row.Unsafe != nil {
			return fmt.Sprintf("%s was violated at %s", row.Unsafe.Property, v.name(v.points[row.Point]))
		}
	}
	return ""
}

// conditions are the circumstances without which a verdict says nothing.
func (v *view) conditions() string {
	e := v.Plan.Environment
	text := fmt.Sprintf("Measured on %s", format.Plural(e.Cores, "processor"))
	if e.CPU != "" {
		text += " (" + e.CPU + ")"
	}
	text += fmt.Sprintf(", servers: %s; %s of each lock at each point in %s, %s judged in all",
		v.Plan.Servers, format.Plural(v.Plan.Trials, "trial"), "shuffled blocks", format.Plural(v.judgedTrials(), "history"))
	if v.Plan.Interrupted {
		text += "; interrupted"
	}
	text += "."
	if len(v.Withheld) > 0 {
		return text
	}
	return text + " Goodput is critical sections per second; a tie is a difference that may be noise at the 5 % level, corrected for all that is compared at a point. The verdict holds for these points, this machine and these versions, and for no other."
}

func (v *view) judgedTrials() int {
	n := 0
	for _, t := range v.Trials {
		if t.Judged != nil && t.Void == "" {
			n++
		}
	}
	return n
}

// brokenLocks are those that one would choose from and that must not be.
func (v *view) brokenLocks() []string {
	var all []string
	for _, s := range v.Plan.Subjects {
		if s.Role != Lock {
			continue
		}
		for _, row := range v.Rows {
			if row.Subject == s.Name && row.Unsafe != nil {
				text := row.Unsafe.Property
				if row.Unsafe.Expected {
					text += ", as its own table says"
				}
				all = append(all, fmt.Sprintf("%s (%s)", s.Name, text))
				break
			}
		}
	}
	return all
}

// tile is one section at a glance.
type tile struct {
	Big, Small, Class string
}

func (v *view) tiles() []tile {
	var all []tile
	judged, operations := 0, 0
	for _, t := range v.Trials {
		if t.Judged != nil && t.Void == "" {
			judged++
			operations += t.Judged.Operations
		}
	}
	all = append(all, tile{format.Count(judged), "histories judged", ""}, tile{format.Count(operations), "operations in them", ""})
	passed := 0
	for _, c := range v.Checks {
		if c.OK {
			passed++
		}
	}
	class := "score-kept"
	if passed < len(v.Checks) {
		class = "score-broken"
	}
	all = append(all, tile{fmt.Sprintf("%d of %d", passed, len(v.Checks)), "controls passed", class})
	unsafe := len(v.brokenLocks())
	class = "score-kept"
	if unsafe > 0 {
		class = "score-broken"
	}
	return append(all, tile{format.Count(unsafe), strings.TrimLeft(format.Plural(unsafe, "lock"), "0123456789,") + " seen to break", class})
}
