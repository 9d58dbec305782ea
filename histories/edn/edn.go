// Package edn reads and writes histories as Jepsen does, in EDN: Format makes a histories.Reader read them, Export
// writes one.
package edn

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"lockbench/histories"
)

// markEvery is after how many entries of an EDN history a mark is put in, so that a replay need not hold it whole.
const markEvery = 4096

// jepsens is the call of Jepsen's own faults while they are open: their second entry does not say when that was.
const jepsens time.Duration = -1

// Format is Jepsen's EDN, for histories.Open.
var Format = histories.Format{Detect: looksLikeEDN, Read: open}

// history turns Jepsen's history, in which an operation is two entries, into lines, in which it is one.
// It keeps what is open and what each client did last.
type history struct {
	reader  *histories.Reader // for its header and warnings
	forms   *forms
	wrapped bool // the file is one vector
	headed  bool // it began with a header
	ended   bool

	clients map[int32]*client
	faults  map[injection][]histories.Op // open, by what the nemesis called them, and by client and call where it says so
	ready   []histories.Line             // to be delivered before anything else is read
	unknown map[string]int               // fields that mean nothing here, and how often they stood
	clock   string                       // the field that gives the time: what the first entry has
	now     time.Duration                // of the last entry
	last    time.Duration                // the latest stamp
	entries int
}

// injection is what tells one inject from another: several may be open at once, also of one client.
type injection struct {
	client int32
	fault  string
	call   time.Duration
}

type client struct {
	open   *histories.Op // nil: none
	line   int           // of its invocation
	valued bool          // that had a value
	life   int32
	last   time.Duration
}

// looksLikeEDN tells EDN from JSON lines: these begin with an object whose first name is in quotes.
func looksLikeEDN(in *bufio.Reader) bool {
	text, _ := in.Peek(256)
	text = bytes.TrimLeft(text, " \t\r\n,")
	if len(text) == 0 {
		return false
	}
	if text[0] == '{' {
		return bytes.HasPrefix(bytes.TrimLeft(text[1:], " \t\r\n,"), []byte(":"))
	}
	return bytes.IndexByte([]byte("[(#;"), text[0]) >= 0
}

// open reads up to the first entry, which may be a header that lockbench wrote.
func open(r *histories.Reader, in *bufio.Reader) (next func() (histories.Line, error), err error) {
	r.Header = histories.Header{Version: histories.Version}
	h := &history{reader: r, forms: &forms{in: in, line: 1}, last: -1,
		clients: map[int32]*client{}, faults: map[injection][]histories.Op{}, unknown: map[string]int{}}
	if c, _ := h.forms.next(); c == '[' || c == '(' {
		h.forms.read()
		h.wrapped = true
	}
	first, err := h.entry()
	if err != nil || first == nil {
		return h.next, err
	}
	return h.next, h.take(first)
}

func (h *history) next() (histories.Line, error) {
	for len(h.ready) == 0 {
		if h.ended {
			return histories.Line{}, io.EOF
		}
		entry, err := h.entry()
		switch {
		case err != nil:
			return histories.Line{}, err
		case entry == nil:
			h.end()
			continue
		}
		if err := h.take(entry); err != nil {
			return histories.Line{}, err
		}
		if h.entries++; h.entries%markEvery == 0 {
			h.mark(h.now)
		}
	}
	line := h.ready[0]
	h.ready = h.ready[1:]
	return line, nil
}

// entry reads the next map; nil at the end.
func (h *history) entry() (*form, error) {
	c, err := h.forms.next()
	line := h.forms.line
	switch {
	case err == io.EOF && h.wrapped:
		h.reader.Warnf("the file ends at line %d without the bracket that closes its first one: what precedes was read", line)
		return nil, nil
	case err == io.EOF:
		return nil, nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		h.reader.Warnf("the compressed file ends within a block, after byte %d of the text: what precedes was read", h.forms.offset)
		return nil, nil
	case err == nil && h.wrapped && (c == ']' || c == ')'):
		h.forms.read()
		h.wrapped = false
		if _, err := h.forms.next(); err != io.EOF {
			return nil, fmt.Errorf("line %d: something follows the vector of operations: want one vector, or one map per line", h.forms.line)
		}
		return nil, nil
	}
	var f form
	if err == nil {
		f, err = h.forms.form()
	}
	switch {
	case err == errTorn && h.forms.line == line: // the writer was cut off; a bracket left open would have swallowed lines
		h.reader.Warnf("the file ends within line %d, at byte %d of the text: what follows was not written, what precedes was read", line, h.forms.start)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("line %d: %w", line, err)
	case f.kind != mapping:
		return nil, fmt.Errorf("line %d: want a map such as {:process 0, :type :invoke, :f :acquire}, got %.40s", line, f.String())
	}
	return &f, nil
}

// take turns an entry into lines, if it ends an operation.
func (h *history) take(f *form) error {
	e, err := h.parse(f)
	if err == nil {
		err = h.turn(e)
	}
	if err != nil {
		return fmt.Errorf("line %d: %w", f.line, err)
	}
	return nil
}

func (h *history) turn(e *entry) error {
	if err := h.tick(e); err != nil {
		return err
	}
	if e.op.Kind != histories.Lost {
		e.op.Return = 0 // what others say of it is no field of theirs
	}
	switch {
	case e.process == nemesis && e.f == headerEntry:
		return h.header(e)
	case e.process == nemesis:
		return h.fault(e)
	case e.process == selfStarted:
		return h.selfStarted(e)
	case e.kind == "invoke":
		return h.invoke(e)
	}
	return h.complete(e)
}

// tick moves the clock on: by :time, or by :index if the first entry has no time, or else one by one.
func (h *history) tick(e *entry) error {
	if h.clock == "" {
		h.clock = "none"
		for _, name := range []string{":index", ":time"} {
			if e.has(name) {
				h.clock = name
			}
		}
	}
	at := h.now + 1
	if h.clock != "none" {
		n, ok := e.numbers[h.clock]
		if !ok {
			return fmt.Errorf("no %s, which the first operation has", h.clock)
		}
		at = time.Duration(n)
	}
	if at < h.now || at >= histories.Forever {
		return fmt.Errorf("%s %d stands below %d: want operations in the order in which they happened", h.clock, at, h.now)
	}
	h.now, h.last = at, max(h.last, at)
	return nil
}

func (h *history) client(e *entry) *client {
	c, ok := h.clients[e.op.Client]
	if !ok {
		c = &client{last: -1}
		h.clients[e.op.Client] = c
	}
	return c
}

// stamp is the present time, later than this client's last stamp: entries with equal times keep their order.
func (h *history) stamp(c *client) time.Duration {
	c.last = max(h.now, c.last+1)
	h.last = max(h.last, c.last)
	return c.last
}

func (h *history) invoke(e *entry) error {
	c := h.client(e)
	if c.open != nil {
		return fmt.Errorf("%s invokes :%s while its :%s of line %d is open", e.who(), e.op.Kind, c.open.Kind, c.line)
	}
	op := e.op
	if !e.has(":life") {
		op.Life = c.life
	}
	op.Call, op.Return, op.Outcome = h.stamp(c), histories.StillOpen, histories.Unknown
	if !e.has(":due") {
		op.Due = op.Call
	}
	if op.Due > op.Call {
		return fmt.Errorf("it was due at %d, after its call at %d", op.Due, op.Call)
	}
	c.open, c.line, c.valued = &op, e.line, e.has(":value")
	return nil
}

func (h *history) complete(e *entry) error {
	c := h.client(e)
	switch {
	case c.open == nil:
		return fmt.Errorf("%s ends :%s with :%s, and did not invoke it", e.who(), e.op.Kind, e.kind)
	case c.open.Kind != e.op.Kind:
		return fmt.Errorf("%s ends :%s with :%s, but what it invoked at line %d is :%s", e.who(), e.op.Kind, e.kind, c.line, c.open.Kind)
	}
	op := *c.open
	e.complete(&op)
	if op.Kind == histories.Write && op.Outcome != histories.Refused && !e.has(":value") && !c.valued {
		return errors.New(":value of a write: want a whole number, got none")
	}
	op.Return = h.stamp(c)
	c.open = nil
	if op.Outcome == histories.Unknown && (op.Kind == histories.Acquire || op.Kind == histories.Release) {
		c.life = op.Life + 1 // nobody knows what it holds: Jepsen goes on with another process
	}
	h.ready = append(h.ready, histories.Line{Op: op})
	return nil
}

// fault is a nemesis: two entries of the same :f. Where lockbench wrote it, both bear its :call, and a heal is
// one entry.
func (h *history) fault(e *entry) error {
	op, ours := e.op, e.has(":call")
	id := injection{op.Client, cmp.Or(op.Fault, e.f), op.Call}
	if !ours {
		id.call = jepsens
	}
	begun := h.faults[id]
	if ours && e.kind == "invoke" && op.Kind == histories.Inject || !ours && len(begun) == 0 {
		if !ours {
			op.Due, op.Call, op.Fault = h.now, h.now, id.fault
		}
		if op.Call > h.now {
			return fmt.Errorf("it stands at %d, before its call at %d", h.now, op.Call)
		}
		h.faults[id] = append(begun, op)
		return nil
	}
	if len(begun) > 0 {
		if h.faults[id] = begun[1:]; len(begun) == 1 {
			delete(h.faults, id)
		}
		if !ours {
			op = begun[0]
		}
	}
	return h.self(&op)
}

// selfStarted is what a lock began by itself, such as a watchdog's renewal: one entry, at its return.
func (h *history) selfStarted(e *entry) error {
	if !e.op.Kind.SelfStarted() || !e.has(":call") {
		return fmt.Errorf("process :lock does a %s: want :renew or :lost, with :call", e.op.Kind)
	}
	return h.self(&e.op)
}

// self takes in what is one entry, at its return; where that is known to have been later, it says so.
func (h *history) self(op *histories.Op) error {
	if op.Return = max(op.Return, h.now); op.Call > h.now {
		return fmt.Errorf("it returns at %d, before its call at %d", op.Return, op.Call)
	}
	if op.Due > op.Call {
		return fmt.Errorf("it was due at %d, after its call at %d", op.Due, op.Call)
	}
	h.ready = append(h.ready, histories.Line{Op: *op})
	return nil
}

// mark lists what is open and says that all until then stands above.
func (h *history) mark(at time.Duration) {
	for _, id := range slices.Sorted(maps.Keys(h.clients)) {
		if c := h.clients[id]; c.open != nil && !c.open.Kind.SelfStarted() {
			h.ready = append(h.ready, histories.Line{Op: *c.open})
		}
	}
	for _, id := range h.faultsInOrder() {
		for _, op := range h.faults[id] {
			if op.Kind == histories.Inject {
				op.Return, op.Outcome, op.Error = histories.StillOpen, histories.Unknown, ""
				h.ready = append(h.ready, histories.Line{Op: op})
			}
		}
	}
	h.ready = append(h.ready, histories.Line{Mark: true, At: at})
}

func (h *history) faultsInOrder() []injection {
	return slices.SortedFunc(maps.Keys(h.faults), func(a, b injection) int {
		return cmp.Or(cmp.Compare(a.fault, b.fault), cmp.Compare(a.client, b.client), cmp.Compare(a.call, b.call))
	})
}

func (h *history) end() {
	h.ended = true
	for _, id := range h.faultsInOrder() { // one of Jepsen's that has no second entry
		if id.call == jepsens {
			h.self(&h.faults[id][0])
			delete(h.faults, id)
		}
	}
	h.mark(max(h.last, 0))
	if len(h.unknown) == 0 {
		return
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(h.unknown)) {
		names = append(names, fmt.Sprintf("%s (%d)", name, h.unknown[name]))
	}
	h.reader.Warnf("fields that lockbench does not know are not judged: %s", strings.Join(names, ", "))
}
