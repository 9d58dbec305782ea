package proxy

import (
	"context"
	"iter"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// pairing matches each reply on a connection with its command. Replies arrive in the order of the commands. Published
// messages may arrive between replies. A subscribe command is confirmed once for each channel.
type pairing struct {
	mu      sync.Mutex // guards the fields below
	off     bool       // whether replies are not matched: the client turned replies off, or the data is not RESP
	waiting []asked    // commands that have not been answered, oldest first
	pushes  bool       // whether the last subscription was confirmed with a RESP3 push; messages then arrive only as pushes
	subs    [3]int     // number of subscriptions of each kind: channels, patterns and shard channels
	totals  [3]string  // subscription count in the server's last confirmation, by kind; the count of channels includes patterns
}

type asked struct {
	command Command
	confirm int // number of missing confirmations of a subscribe or unsubscribe command
}

// ask records a command. The parameter words is its number of words, including the name. ask returns true if no earlier
// command was waiting for a reply.
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

// pending reports whether a command may not have been answered. If replies are not matched, it reports true.
func (p *pairing) pending() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.off || len(p.waiting) > 0
}

func (p *pairing) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = true
}

// came classifies a frame from the server. It returns the published message, or the command that the frame answers.
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
	p.waiting[0] = asked{} // let the garbage collector free the arguments
	p.waiting = p.waiting[1:]
	if c.Name == "RESET" {
		p.subs, p.totals, p.pushes = [3]int{}, [3]string{}, false
	}
	return Reply, c, true
}

// arraysArePublished reports whether an array from the server may be a published message or a confirmation. RESP3 uses
// pushes for both.
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

// count updates the number of subscriptions after a confirmation. Channels and patterns share one total in a
// confirmation.
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

// confirmed reports whether the oldest command has received its last confirmation. An unsubscribe command without
// arguments is confirmed once for each subscription. Without subscriptions, it is confirmed once.
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

// Kinds of subscriptions, used as indexes of pairing.subs.
const (
	channel = iota
	pattern
	shard
)

// subscriptions maps each subscribe or unsubscribe command to the kind of its subscriptions: channel, pattern or shard.
var subscriptions = map[string]int{"SUBSCRIBE": channel, "UNSUBSCRIBE": channel,
	"PSUBSCRIBE": pattern, "PUNSUBSCRIBE": pattern, "SSUBSCRIBE": shard, "SUNSUBSCRIBE": shard}

// Conversation parses both directions of one Redis connection. In each direction, only one goroutine at a time may
// parse.
type Conversation struct {
	up, down scanner
	pairing  pairing
	number   func() int // returns the number of a new command; nil: commands are not numbered
}

// NewConversation returns a Conversation for a new connection.
func NewConversation() *Conversation { return &Conversation{up: scanner{requests: true}} }

// Pending reports whether a command of the connection may not have been answered.
func (c *Conversation) Pending() bool { return c.pairing.pending() }

// Part holds bytes to be forwarded.
type Part struct {
	Bytes    []byte // slice of the input chunk, or a new slice that is not used elsewhere
	Complete bool   // whether a command, reply or message ends at the end of Bytes; At and Command are valid only then
	At       Point
	Command  Command // the field Conn is not set
	First    bool    // whether no earlier command was pending when this command was sent
	begun    bool    // whether the beginning of the frame was already forwarded
}

// FromClient splits the next bytes from the client into parts. It keeps an incomplete command until the rest arrives.
func (c *Conversation) FromClient(chunk []byte) iter.Seq[Part] { return c.cut(&c.up, chunk) }

// FromServer splits the next bytes from the server into parts.
func (c *Conversation) FromServer(chunk []byte) iter.Seq[Part] { return c.cut(&c.down, chunk) }

func (c *Conversation) cut(s *scanner, chunk []byte) iter.Seq[Part] {
	return func(yield func(Part) bool) {
		for p := range s.pieces(chunk) {
			part := Part{Bytes: p.bytes}
			if p.whole {
				c.classify(s, &p.frame, &part)
			}
			if !yield(part) {
				return
			}
		}
		if !s.requests && s.raw { // the other direction must not read this scanner
			c.pairing.stop()
		}
	}
}

// classify classifies the complete frame f as a command, a reply or a published message, and stores the result in part.
// Empty lines and empty arrays are not commands, because servers do not reply to them.
func (c *Conversation) classify(s *scanner, f *frame, part *Part) {
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

// Whole parses a chunk that is exactly one command or reply. Part.Bytes is then the chunk. Whole is faster than
// FromClient and FromServer. If ok is false, nothing has changed, and the caller must use FromClient or FromServer.
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
	c.classify(s, &f, &part)
	return part, true
}

// Limits on the data queued in one direction of a connection. The sender waits while the queue is full.
const (
	maxQueued = 4 << 20 // maximum number of queued bytes
	maxLoads  = 1 << 10
)

// line is a queue that delays items. Items leave the queue in order, none before its due time. At most one goroutine
// may call put, and at most one goroutine may call take.
type line struct {
	loads chan load
	room  *semaphore.Weighted // free room in the queue, in bytes
}

// load is an item of a queue: bytes to forward, or the end of the stream.
type load struct {
	bytes  []byte
	due    time.Time // time to forward the item; zero means at once
	ending ending
}

// ending states whether a stream continues, was closed, or was cut off by a rule.
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

// put adds an item to the queue, and waits while the queue is full. If the context ends first, put does not add the
// item.
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
