package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"lockbench/reports/format"
	"lockbench/reports/html"
	"lockbench/reports/stats"
)

// verdict holds the headline of a report, and the fastest locks under each set of conditions.
type verdict struct {
	html.Verdict
	Answers []answer
}

// answer names the fastest locks under some conditions.
type answer struct {
	Name     string // section of the report, and the conditions under which these locks are fastest
	Who      string // names of the fastest locks; empty if no lock has a rank
	What     string
	Starving string // locks that starve clients under these conditions
	names    []string
	points   []Point
}

// String returns the answer as one line of text.
func (a answer) String() string {
	text := strings.TrimSpace(a.Who + " " + a.What)
	if a.Starving != "" {
		text += "; " + a.Starving
	}
	return a.Name + ": " + text + "."
}

func (v *view) verdict() verdict {
	d := verdict{Verdict: html.Verdict{Conditions: v.circumstances(), Tone: html.Good}}
	switch broken := v.brokenLocks(); {
	case len(v.Withheld) > 0:
		d.Headline, d.Tone = "Figures withheld: "+strings.Join(v.Withheld, "; ")+".", html.Bad
		d.Rest = "A self-check of this bench failed, so its figures prove nothing. The self-checks follow; no figure is shown."
	case len(broken) > 0:
		d.Rest, d.Tone = fmt.Sprintf("Not ranked: %s.", format.Joined(broken)), html.Unsure
	}
	if len(v.Withheld) == 0 {
		for _, name := range v.sections() {
			d.Answers = append(d.Answers, v.fastestLocks(name)...)
		}
		ranked := false
		if d.Headline, ranked = v.headline(); !ranked {
			d.Tone = html.Unsure
		}
	}
	if v.Plan.unfinished() {
		d.Headline = fmt.Sprintf("Unfinished, %s of %s: %s", format.Count(len(v.Trials)), format.Plural(v.Plan.Trials*len(v.Plan.Pairs), "trial"), d.Headline)
		d.Tone = cmp.Or(map[bool]html.Tone{true: html.Unsure}[d.Tone == html.Good], d.Tone)
	}
	return d
}

// unfinished reports whether the bench was interrupted, failed, or is still running.
func (p *Plan) unfinished() bool { return p.Interrupted || p.Ended.IsZero() }

// headline returns a sentence about the fastest locks. If no lock has a rank, ranked is false.
func (v *view) headline() (text string, ranked bool) {
	leads, ties, points, powerless := map[string]int{}, 0, 0, 0
	var starving []string
	for _, p := range v.compared() {
		first := v.first(p.ID)
		switch {
		case len(first) == 0:
		case v.powerless(p) != "":
			powerless++
		default:
			points++
			ties += min(1, len(first)-1)
			for _, name := range first {
				leads[name]++
			}
		}
		for _, row := range v.rowsAt(p.ID) {
			if row.Starving != "" && row.subject.Role == Lock {
				starving = appendUnique(starving, row.Subject)
			}
		}
	}
	if text = lead(leads, points, ties > 0); powerless > 0 && points == 0 {
		text = "Too few trials to rank the locks."
	}
	if len(starving) > 0 {
		text += fmt.Sprintf(" %s clients.", agree(starving, "starves", "starve"))
	}
	return text, points > 0
}

// lead returns a sentence about the locks that are fastest under more conditions than any other lock.
func lead(leads map[string]int, points int, tied bool) string {
	most, names := 0, []string{}
	for _, n := range leads {
		most = max(most, n)
	}
	for name, n := range leads {
		if n == most {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	everywhere := ""
	if points == 2 {
		everywhere = " under both conditions"
	} else if points > 2 {
		everywhere = fmt.Sprintf(" under all %d conditions", points)
	}
	switch {
	case points == 0:
		return "No lock could be ranked."
	case most < points:
		return fmt.Sprintf("No lock is fastest everywhere: %s under %d of %d conditions.", agree(names, "leads or ties", "each lead or tie"), most, points)
	case len(names) > 1:
		return fmt.Sprintf("%s tie as the fastest%s.", format.Joined(names), everywhere)
	case tied:
		return fmt.Sprintf("%s is fastest, alone or in a tie,%s.", names[0], everywhere)
	}
	return fmt.Sprintf("%s is fastest%s.", names[0], everywhere)
}

// agree joins names and appends the singular or the plural form of a verb.
func agree(names []string, one, many string) string {
	return format.Joined(names) + " " + map[bool]string{true: one, false: many}[len(names) == 1]
}

// fastestLocks returns the fastest locks for each set of conditions of a section. It merges conditions with the same
// fastest locks.
func (v *view) fastestLocks(section string) (all []answer) {
	for _, p := range v.pointsOf(section) {
		if len(v.ranking(p.ID)) == 0 {
			continue
		}
		names := slices.Sorted(slices.Values(v.first(p.ID)))
		i := slices.IndexFunc(all, func(a answer) bool { return slices.Equal(a.names, names) })
		if i < 0 {
			i, all = len(all), append(all, answer{names: names})
		}
		all[i].points = append(all[i].points, p)
	}
	for i := range all {
		a := &all[i]
		a.Name = v.named(section, cmp.Or(v.describePoints(a.points), format.Plural(a.points[0].Clients, "client")))
		a.Who, a.What, a.Starving = v.fastestNames(*a), v.fastestDetails(*a), v.starving(a.points)
	}
	return all
}

func (v *view) fastestNames(a answer) string {
	if v.powerless(a.points[0]) != "" {
		return ""
	}
	return format.Joined(v.first(a.points[0].ID))
}

// fastestDetails returns a text about the fastest locks: goodput, lead over the next lock, how evenly clients are served, and the longest
// wait.
func (v *view) fastestDetails(a answer) string {
	if text := v.powerless(a.points[0]); text != "" {
		return text
	}
	text := "no lock has a rank"
	switch len(a.names) {
	case 0:
		return text
	case 1:
		text = "leads at " + v.level(a)
		if ahead := v.ahead(a.points); ahead != "" {
			text += ", " + ahead
		}
	default:
		text = "tie at " + v.level(a)
	}
	if uneven, _, ok := v.extremesOf(a, "min_max_share"); ok && a.points[0].Contended() {
		text += fmt.Sprintf("; the least served client gets %s of the most served one", format.Percent(uneven.value))
		if len(a.names) > 1 {
			text += " (" + uneven.lock + ")"
		}
	}
	least, most, ok := v.extremesOf(a, "longest_wait")
	switch {
	case !ok || !a.points[0].Contended():
	case most.value < 2*least.value:
		text += "; longest wait " + format.Significant(most.value) + " ms"
	case len(a.names) == 1:
		text += fmt.Sprintf("; longest wait %s to %s ms", format.Significant(least.value), format.Significant(most.value))
	default:
		text += fmt.Sprintf("; longest wait %s ms (%s) to %s ms (%s)", format.Significant(least.value), least.lock, format.Significant(most.value), most.lock)
	}
	if slices.ContainsFunc(v.firstRows(a), func(row *Row) bool { return row.Limited != "" }) {
		text += "; limited by the harness or the machine"
	}
	return text
}

func (v *view) firstRows(a answer) (rows []*Row) {
	for _, p := range a.points {
		rows = append(rows, filter(v.rowsAt(p.ID), func(row *Row) bool { return slices.Contains(a.names, row.Subject) })...)
	}
	return rows
}

func (v *view) extremesOf(a answer, metric string) (least, most extreme, all bool) {
	return extremes(v.firstRows(a), func(row *Row) (string, float64, bool) {
		e, ok := row.estimate(metric)
		return row.Subject, e.Median, ok
	})
}

// level returns the goodput of the fastest locks as text. The text states a fraction of the highest possible goodput.
// If this is unknown, it states a fraction of the baseline's goodput, and otherwise a number per second.
func (v *view) level(a answer) string {
	if least, most, all := v.extremesOf(a, "utilisation"); all {
		return formatRange(least, most) + " of the ceiling"
	}
	least, most, all := extremes(v.firstRows(a), func(row *Row) (string, float64, bool) {
		of, _ := row.estimate(rankedBy)
		e, ok := v.estimate("bare", row.Point, rankedBy)
		return row.Subject, of.Median / max(e.Median, 1), ok
	})
	if all {
		return formatRange(least, most) + " of the baseline"
	}
	least, most, _ = v.extremesOf(a, rankedBy)
	return formatRange(least, most) + " /s"
}

func formatRange(least, most extreme) string {
	low, high := format.Significant(least.value), format.Significant(most.value)
	if most.value < 2 { // show a ratio below 2 with two decimals
		low, high = fmt.Sprintf("%.2f", least.value), fmt.Sprintf("%.2f", most.value)
	}
	if low == high {
		return low
	}
	return low + " to " + high
}

// ahead returns the ratio of the fastest lock's goodput to the next lock's goodput, as text.
func (v *view) ahead(points []Point) string {
	least, most, _ := extremes(points, func(p Point) (string, float64, bool) {
		r, ok := v.next(p)
		return r.Subject, 1 / r.ToBest.Ratio, ok
	})
	switch {
	case least.value == 0:
		return ""
	case len(points) == 1:
		return format.Times(least.value) + " " + least.lock
	case most.value < least.value*1.005:
		return format.Times(least.value) + " the next"
	}
	return fmt.Sprintf("%s to %s the next", format.Times(least.value), format.Times(most.value))
}

func (v *view) next(p Point) (Ranked, bool) {
	return find(v.ranked(p.ID), func(r Ranked) bool { return r.Rank > 1 && r.ToBest.Ratio > 0 })
}

// starving lists, as text, the locks that starve clients under at least one of the conditions. For each lock it states
// the highest number of starved clients.
func (v *view) starving(points []Point) string {
	worst, names := map[string]*Row{}, []string{}
	for _, p := range points {
		for _, row := range v.rowsAt(p.ID) {
			if row.Starving == "" || row.subject.Role != Lock {
				continue
			}
			names = appendUnique(names, row.Subject)
			if old := worst[row.Subject]; old == nil || old.Estimates["starved"].Median < row.Estimates["starved"].Median {
				worst[row.Subject] = row
			}
		}
	}
	for i, name := range names {
		clients := fmt.Sprintf("%.0f of %d", math.Ceil(worst[name].Estimates["starved"].Median), worst[name].point.Clients)
		if names[i] += " " + clients; i == 0 {
			names[i] = fmt.Sprintf("%s starves %s clients", name, clients)
		}
	}
	return strings.Join(names, ", ")
}

// powerless returns a sentence if there are too few trials to show any difference between the locks, and "" otherwise.
// For n pairs of trials, the smallest possible p-value is 2/2^n. Holm's method multiplies the p-value by the number of
// comparisons.
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
	return fmt.Sprintf("with %s of trials no difference between %d locks can be shown, however great: it takes %d", format.Plural(pairs, "pair"), len(order), needed)
}

// describePoints returns text that describes several sets of conditions. If only the number of clients differs, the
// text is, for example, "4, 16 and 64 clients".
func (v *view) describePoints(points []Point) string {
	names := collect(points, v.describeSettings)
	clients := collect(names, func(text string) string { return strings.TrimSuffix(text, " clients") })
	for i, number := range clients {
		if number == names[i] || strings.Contains(number, " ") {
			return strings.Join(names, "; ")
		}
	}
	return format.Joined(clients) + " clients"
}

func (v *view) unsafeRow(name string) (Row, bool) {
	return find(v.Rows, func(row Row) bool { return row.Subject == name && row.Unsafe != nil })
}

// circumstances describes the test machine and the method, and explains the terms in the verdict.
func (v *view) circumstances() string {
	e := v.Plan.Environment
	text := "Measured on " + format.Plural(e.Cores, "processor")
	if e.CPU != "" {
		text += " (" + e.CPU + ")"
	}
	text += fmt.Sprintf(", servers: %s; %s of each lock under each condition, in shuffled blocks.", v.Plan.Servers, format.Plural(v.Plan.Trials, "trial"))
	if len(v.Withheld) > 0 {
		return text
	}
	return text + " Fastest means the most critical sections per second; locks tie if the difference may be noise (5 %, corrected). A lock that starves clients has no rank. The ceiling is 1/(hold + round trip), the baseline a loop of plain commands. The result holds for these conditions, this machine and these versions."
}

func (v *view) brokenLocks() (all []string) {
	for _, s := range v.Plan.Subjects {
		row, violated := v.unsafeRow(s.Name)
		if s.Role == Lock && violated {
			all = append(all, fmt.Sprintf("%s (%s violated%s)", s.Name, row.Unsafe.Property, row.Unsafe.Foreseen()))
		}
	}
	return all
}
