package counterexample

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/histories"
	"lockbench/workloads"
)

// The marks of a picture. None of them is wider than a letter.
const (
	waits   = '·'
	holds   = '█'
	overdue = '▒' // holds beyond what was promised
	gives   = '-' // gives back, and has no answer yet
	gaveUp  = '|' // gave back
	refused = '!'
	lost    = 'x'
	dead    = '†'
	reads   = 'r'
	writes  = 'w'
	unknown = '?'
)

// legend says what the marks are, in the order in which it does.
var legend = []struct {
	mark rune
	says string
}{{waits, "asks"}, {holds, "holds"}, {overdue, "holds though its lease is over"}, {gives, "is giving back"}, {gaveUp, "gave it up"},
	{refused, "refused"}, {unknown, "does not know"}, {lost, "told that it is lost"}, {dead, "is no more"}, {reads, "reads"}, {writes, "writes"}}

// mostRows is how many faults a picture shows.
const mostRows = 8

// Narrowest is the least width of a picture: beside the names there is room for what the marks mean.
const Narrowest = 48

// Picture is the trial as swim lanes in text, time from left to right: a line for each client of the story, the faults
// above, and below what of the property was violated, and when, in ms. No line has more than width letters; below 48 it is 48.
func (t Trial) Picture(property string, width int) string {
	s := t.teller(property)
	moments := s.arranged()
	p := &picture{teller: s, width: max(width, Narrowest)}
	p.span(moments)
	p.casting(moments)
	var lines []string
	lines = append(lines, p.misfortunes()...)
	for _, c := range p.clients {
		lines = append(lines, p.line(p.name(c), p.lane(c)))
	}
	if s.finding.Witness != nil {
		row := p.row()
		first := p.cell(s.witness.From)
		last := max(p.cell(s.witness.To), first+1)
		fill(row, first, last, '^')
		lines = append(lines, p.labelled("", row, first, last, p.says())...)
	}
	lines = append(lines, p.axis()...)
	return strings.Join(append(lines, p.explained(lines)...), "\n") + "\n"
}

// picture maps time to letters.
type picture struct {
	*teller
	width    int
	clients  []int32
	names    int // the width of their column
	from, to time.Duration
}

// casting finds out whose lanes there are: of whom something is told.
func (p *picture) casting(moments []*moment) {
	all := map[int32]bool{}
	for _, m := range moments {
		for _, op := range m.ops {
			if p.shown(op) {
				all[op.Client] = true
			}
		}
		if m.fault != nil {
			for _, c := range m.fault.victims {
				all[c] = true
			}
		}
	}
	delete(all, histories.Harness)
	p.clients = slices.Sorted(maps.Keys(all))
	p.names = len("faults") + 2
	for _, c := range p.clients {
		p.names = max(p.names, len(p.name(c))+2)
	}
}

func (p *picture) name(c int32) string {
	if p.fresh(c) {
		return "fresh client"
	}
	return fmt.Sprintf("client %d", c)
}

// span is the time that is shown: from a little before the first thing that matters to a little after the last.
func (p *picture) span(moments []*moment) {
	p.from, p.to = p.until, p.until
	for _, m := range moments {
		if m.fault != nil || m.weight >= struck || p.finding.Witness == nil {
			p.from = min(p.from, m.at)
		}
		for _, op := range m.ops {
			p.to = max(p.to, op.Call, min(op.Return, p.until))
		}
	}
	if p.finding.Witness != nil {
		p.from, p.to = min(p.from, p.witness.From), max(p.to, p.witness.To)
	}
	around := max((p.to-p.from)/25, time.Microsecond)
	p.from, p.to = max(p.from-around, 0), p.to+around
}

// shown tells whether an operation is within the time that is shown.
func (p *picture) shown(op *histories.Op) bool {
	return op.Call <= p.to && (op.Open() || op.Return >= p.from)
}

func (p *picture) row() []rune { return []rune(strings.Repeat(" ", p.width-p.names)) }

// cell is the place of a time in a row.
func (p *picture) cell(t time.Duration) int {
	n := p.width - p.names
	return int(int64(min(max(t, p.from), p.to)-p.from) * int64(n-1) / int64(p.to-p.from))
}

func (p *picture) line(name string, row []rune) string {
	return strings.TrimRight(fmt.Sprintf("%-*s%s", p.names, name, string(row)), " ")
}

// fill puts a mark into cells, the last of which is left out.
func fill(row []rune, from, to int, mark rune) {
	for i := max(from, 0); i < to && i < len(row); i++ {
		row[i] = mark
	}
}

// lane is what one client did. What weighs more is drawn over what weighs less: a hold is at least one cell.
func (p *picture) lane(c int32) []rune {
	row := p.row()
	var own []*histories.Op
	for i := range p.Ops {
		if op := &p.Ops[i]; op.Client == c && p.shown(op) && (p.key(op) || op.EndsClient()) && !p.again(op) {
			own = append(own, op)
		}
	}
	for _, op := range own {
		if op.Kind == histories.Acquire {
			fill(row, p.cell(op.Call), p.cell(p.end(op)), waits)
		}
	}
	for _, op := range own {
		if op.Kind == histories.Release {
			fill(row, p.cell(op.Call), p.cell(p.end(op)), gives)
		}
	}
	for _, h := range p.holds {
		if h.acquire.Client == c && h.acquire.Return <= p.to && h.end >= p.from && p.key(h.acquire) {
			p.hold(row, h)
		}
	}
	for _, op := range own {
		p.mark(row, op)
	}
	return row
}

func (p *picture) end(op *histories.Op) time.Duration {
	if op.Open() {
		return p.to
	}
	return op.Return
}

// mark draws how an operation ended.
func (p *picture) mark(row []rune, op *histories.Op) {
	at := p.cell(p.end(op))
	switch {
	case op.Return > p.to || p.gone(op) && !op.EndsClient():
	case op.EndsClient():
		at = p.after(p.cell(op.Call), op)
		row[at] = dead
		fill(row, at+1, len(row), ' ')
	case (op.Kind == histories.Release || op.Kind == histories.Acquire) && op.Outcome == histories.Unknown && !op.Open():
		p.over(row, at, unknown)
	case op.Kind == histories.Release && !op.Open():
		p.over(row, p.after(at, op), gaveUp)
	case op.Kind == histories.Acquire && op.Outcome == histories.Refused && !op.Open():
		p.over(row, at, refused)
	case op.Kind == histories.Lost:
		p.over(row, p.after(at, op), lost)
	case op.Kind == histories.Read && p.inWitness(op):
		row[at] = reads
	case (op.Kind == histories.Write || op.Kind == histories.Append) && p.inWitness(op):
		row[max(at-1, 0)] = writes // what follows is the release
	}
}

// over draws a mark, but not over a hold that would not be seen any more.
func (p *picture) over(row []rune, at int, mark rune) {
	held := func(i int) bool { return i < len(row) && (row[i] == holds || row[i] == overdue) }
	if row[at] != lost && (!held(at) || held(at+1)) {
		row[at] = mark
	}
}

// after is the cell of what ends a hold: not that of the hold itself if it is shorter than a cell.
func (p *picture) after(at int, op *histories.Op) int {
	for _, h := range p.holds {
		if h.acquire.Client == op.Client && (h.release == op || h.end == op.Call) && p.cell(h.acquire.Return) == at {
			at++
		}
	}
	return min(at, p.width-p.names-1)
}

func (p *picture) hold(row []rune, h *tenure) {
	end := min(h.end, p.to)
	first, last := p.cell(h.acquire.Return), p.cell(end)
	if h.end > p.to {
		last = len(row)
	}
	last = max(last, first+1)
	fill(row, first, last, holds)
	until, ok := h.promise(end)
	switch {
	case ok && until <= h.acquire.Return:
		fill(row, first, last, overdue)
	case ok && until < end:
		fill(row, max(p.cell(until), first+1), last, overdue)
	}
}

// misfortunes are the faults, a line for each.
func (p *picture) misfortunes() []string {
	var lines []string
	name := "faults"
	for _, f := range p.faults {
		if f.from > p.until {
			continue
		}
		if len(lines) == mostRows {
			break
		}
		row := p.row()
		first, last := p.cell(f.from), p.cell(f.from)+1
		row[first] = '▼'
		to := f.to
		if to == histories.StillOpen && f.lasts() {
			to = histories.Forever
		}
		if p.cell(to) > first {
			last = p.cell(to) + 1
			fill(row, first, last, '─')
			row[first], row[last-1] = '├', '┤'
			if to > p.to {
				row[last-1] = '─'
			}
		}
		of, step := p.setting(f), f.Step
		of.clients = nil                             // the lanes show whose it is
		step.For, step.Until = 0, workloads.Moment{} // and the line how long it lasts
		text := done(step, of)
		if named := f.Name + ": " + text; f.Name != "" && p.fits(named, first, last) {
			text = named
		}
		lines = append(lines, p.labelled(name, row, first, last, text)...)
		name = ""
	}
	return lines
}

// fits tells whether there is room for words in the row of what stands in some of its cells.
func (p *picture) fits(text string, first, last int) bool {
	n := len([]rune(text))
	return last+1+n <= p.width-p.names || first-1-n >= 0 || last-first >= n+4
}

// labelled is a row with words beside what stands in some of its cells: after it where there is room, or before it, or
// within it, or else in a row of their own.
func (p *picture) labelled(name string, row []rune, first, last int, text string) []string {
	words := []rune(text)
	switch n := len(words); {
	case last+1+n <= len(row):
		copy(row[last+1:], words)
	case first-1-n >= 0:
		copy(row[first-1-n:], words)
	case last-first >= n+4:
		copy(row[first+2:], []rune(" "+text+" "))
	default:
		below := p.row()
		copy(below[max(min(first, len(row)-n), 0):], words)
		if n > len(row) {
			below[len(row)-1] = '…'
		}
		return []string{p.line(name, row), p.line("", below)}
	}
	return []string{p.line(name, row)}
}

// says is what is violated where the picture shows it.
func (p *picture) says() string {
	switch p.property {
	case "lease-exclusion":
		return "both hold, and both were promised it"
	case "mutual-exclusion":
		return "both hold"
	case "recovery", "progress":
		return "nobody is granted it"
	case "no-orphan":
		return "refused, though nobody is left"
	case "fencing":
		return "its token is not higher"
	}
	return p.property + " is violated"
}

// axis has 4 to 6 times, if they are so far apart.
func (p *picture) axis() []string {
	step := p.step()
	ticks, labels := p.row(), p.row()
	fill(ticks, 0, len(ticks), '─')
	free := 0
	for t := (p.from + step - 1) / step * step; t <= p.to; t += step {
		label := strconv.FormatFloat(float64(t)/float64(time.Millisecond), 'f', -1, 64)
		cell := p.cell(t)
		if cell < free || cell+len(label) > len(labels) {
			continue
		}
		ticks[cell] = '┴'
		free = cell + copy(labels[cell:], []rune(label)) + 1
	}
	return []string{p.line("", ticks), p.line("ms", labels)}
}

// step is how far apart the times on the axis are: as near as 6 of them allow.
func (p *picture) step() time.Duration {
	for unit := time.Microsecond; ; unit *= 10 {
		for _, step := range []time.Duration{unit, 2 * unit, 5 * unit / 2, 5 * unit} {
			if first := (p.from + step - 1) / step; p.to/step-first < 6 {
				return step
			}
		}
	}
}

// explained is the legend of the marks that a picture has.
func (p *picture) explained(lines []string) []string {
	var all []string
	text := ""
	for _, l := range legend {
		for _, line := range lines {
			if strings.HasPrefix(line, "client") || strings.HasPrefix(line, "fresh") {
				if lane := []rune(line); slices.Contains(lane[min(p.names, len(lane)):], l.mark) { // an empty lane was trimmed
					says := string(l.mark) + " " + l.says
					if len([]rune(text))+len([]rune(says))+2 > p.width-p.names {
						all, text = append(all, text), ""
					}
					text += says + "  "
					break
				}
			}
		}
	}
	all = append(all, text)
	for i := range all {
		all[i] = p.line("", []rune(all[i]))
	}
	return all
}
