package counterexample

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/histories"
	"lockbench/internal/drive/faults"
)

// Marks of a timeline.
const (
	waiting   = '·'
	holding   = '█'
	overdue   = '▒'
	releasing = '-'
	released  = '|'
	refused   = '!'
	unknown   = '?'
	lost      = 'x'
	dead      = '†'
	reads     = 'r'
	writes    = 'w'
)

// legend explains the marks, in display order.
var legend = []struct {
	mark rune
	text string
}{{waiting, "tries to acquire"}, {holding, "holds"}, {overdue, "holds past its lease"}, {releasing, "releases"}, {released, "released"},
	{refused, "refused"}, {unknown, "unknown outcome"}, {lost, "lost"}, {dead, "killed or gone away"}, {reads, "reads"}, {writes, "writes"}}

// MinWidth is the smallest width of a timeline.
const MinWidth = 48

// timeline maps times to columns of text.
type timeline struct {
	*Example
	width    int // width of the time axis, in columns
	names    int // width of the first column
	from, to time.Duration
}

// Timeline returns the timeline as text, in lines of at most max(width, MinWidth) characters. There is one line for each
// fault, for each client and for the violation. A fault's name is followed by its number in the event list. The last
// lines show the time in ms and explain the symbols.
func (x *Example) Timeline(width int) string {
	t := &timeline{Example: x, names: len("violation") + 2}
	type row struct {
		name  string
		cells func([]rune)
	}
	var rows []row
	clients := map[int32]string{}
	for i, e := range x.events {
		if f := e.fault; f != nil {
			for _, c := range f.Clients {
				clients[c] = fmt.Sprintf("client %d", c)
			}
			if e.rank != faultEnds {
				rows = append(rows, row{fmt.Sprintf("%s (%d)", f.Do.Verb, i+1), func(cells []rune) { t.fault(cells, f) }})
			}
			continue
		}
		clients[e.ops[0].Client] = x.client(e.ops[0])
	}
	delete(clients, histories.Harness)
	for _, c := range slices.Sorted(maps.Keys(clients)) {
		rows = append(rows, row{clients[c], func(cells []rune) { t.lane(cells, c) }})
	}
	if x.finding.Witness != nil {
		rows = append(rows, row{"violation", func(cells []rune) {
			first := t.column(x.witness.From)
			fill(cells, first, max(t.column(x.witness.To), first+1), '^')
		}})
	}
	for _, r := range rows {
		t.names = max(t.names, len(r.name)+2)
	}
	t.width = max(width, MinWidth) - t.names
	t.span()
	var lines []string
	used := map[rune]bool{}
	for _, r := range rows {
		cells := t.blank()
		r.cells(cells)
		lines = append(lines, t.line(r.name, string(cells)))
		for _, mark := range cells {
			used[mark] = used[mark] || !strings.Contains(r.name, "(")
		}
	}
	return strings.Join(append(append(lines, t.axis()...), t.legend(used)...), "\n") + "\n"
}

// span sets the start and the end of the timeline. It begins a little before the first relevant event and ends a little
// after the last.
func (t *timeline) span() {
	t.from, t.to = t.until, t.until
	for _, e := range t.events {
		if e.weight > background || t.finding.Witness == nil {
			t.from = min(t.from, e.at)
		}
		for _, op := range e.ops {
			t.to = max(t.to, op.Call, min(op.Return, t.until))
			if e.weight == essential && op.Kind == histories.Acquire {
				t.from = min(t.from, op.Call)
			}
		}
	}
	if t.finding.Witness != nil {
		t.from, t.to = min(t.from, t.witness.From), max(t.to, t.witness.To)
	}
	around := max((t.to-t.from)/25, time.Microsecond)
	t.from, t.to = max(t.from-around, 0), t.to+around
}

func (t *timeline) blank() []rune { return slices.Repeat([]rune{' '}, t.width) }

func (t *timeline) line(name, cells string) string {
	return strings.TrimRight(fmt.Sprintf("%-*s%s", t.names, name, cells), " ")
}

func (t *timeline) column(at time.Duration) int {
	return int(int64(min(max(at, t.from), t.to)-t.from) * int64(t.width-1) / int64(t.to-t.from))
}

func fill(cells []rune, from, to int, mark rune) {
	for i := max(from, 0); i < min(to, len(cells)); i++ {
		cells[i] = mark
	}
}

func (t *timeline) fault(cells []rune, f *fault) {
	to := f.To
	if f.To == histories.StillOpen && slices.Contains([]faults.Verb{faults.Pause, faults.Cut, faults.Slow, faults.Mute, faults.Freeze, faults.Drift, faults.ClientDrift, faults.Down}, f.Do.Verb) {
		to = histories.Forever
	}
	first, last := t.column(f.From), t.column(to)
	cells[first] = '▼'
	if last > first {
		fill(cells, first, last+1, '─')
		cells[first] = '├'
		if to <= t.to {
			cells[last] = '┤'
		}
	}
}

// lane draws the operations of one client in a row of the timeline. A hold is at least one column wide. It overwrites
// the marks of acquires and releases in its columns.
func (t *timeline) lane(cells []rune, client int32) {
	var own []*histories.Op
	for i := range t.Ops {
		op := &t.Ops[i]
		shown := op.Call <= t.to && (op.Open() || op.Return >= t.from)
		if op.Client != client || !shown || !t.key(op) && !op.EndsClient() || t.inner[keyOf(op)] {
			continue
		}
		own = append(own, op)
		if mark := map[histories.Kind]rune{histories.Acquire: waiting, histories.Release: releasing}[op.Kind]; mark != 0 {
			fill(cells, t.column(op.Call), t.column(t.end(op)), mark)
		}
	}
	for _, h := range t.holds {
		if h.acquire.Client == client && h.acquire.Return <= t.to && h.end >= t.from && t.key(h.acquire) {
			t.drawHold(cells, h)
		}
	}
	for _, op := range own {
		t.mark(cells, op)
	}
}

func (t *timeline) end(op *histories.Op) time.Duration {
	if op.Open() {
		return t.to
	}
	return op.Return
}

// mark draws the symbol for the end of an operation. A hold that is one column wide is never hidden by the symbol of an
// acquire, a release or a loss.
func (t *timeline) mark(cells []rune, op *histories.Op) {
	column := t.column(t.end(op))
	if op.EndsClient() {
		column = t.endColumn(t.column(op.Call), op)
		cells[column] = dead
		fill(cells, column+1, len(cells), ' ')
		return
	}
	held := func(i int) bool { return i < len(cells) && (cells[i] == holding || cells[i] == overdue) }
	returned := !op.Open() && op.Return <= t.to && !t.clientEnded(op)
	locks := op.Kind == histories.Acquire || op.Kind == histories.Release
	mark := rune(0)
	switch {
	case op.Kind == histories.Read && t.inWitness(op):
		cells[column] = reads
	case (op.Kind == histories.Write || op.Kind == histories.Append) && t.inWitness(op):
		cells[max(column-1, 0)] = writes // one column to the left, so that the symbol of the next release does not overwrite it
	case !returned:
	case op.Kind == histories.Lost:
		mark, column = lost, t.endColumn(column, op)
	case locks && op.Outcome == histories.Unknown:
		mark = unknown
	case op.Kind == histories.Release:
		mark, column = released, t.endColumn(column, op)
	case locks && op.Outcome == histories.Refused:
		mark = refused
	}
	if mark != 0 && cells[column] != lost && (!held(column) || held(column+1)) {
		cells[column] = mark
	}
}

// endColumn returns the column for the symbol of an operation that ends a hold. If the hold begins in the same
// column, it returns the next column.
func (t *timeline) endColumn(column int, op *histories.Op) int {
	for _, h := range t.holds {
		if h.acquire.Client == op.Client && (h.release == op || h.end == op.Call) && t.column(h.acquire.Return) == column {
			column++
		}
	}
	return min(column, t.width-1)
}

func (t *timeline) drawHold(cells []rune, h *hold) {
	end := min(h.end, t.to)
	first, last := t.column(h.acquire.Return), t.column(end)
	if h.end > t.to {
		last = t.width
	}
	last = max(last, first+1)
	fill(cells, first, last, holding)
	if until, ok := h.promise(end); ok && until < end {
		from := first
		if until > h.acquire.Return {
			from = max(t.column(until), first+1)
		}
		fill(cells, from, last, overdue)
	}
}

// axis returns the time axis, which has 4 to 6 labels.
func (t *timeline) axis() []string {
	step := t.step()
	ticks, labels := slices.Repeat([]rune{'─'}, t.width), t.blank()
	free := 0
	for at := (t.from + step - 1) / step * step; at <= t.to; at += step {
		label := strconv.FormatFloat(float64(at)/float64(time.Millisecond), 'f', -1, 64)
		column := t.column(at)
		if column < free || column+len(label) > t.width {
			continue
		}
		ticks[column] = '┴'
		free = column + copy(labels[column:], []rune(label)) + 1
	}
	return []string{t.line("", string(ticks)), t.line("ms", string(labels))}
}

// step returns the smallest round time between two labels with which the axis has at most 6 labels.
func (t *timeline) step() time.Duration {
	for unit := time.Microsecond; ; unit *= 10 {
		for _, step := range []time.Duration{unit, 2 * unit, 5 * unit / 2, 5 * unit} {
			if first := (t.from + step - 1) / step; t.to/step-first < 6 {
				return step
			}
		}
	}
}

func (t *timeline) legend(used map[rune]bool) []string {
	var all []string
	text := ""
	for _, l := range legend {
		if !used[l.mark] {
			continue
		}
		if len([]rune(text+l.text))+4 > t.width {
			all, text = append(all, t.line("", text)), ""
		}
		text += string(l.mark) + " " + l.text + "  "
	}
	return append(all, t.line("", text))
}
