package proxy

import (
	"context"
	"iter"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// pairing matches each reply on a connection with its command. Replies arrive in the order of the commands, with two
// exceptions. Published messages may arrive between replies. A subscription is confirmed once per channel, by arrays in
// RESP2 and by pushes in RESP3.
type pairing struct {
	mu      sync.Mutex // guards the fields below
	off     bool       // whether matching has stopped, because later replies cannot be matched with commands
	waiting []asked    // commands whose reply is pending, in order
	pushes  bool       // whether RESP3 pushes confirm subscriptions; if so, arrays are never published messages
	subs    [3]int     // number of subscriptions to channels, patterns and shard channels
	totals  [3]string  // last subscription totals that the server reported, as text
}

type asked struct {
	command Command
	confirm int // number of confirmations that a pending subscribe command still expects
}

// ask records a command with the given number of words, including its name. first reports whether no other reply was
// pending.
func (p *pairing) ask(c Command, words int) (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.Name == "CLIENT" && len(c.Args) > 2 && strings.EqualFold(c.Args[1], "REPLY") && !strings.EqualFold(c.Args[2], "ON") {
		p.off = true
	}
	if p.off {
		return true
	}
	p.waiting = append(p.waiting, asked{c, words - 1})
	return len(p.waiting) == 1
}

func (p *pairing) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = true
}

// came classifies a frame from the server. It returns the published message, or the command that the frame replies to.
// known is false if the frame is neither a message nor a reply.
func (p *pairing) came(f *frame) (at Point, c Command, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := ""
	if len(f.args) > 0 && (f.kind == '>' || f.kind == '*' && p.arraysArePublished()) {
		name = strings.ToUpper(f.args[0])
	}
	if name == "MESSAGE" || name == "PMESSAGE" || name == "SMESSAGE" {
		return Message, Command{Name: name, Args: f.args}, true
	}
	_, confirms := subscriptions[name]
	switch {
	case confirms:
		p.count(name, f)
		if !p.confirmed(name) {
			return Reply, c, false
		}
	case f.kind == '>' || len(p.waiting) == 0:
		return Reply, c, false
	}
	c = p.waiting[0].command
	p.waiting[0] = asked{} // lets the arguments be garbage-collected
	p.waiting = p.waiting[1:]
	if c.Name == "RESET" {
		p.subs, p.totals, p.pushes = [3]int{}, [3]string{}, false
	}
	return Reply, c, true
}

// arraysArePublished reports whether an array from the server may be a published message or the confirmation of a
// subscription, as in RESP2.
func (p *pairing) arraysArePublished() bool {
	if p.pushes {
		return false
	}
	subscribes := false
	if len(p.waiting) > 0 {
		_, subscribes = subscriptions[p.waiting[0].command.Name]
	}
	return subscribes || p.subs != [3]int{}
}

// count updates the number of subscriptions from a confirmation. The server reports one total for channels and patterns
// together.
func (p *pairing) count(name string, f *frame) {
	p.pushes = f.kind == '>'
	if len(f.args) < 3 {
		return
	}
	kind := subscriptions[name]
	total := &p.totals[kind&^pattern]
	if changed := *total != f.args[2]; changed && strings.Contains(name, "UNSUB") {
		p.subs[kind] = max(p.subs[kind]-1, 0)
	} else if changed {
		p.subs[kind]++
	}
	*total = f.args[2]
}

// confirmed reports whether the oldest command has now received its last confirmation. An unsubscribe command without
// arguments is confirmed once for each subscription, or once if the connection has no subscriptions.
func (p *pairing) confirmed(name string) bool {
	if len(p.waiting) == 0 || p.waiting[0].command.Name != name {
		return false
	}
	head := &p.waiting[0]
	if len(head.command.Args) == 1 {
		return p.subs[subscriptions[name]] == 0
	}
	head.confirm--
	return head.confirm <= 0
}

// Kinds of subscriptions, which are the indexes of pairing.subs.
const (
	channel = iota
	pattern
	shard
)

// subscriptions maps each command that subscribes or unsubscribes to the kind of its subscriptions.
var subscriptions = map[string]int{"SUBSCRIBE": channel, "UNSUBSCRIBE": channel,
	"PSUBSCRIBE": pattern, "PUNSUBSCRIBE": pattern, "SSUBSCRIBE": shard, "SUNSUBSCRIBE": shard}

// Conversation splits the bytes of one connection into parts. At most one goroutine may process each direction.
type Conversation struct {
	up, down scanner
	pairing  pairing
	number   func() int // returns the number of a new command on this link; nil: commands are not numbered
}

// NewConversation returns a Conversation for a new connection.
func NewConversation() *Conversation { return &Conversation{up: scanner{requests: true}} }

// Part holds bytes to be forwarded.
type Part struct {
	Bytes    []byte // a slice of the input chunk, or a copy that the caller may keep
	Complete bool   // whether Bytes end a command, reply or message; if so, At and Command describe it
	At       Point
	Command  Command // without Conn
	First    bool    // whether no reply was pending when the command was sent
	begun    bool    // whether the beginning of the frame was forwarded earlier
}

// FromClient splits the next bytes from the client into parts. An incomplete command is kept until the rest arrives.
func (c *Conversation) FromClient(chunk []byte) iter.Seq[Part] { return c.cut(&c.up, chunk) }

// FromServer splits the next bytes from the server into parts.
func (c *Conversation) FromServer(chunk []byte) iter.Seq[Part] { return c.cut(&c.down, chunk) }

func (c *Conversation) cut(s *scanner, chunk []byte) iter.Seq[Part] {
	return func(yield func(Part) bool) {
		for p := range s.pieces(chunk) {
			part := Part{Bytes: p.bytes}
			if p.whole {
				c.meet(s, &p.frame, &part)
			}
			if !yield(part) {
				return
			}
		}
		if c.down.raw {
			c.pairing.stop()
		}
	}
}

// meet fills in part for a complete frame. Empty lines and empty arrays are not commands, because servers do not answer
// them.
func (c *Conversation) meet(s *scanner, f *frame, part *Part) {
	part.begun = f.begun
	switch {
	case !s.requests:
		part.At, part.Command, part.Complete = c.pairing.came(f)
	case f.count > 0:
		part.Complete, part.At = true, Request
		part.Command = Command{Name: strings.ToUpper(f.args[0]), Args: f.args}
		if c.number != nil {
			part.Command.Nth = c.number()
		}
		part.First = c.pairing.ask(part.Command, f.count)
	}
}

// Whole is a fast path for a chunk that is exactly one command or reply. If ok is false, nothing has changed, and the
// caller must pass the chunk to FromClient or FromServer. Part.Bytes is the chunk itself.
func (c *Conversation) Whole(chunk []byte, fromClient bool) (part Part, ok bool) {
	s := &c.down
	if fromClient {
		s = &c.up
	}
	if s.raw || len(s.held) > 0 || s.part != "" || s.bulk > 0 || len(s.open) > 0 || s.frame.begun || len(chunk) > maxLine {
		return part, false
	}
	rest, f, ok := s.next(string(chunk))
	if !ok || rest != "" {
		*s = scanner{requests: s.requests, open: s.open[:0]}
		return part, false
	}
	part.Bytes = chunk
	c.meet(s, &f, &part)
	return part, true
}

// Limits on the data queued in one direction of a connection. The sender waits while the queue is full.
const (
	maxQueued = 4 << 20 // bytes
	maxLoads  = 1 << 10
)

// line is a queue that delays its loads. Loads leave the queue in order, each at its due time. At most one goroutine
// may call put, and one take.
type line struct {
	loads chan load
	room  *semaphore.Weighted // in bytes
}

// load holds bytes or the end of the stream.
type load struct {
	bytes  []byte
	due    time.Time // time to forward the load; zero means at once
	ending ending
}

// ending states whether a stream continues or how it ended.
type ending uint8

const (
	goesOn ending = iota
	closed        // the sender closed the stream
	cutOff        // a rule closed the connection
)

func newLine() *line {
	return &line{loads: make(chan load, maxLoads), room: semaphore.NewWeighted(maxQueued)}
}

func (l load) size() int64 { return int64(min(len(l.bytes), maxQueued)) }

// put adds a load to the line. It waits while the line is full, and discards the load if the context ends.
func (l *line) put(ctx context.Context, item load) {
	if item.ending == goesOn && l.room.Acquire(ctx, item.size()) != nil {
		return
	}
	select {
	case l.loads <- item:
	case <-ctx.Done():
	}
}

func (l *line) take(ctx context.Context) (load, bool) {
	select {
	case item := <-l.loads:
		l.room.Release(item.size())
		return item, sleepUntil(ctx, item.due)
	case <-ctx.Done():
		return load{}, false
	}
}

// sleepUntil waits until t. It returns false if the context ends before t.
func sleepUntil(ctx context.Context, t time.Time) bool {
	if t.IsZero() || !t.After(time.Now()) {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(time.Until(t)):
		return true
	case <-ctx.Done():
		return false
	}
}
