package proxy

import (
	"context"
	"iter"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// pairing matches replies on one connection with commands. Replies arrive in the order of the commands, with two
// exceptions: published messages arrive between them, and a subscription is confirmed once per channel, by arrays in
// RESP2 and by pushes in RESP3.
type pairing struct {
	mu      sync.Mutex // guards the fields below
	off     bool       // later commands have no reply, or the bytes are not RESP
	waiting []asked    // commands without a reply, in order
	pushes  bool       // subscriptions are confirmed by pushes, so that arrays are never messages
	subs    [3]int     // number of subscriptions to channels, patterns and shard channels
	totals  [3]string  // totals last reported by the server
}

type asked struct {
	command Command
	confirm int // number of outstanding confirmations of a subscription
}

// ask records a command with its number of words. It reports whether no other reply was pending.
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

// came returns the point at which a frame from the server is met and its command. known is false for other frames.
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
	p.waiting[0] = asked{} // for the garbage collector
	p.waiting = p.waiting[1:]
	if c.Name == "RESET" {
		p.subs, p.totals, p.pushes = [3]int{}, [3]string{}, false
	}
	return Reply, c, true
}

// arraysArePublished reports whether an array may be a message or a confirmation, as in RESP2.
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

// count updates the number of subscriptions. The server reports one total for channels and patterns.
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

// confirmed reports whether a confirmation was the last one for the oldest command. Unsubscribing from everything is
// confirmed once per subscription, and once without a subscription.
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

// The kinds of subscriptions are indexes of pairing.subs.
const (
	channel = iota
	pattern
	shard
)

// subscriptions maps the commands that subscribe and unsubscribe to their kind.
var subscriptions = map[string]int{"SUBSCRIBE": channel, "UNSUBSCRIBE": channel,
	"PSUBSCRIBE": pattern, "PUNSUBSCRIBE": pattern, "SSUBSCRIBE": shard, "SUNSUBSCRIBE": shard}

// Conversation splits the bytes of one connection into parts. Each direction may be used by one goroutine at a time.
type Conversation struct {
	up, down scanner
	pairing  pairing
	number   func() int // returns the number of a new command; may be nil
}

// NewConversation returns the conversation of a new connection.
func NewConversation() *Conversation { return &Conversation{up: scanner{requests: true}} }

// Part holds bytes to pass on.
type Part struct {
	Bytes    []byte // part of the chunk, or owned by the caller
	Complete bool   // the bytes end a command, reply or message, which At and Command describe
	At       Point
	Command  Command // without Conn
	First    bool    // no reply was pending when the command came
	begun    bool    // its first bytes were passed on before
}

// FromClient splits the next bytes from the client. Incomplete commands are kept until the rest arrives.
func (c *Conversation) FromClient(chunk []byte) iter.Seq[Part] { return c.cut(&c.up, chunk) }

// FromServer splits the next bytes from the server.
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

// meet describes a complete frame. Servers do not answer empty lines and arrays.
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

// Whole is a fast path for a chunk that is exactly one command or reply, the usual case. If ok is false, the state is
// unchanged, and the chunk must be passed to FromClient or FromServer. The part's bytes are the chunk.
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

// Limits of the queued data in one direction of a connection. The sender waits at the limit.
const (
	maxQueued = 4 << 20 // bytes
	maxLoads  = 1 << 10
)

// line is a delay line: loads leave it in order, each when it is due. One goroutine puts and one takes.
type line struct {
	loads chan load
	room  *semaphore.Weighted // in bytes
}

// load holds bytes or the end of the stream.
type load struct {
	bytes  []byte
	due    time.Time // zero: at once
	ending ending
}

// ending states how a stream ends.
type ending uint8

const (
	goesOn ending = iota
	closed        // the sender closed it
	cutOff        // a rule closed the connection
)

func newLine() *line {
	return &line{loads: make(chan load, maxLoads), room: semaphore.NewWeighted(maxQueued)}
}

func (l load) size() int64 { return int64(min(len(l.bytes), maxQueued)) }

// put waits for room. It discards the load if the context ends.
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

// sleepUntil waits until t and reports whether it came before the context ended.
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
