package proxy

import (
	"context"
	"iter"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// pairing finds, for what a server sends on one connection, the command that it answers. They are answered in
// order, but for two things. What is published comes in between. And a command that subscribes is answered once
// per channel: by arrays in RESP2, by pushes in RESP3.
type pairing struct {
	mu      sync.Mutex // guards what follows
	off     bool       // commands that come now are not answered, or not in the protocol
	waiting []asked    // for their replies, in order
	pushes  bool       // subscriptions are confirmed by pushes, so that no array is a message
	subs    [3]int     // how many there are: to channels, patterns, shard channels
	totals  [3]string  // what the server said last, by what it counts together
}

type asked struct {
	command Command
	confirm int // how many confirmations are to come, if it subscribes
}

// ask notes a command that has come, with its number of words, and reports whether nothing else was outstanding.
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

// came returns what a frame of the server's is: the reply, or its last part, to a command; a message; or neither.
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
	p.waiting[0] = asked{} // so that it can go
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

// count keeps the number of subscriptions, of which the server says only totals: channels and patterns are one.
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

// confirmed reports whether a confirmation was the last for the command that waits. One that unsubscribes from all
// that there is has as many as there are, and one if there is none.
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

// Kinds of subscriptions, indexes of pairing.subs.
const (
	channel = iota
	pattern
	shard
)

// subscriptions are the commands that subscribe and unsubscribe, by what they do it to.
var subscriptions = map[string]int{"SUBSCRIBE": channel, "UNSUBSCRIBE": channel,
	"PSUBSCRIBE": pattern, "PUNSUBSCRIBE": pattern, "SSUBSCRIBE": shard, "SUNSUBSCRIBE": shard}

// Conversation finds the messages in the bytes of one connection. Each direction is used by one goroutine at a time.
type Conversation struct {
	up, down scanner
	pairing  pairing
	number   func() int // numbers the commands; nil: they have no number
}

// Begin returns the conversation of a new connection.
func Begin() *Conversation { return &Conversation{up: scanner{requests: true}} }

// Part is bytes to pass on, as they came.
type Part struct {
	Bytes   []byte // of the chunk, or the caller's
	Met     bool   // they end something that rules can be about, and what follows says what
	At      Point
	Command Command // without the number of the connection
	First   bool    // of a command: no reply was outstanding when it came
	begun   bool    // what stands before these bytes of it was passed on
}

// Said cuts the next bytes of a client's. What is not yet whole is kept until it is.
func (c *Conversation) Said(chunk []byte) iter.Seq[Part] { return c.cut(&c.up, chunk) }

// Answered cuts the next bytes of a server's.
func (c *Conversation) Answered(chunk []byte) iter.Seq[Part] { return c.cut(&c.down, chunk) }

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

// meet finds what a frame is that rules can be about. No server answers an empty line or array.
func (c *Conversation) meet(s *scanner, f *frame, part *Part) {
	part.begun = f.begun
	switch {
	case !s.requests:
		part.At, part.Command, part.Met = c.pairing.came(f)
	case f.count > 0:
		part.Met, part.At = true, Request
		part.Command = Command{Name: strings.ToUpper(f.args[0]), Args: f.args}
		if c.number != nil {
			part.Command.Nth = c.number()
		}
		part.First = c.pairing.ask(part.Command, f.count)
	}
}

// Whole is Said or Answered for a chunk that is one command or reply and no more, as nearly all are if nothing cuts what
// was written: the same part for less. If ok is false nothing was taken, and the chunk is to be given to the other. The
// part's bytes are the chunk.
func (c *Conversation) Whole(chunk []byte, said bool) (part Part, ok bool) {
	s := &c.down
	if said {
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

// What may be under way in one direction of a connection before its sender waits.
const (
	maxQueued = 4 << 20 // bytes
	maxLoads  = 1 << 10
)

// line is a delay line: loads come out in order, each when it is due. One goroutine puts and one takes.
type line struct {
	loads chan load
	room  *semaphore.Weighted // for bytes
}

// load is bytes, or the end of the stream.
type load struct {
	bytes  []byte
	due    time.Time // zero: at once
	ending ending
}

// ending is how a stream ends, if it does.
type ending uint8

const (
	goesOn ending = iota
	closed        // its sender has closed
	cutOff        // a rule ends the connection
)

func newLine() *line {
	return &line{loads: make(chan load, maxLoads), room: semaphore.NewWeighted(maxQueued)}
}

func (l load) size() int64 { return int64(min(len(l.bytes), maxQueued)) }

// put waits for room. What it was given when the context ended is lost.
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

// sleepUntil reports whether that time came before the context ended.
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
