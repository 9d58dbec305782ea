// Package edn reads and writes histories in EDN, the notation of Jepsen. Pass Format to histories.Open to read EDN.
// Export writes a history file as EDN.
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

// markEvery is the number of EDN entries after which the reader adds a mark. A mark states that the history is complete
// up to its time. Marks limit the memory of histories.Replay.
const markEvery = 4096

// jepsens is the start time in the injection value of each fault that Jepsen recorded. The real start time is not used,
// because Jepsen's entry for the end of a fault does not contain it.
const jepsens time.Duration = -1

// Format is the EDN notation of Jepsen, to be passed to histories.Open.
var Format = histories.Format{Detect: looksLikeEDN, Read: open}

// history reads an EDN history. It combines the two EDN entries of an operation (call and return) into one line.
type history struct {
	reader  *histories.Reader // receives the header and the warnings
	forms   *forms
	wrapped bool // the file is one vector of entries
	headed  bool // the file began with a header
	ended   bool

	clients map[int32]*client
	faults  map[injection][]histories.Op // faults that have not ended
	ready   []histories.Line             // queue of lines that the reader returns next
	unknown map[string]int               // number of occurrences of each unknown field, by name
	clock   string                       // name of the field with the time: :time, :index or none
	now     time.Duration                // time of the last entry
	last    time.Duration                // latest time of any operation
	entries int
}

// injection identifies a fault by its client, name and start time. If several faults have the same injection value,
// they end in the order in which they began.
type injection struct {
	client int32
	fault  string
	call   time.Duration
}

type client struct {
	open   *histories.Op // operation that has not returned, or nil
	line   int           // line number of the call
	valued bool          // whether the EDN entry for the call of that operation has the field :value
	life   int32
	last   time.Duration
}

// looksLikeEDN reports whether the input is EDN. It distinguishes EDN maps from JSON objects by the colon before the
// first name.
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

// open reads the start of the file, including the header if lockbench wrote the file. It returns a function that reads
// the next line.
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

// entry returns the next map of the file, or nil at the end of the file.
func (h *history) entry() (*form, error) {
	c, err := h.forms.next()
	line := h.forms.line
	switch {
	case err == io.EOF && h.wrapped:
		h.reader.Warnf("the file ends at line %d without its closing bracket: only the lines before it were read", line)
		return nil, nil
	case err == io.EOF:
		return nil, nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		h.reader.Warnf("the compressed file ends within a block, after byte %d of the text: only the lines before it were read", h.forms.offset)
		return nil, nil
	case err == nil && h.wrapped && (c == ']' || c == ')'):
		h.forms.read()
		h.wrapped = false
		if _, err := h.forms.next(); err != io.EOF {
			return nil, fmt.Errorf("line %d: unexpected text after the vector of operations: want one vector, or one map per line", h.forms.line)
		}
		return nil, nil
	}
	var f form
	if err == nil {
		f, err = h.forms.form()
	}
	switch {
	case err == errTorn && h.forms.line == line: // the file ends on the line on which the value began, so the writer was interrupted
		h.reader.Warnf("the file ends within line %d, at byte %d of the text: only the lines before it were read", line, h.forms.start)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("line %d: %w", line, err)
	case f.kind != mapping:
		return nil, fmt.Errorf("line %d: want a map such as {:process 0, :type :invoke, :f :acquire}, got %.40s", line, f.String())
	}
	return &f, nil
}

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
		e.op.Return = 0 // only a reported loss may have a :return field
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

// tick sets the current time from the :time or the :index of an entry. If the first entry has neither field, each entry
// advances the time by one.
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
		return fmt.Errorf("%s %d is before %d: want operations in the order in which they happened", h.clock, at, h.now)
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

// stamp returns the current time as the time of an event. If the client already has an event at that time, stamp adds a
// nanosecond, so that events stay in order.
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
		return fmt.Errorf("due at %d, after its call at %d", op.Due, op.Call)
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
		c.life = op.Life + 1 // after an unknown outcome, Jepsen continues with a new process
	}
	h.ready = append(h.ready, histories.Line{Op: op})
	return nil
}

// fault handles an entry of Jepsen's process nemesis, which starts and ends faults. Only entries written by lockbench
// have a :call field.
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
			return fmt.Errorf("its entry is at %d, before its call at %d", h.now, op.Call)
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

// selfStarted handles an operation that the lock itself started, such as a watchdog's renewal. The history contains one
// entry for the whole operation, instead of one for the call and one for the return.
func (h *history) selfStarted(e *entry) error {
	if !e.op.Kind.SelfStarted() || !e.has(":call") {
		return fmt.Errorf("process :lock does a %s: want :renew or :lost, with :call", e.op.Kind)
	}
	return h.self(&e.op)
}

// self adds an operation that no client started: a fault, or an operation of the lock itself. The operation returns at
// the time of the current entry, or at op.Return if that is later.
func (h *history) self(op *histories.Op) error {
	if op.Return = max(op.Return, h.now); op.Call > h.now {
		return fmt.Errorf("returns at %d, before its call at %d", op.Return, op.Call)
	}
	if op.Due > op.Call {
		return fmt.Errorf("due at %d, after its call at %d", op.Due, op.Call)
	}
	h.ready = append(h.ready, histories.Line{Op: *op})
	return nil
}

// mark adds the operations that have not returned, and a mark: the time up to which the history is complete.
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
	for _, id := range h.faultsInOrder() { // faults recorded by Jepsen may have no end
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
	h.reader.Warnf("unknown fields are ignored: %s", strings.Join(names, ", "))
}
