package histories

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// Event is the call or the return of an operation. Op is valid only during the call of visit that receives the Event.
//
// At a call, only Client, Life, Hold, Kind, Key, Wait, Due and Call are set. If the operation is a
// fault, Fault and Value are set too.
type Event struct {
	Op     *Op
	Return bool
}

// Time returns when the event happened.
func (e Event) Time() time.Duration {
	if e.Return && e.Op.Kind != Lost { // the hold was lost at the time Call; the lock reported the loss at the time Return
		return e.Op.Return
	}
	return e.Op.Call
}

// Coverage describes which part of a history was replayed.
type Coverage struct {
	Until    time.Duration // the history is complete up to this time: the time of the last mark (see Recorder.Mark) or, without marks, of the last event
	Marks    int
	Ops      int           // number of operations called
	LeftOut  int           // number of operations called after Until; they are not judged
	MaxStall time.Duration // longest pause of lockbench itself
}

// Replay calls visit for each event of a history, in order of time. At equal times, calls come before returns. Replay
// returns an error if a client has two open operations.
//
// Replay keeps in memory only the operations between two marks or bounds (see Line). If an operation is called at the time of
// the client's previous return, Replay delays the call by one nanosecond.
func Replay(next func() (Line, error), visit func(Event) error) (Coverage, error) {
	p := replay{visit: visit, clients: map[int32]*sequence{}, faults: map[injection]bool{}}
	for n := 2; ; n++ {
		line, err := next()
		switch {
		case err == io.EOF:
			return p.cover, p.end()
		case err != nil:
			return p.cover, err
		case line.Mark:
			err = p.mark(line)
		case line.Bound:
			n-- // it is not a line of the file
			err = p.deliver(line.At)
		default:
			err = p.add(&line.Op)
		}
		if err != nil {
			return p.cover, fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// Lines returns a source for Replay that returns the given lines.
func Lines(lines []Line) func() (Line, error) {
	return oneByOne(lines, func(line Line) Line { return line })
}

// Ops returns a source for Replay that returns the given operations as lines. The source has no marks (see
// Recorder.Mark), so Replay visits every event.
func Ops(ops []Op) func() (Line, error) {
	return oneByOne(ops, func(op Op) Line { return Line{Op: op} })
}

func oneByOne[T any](all []T, line func(T) Line) func() (Line, error) {
	return func() (Line, error) {
		if len(all) == 0 {
			return Line{}, io.EOF
		}
		next := all[0]
		all = all[1:]
		return line(next), nil
	}
}

type replay struct {
	visit   func(Event) error
	cover   Coverage
	ops     []Op     // operations with queued events
	queue   []queued // events that have not been visited
	clients map[int32]*sequence
	faults  map[injection]bool // faults that have started but not returned in the lines read so far; the events for their starts have been queued
}

// injection identifies a fault by its client, name and start time.
type injection struct {
	client int32
	fault  string
	call   time.Duration
}

// sequence is the state of one client, whose operations must not overlap.
type sequence struct {
	last time.Duration // time at which the previous operation of the client returned
	open time.Duration // call time of the open operation, if busy is set
	busy bool          // whether an earlier line lists an open operation of the client
}

type queued struct {
	at time.Duration
	ev int32 // number of the event: 2*i for the call of the operation replay.ops[i], 2*i+1 for its return
}

func (p *replay) add(op *Op) error {
	if len(p.ops) >= math.MaxInt32/2 {
		return fmt.Errorf("more than %d operations without a mark", len(p.ops))
	}
	i := int32(len(p.ops)) * 2
	switch {
	case op.Kind == Inject:
		id := injection{op.Client, op.Fault, op.Call}
		if !p.faults[id] { // the event for the start of the fault has not been queued yet
			p.queue = append(p.queue, queued{op.Call, i})
		}
		if p.faults[id] = true; !op.Open() {
			delete(p.faults, id)
		}
	case !op.Kind.SelfStarted():
		if err := p.call(op, i); err != nil {
			return err
		}
	}
	p.ops = append(p.ops, *op)
	if !op.Open() {
		p.queue = append(p.queue, queued{Event{Op: op, Return: true}.Time(), i + 1})
	}
	return nil
}

// call checks that an operation does not overlap an earlier operation of the client. It queues the call, unless an
// earlier line listed the operation as open.
func (p *replay) call(op *Op, i int32) error {
	c, known := p.clients[op.Client]
	if !known {
		c = &sequence{last: -1}
		p.clients[op.Client] = c
	}
	if op.Call == c.last {
		op.Call++
		if !op.Open() {
			op.Return = max(op.Return, op.Call)
		}
	}
	listed := c.busy && c.open == op.Call
	switch {
	case op.Call < c.last:
		return fmt.Errorf("client %d calls at %v, before its operation above returned at %v", op.Client, op.Call, c.last)
	case c.busy && !listed:
		return fmt.Errorf("client %d calls at %v while its operation called at %v is open", op.Client, op.Call, c.open)
	case !listed && p.cover.Marks > 0 && op.Call < p.cover.Until:
		return fmt.Errorf("client %d called at %v, before the mark at %v above, which does not list it as open", op.Client, op.Call, p.cover.Until)
	case !listed:
		p.queue = append(p.queue, queued{op.Call, i})
	}
	c.busy, c.open = op.Open(), op.Call
	if !op.Open() {
		c.last = op.Return
	}
	return nil
}

func (p *replay) mark(line Line) error {
	if line.At < p.cover.Until {
		return fmt.Errorf("the mark at %v follows one at %v", line.At, p.cover.Until)
	}
	p.cover.Marks++
	p.cover.Until = line.At
	p.cover.MaxStall = max(p.cover.MaxStall, line.Stall)
	return p.deliver(line.At) // events at exactly this time stay queued, because later lines may contain more of them
}

func (p *replay) end() error {
	if p.cover.Marks == 0 {
		return p.deliver(Forever)
	}
	if err := p.deliver(p.cover.Until + 1); err != nil {
		return err
	}
	for _, q := range p.queue {
		if q.ev&1 == 0 {
			p.cover.LeftOut++
		}
	}
	return nil
}

func (p *replay) deliver(before time.Duration) error {
	slices.SortFunc(p.queue, func(a, b queued) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.ev&1, b.ev&1), p.faultsFirst(a, b), cmp.Compare(a.ev, b.ev))
	})
	n := 0
	for ; n < len(p.queue) && p.queue[n].at < before; n++ {
		q := p.queue[n]
		ev := Event{Op: &p.ops[q.ev/2], Return: q.ev&1 == 1}
		if !ev.Return || ev.Op.Kind.SelfStarted() && ev.Op.Kind != Inject && ev.Op.Kind != Seen {
			p.cover.Ops++
		}
		if p.cover.Marks == 0 {
			p.cover.Until = q.at
		}
		if err := p.visit(ev); err != nil {
			return err
		}
	}
	p.keep(p.queue[n:])
	return nil
}

// faultsFirst orders two calls that happen at the same time. The call of a fault comes before other calls.
func (p *replay) faultsFirst(a, b queued) int {
	x, y := &p.ops[a.ev/2], &p.ops[b.ev/2]
	if x.Kind != Inject && y.Kind != Inject || a.ev&1 == 1 {
		return 0
	}
	return cmp.Or(cmp.Compare(y.Kind, x.Kind), cmp.Compare(x.Fault, y.Fault), cmp.Compare(x.Client, y.Client))
}

// keep removes the operations whose events have all been visited. The parameter rest contains the events that have not
// been visited. The other operations stay in the order of their lines, which decides between events at the same time.
func (p *replay) keep(rest []queued) {
	needed := make([]int32, len(rest))
	for i, q := range rest {
		needed[i] = q.ev / 2
	}
	slices.Sort(needed)
	needed = slices.Compact(needed)
	for to, from := range needed {
		p.ops[to] = p.ops[from]
	}
	p.ops = p.ops[:len(needed)]
	for i := range rest {
		to, _ := slices.BinarySearch(needed, rest[i].ev/2)
		rest[i].ev = int32(to)*2 + rest[i].ev&1
	}
	p.queue = append(p.queue[:0], rest...)
}

// Memory holds a history in memory, which is much faster than a file. It must not be read before its Recorder is
// closed.
type Memory struct {
	Header Header
	Lines  []Line // lines of the history, as a Reader returns them
}

const memoryCapacity = 16

// NewMemory returns a Recorder, and the Memory to which it writes. The Recorder has a log for each client and one for
// lockbench itself.
func NewMemory(h Header, clients int) (*Recorder, *Memory) {
	m := &Memory{Lines: make([]Line, 0, 256)}
	r, err := newRecorder(m, h, clients, memoryCapacity)
	if err != nil {
		panic(err) // writing to memory cannot fail
	}
	r.grows = true
	return r, m
}

var _ sink = (*Memory)(nil)

func (m *Memory) header(h Header) error { m.Header = h; return nil }

func (m *Memory) op(op *Op) error {
	m.Lines = append(m.Lines, Line{Op: *op})
	return nil
}

func (m *Memory) mark(at, stall time.Duration) error {
	m.Lines = append(m.Lines, Line{Op: Op{Return: StillOpen}, Mark: true, At: at, Stall: stall}) // equal to the line that Reader.Next returns when it reads a mark from a file
	return nil
}

func (*Memory) flush() error { return nil }
func (*Memory) close() error { return nil }

// Source returns a function that returns the recorded lines one by one, for Replay. The function starts at the first
// line.
func (m *Memory) Source() func() (Line, error) { return Lines(m.Lines) }

// Digest returns a hash of the header and all lines, as 16 hexadecimal digits.
func (m *Memory) Digest() (string, error) {
	header, err := json.Marshal(m.Header)
	if err != nil {
		return "", fmt.Errorf("the digest of a history: %w", err)
	}
	b := appendText(make([]byte, 0, 64*len(m.Lines)), string(header))
	for i := range m.Lines {
		b = appendLine(b, &m.Lines[i])
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8]), nil
}

// appendLine appends an encoding of all fields of a line. Different lines have different encodings.
func appendLine(b []byte, l *Line) []byte {
	b = append(b, flag(l.Mark)|flag(l.Bound)<<1)
	op := &l.Op
	for _, n := range [...]int64{int64(l.At), int64(l.Stall), int64(op.Client), int64(op.Life), op.Hold, int64(op.Kind), int64(op.Outcome),
		int64(op.Depth), int64(op.Due), int64(op.Call), int64(op.Return), int64(op.Wait), int64(op.SentAfter), int64(op.Validity), op.Fence, op.Value} {
		b = binary.AppendVarint(b, n)
	}
	return appendText(appendText(appendText(b, op.Key), op.Fault), op.Error)
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
