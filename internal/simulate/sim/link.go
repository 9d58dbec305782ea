package sim

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/drive/inject"
	"lockbench/internal/world/proxy"
)

// link holds all connections between one process and one server. Faults affect it as they affect a proxy.Link.
type link struct {
	proxy.Rules
	timetable timetable
	outbox    *outbox
	rulings   *turnstile
	delay     atomic.Int64
	cut       atomic.Uint32 // directions that are cut, as a proxy.Direction

	commands, roundTrips atomic.Int64

	mu    sync.Mutex // guards the fields below
	pairs []*pair    // all connections in order of creation
}

var _ inject.Link = (*link)(nil)

func (l *link) Delay(d time.Duration) { l.delay.Store(int64(d)) }

// Cut implements inject.Link. From now on it drops all data in the directions d, and delivers data in other directions
// again. A connection is closed if it lost data in a direction that is no longer cut.
func (l *link) Cut(d proxy.Direction) {
	healed := proxy.Direction(l.cut.Swap(uint32(d))) &^ d
	l.forEachConnection(func(c *pair) {
		if proxy.Direction(c.torn.Load())&healed != 0 {
			c.sever()
		}
	})
}

// Reset implements inject.Link. It closes all connections.
func (l *link) Reset() (closed int) {
	l.forEachConnection(func(c *pair) {
		if c.ctx.Err() == nil {
			closed++
			c.sever()
		}
	})
	return closed
}

// Idle implements inject.Link. It reports whether every command on every connection has been answered.
func (l *link) Idle() bool {
	idle := true
	l.forEachConnection(func(c *pair) { idle = idle && (c.ctx.Err() != nil || !c.talk.Pending()) })
	return idle
}

// Counters implements inject.Link. It does not count bytes.
func (l *link) Counters() proxy.Counters {
	return proxy.Counters{Commands: l.commands.Load(), RoundTrips: l.roundTrips.Load()}
}

// forEachConnection calls do for every connection of the link, ordered by its last message to the server. The order of
// creation is not reproducible, because concurrent clients share a connection pool.
func (l *link) forEachConnection(do func(*pair)) {
	l.mu.Lock()
	all := slices.Clone(l.pairs)
	l.mu.Unlock()
	slices.SortStableFunc(all, func(a, b *pair) int { return cmp.Compare(a.used.Load(), b.used.Load()) })
	for _, c := range all {
		do(c)
	}
}

func (l *link) add(c *pair) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pairs = append(l.pairs, c)
	c.number = len(l.pairs)
}

type pair struct {
	link     *link
	number   int
	used     atomic.Uint64 // number of the connection's last message to the server; the messages of all connections of the link are counted together
	talk     *proxy.Conversation
	toServer *pipe
	toClient *pipe
	mute     atomic.Bool     // whether to drop all data that is sent from now on, in both directions
	torn     atomic.Uint32   // directions in which a cut dropped data, as a proxy.Direction
	ctx      context.Context // cancelled when the link closes the connection
	cancel   context.CancelFunc
}

// sever closes both sides of the connection. Messages in flight still arrive.
func (c *pair) sever() {
	c.cancel()
	for _, p := range []*pipe{c.toServer, c.toClient} {
		p.mu.Lock()
		p.held = nil
		if !p.discards {
			p.discards = true
			p.put(nil, p.turn())
		}
		p.mu.Unlock()
	}
}

func (c *pair) died() {
	c.sever()
	c.toServer.mu.Lock()
	c.toServer.ended = true
	c.toServer.mu.Unlock()
	c.toClient.abandon()
}

func (c *pair) resume() {
	c.toServer.resume()
	c.toClient.resume()
}

// advance sends the data in held. It stops if the writer is paused, or if a fault rule must decide about a message. The
// caller must hold the mutex.
func (p *pipe) advance() {
	for len(p.held) > 0 && !p.deciding && !p.writer.paused() {
		part := p.held[0]
		p.held = p.held[1:]
		p.sendPart(part)
	}
}

// sendPart sends a part of the stream. If fault rules match the part, sendPart calls them in a new goroutine. These
// goroutines start in different nanoseconds of virtual time, so their order is defined. If requests to several servers
// match at once, only the first triggers the fault.
func (p *pipe) sendPart(part proxy.Part) {
	link, turn := p.pair.link, p.turn()
	if !part.Complete {
		p.pass(part.Bytes, turn)
		return
	}
	part.Command.Conn, part.Command.Nth = p.pair.number, int(link.commands.Load())
	if part.At == proxy.Request {
		part.Command.Nth = int(link.commands.Add(1))
		if part.First {
			link.roundTrips.Add(1)
		}
	}
	rules := link.Matching(part.At, part.Command)
	if len(rules) == 0 {
		p.pass(part.Bytes, turn)
		return
	}
	p.deciding = true
	begin := link.rulings.next()
	go func() {
		time.Sleep(begin)
		p.decide(part, turn, rules)
	}()
}

// decide calls fault rules in order until one returns a result other than proxy.Pass. It then applies this result.
func (p *pipe) decide(part proxy.Part, turn turn, rules []func(context.Context, proxy.Command) proxy.Fate) {
	fate := proxy.Pass
	for _, rule := range rules {
		if fate = rule(p.pair.ctx, part.Command); fate != proxy.Pass {
			break
		}
	}
	if fate == proxy.Close || fate == proxy.Drop && part.At != proxy.Message {
		p.pair.sever()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deciding = false
	switch fate {
	case proxy.Pass:
		p.pass(part.Bytes, turn)
	case proxy.Silent:
		p.pair.mute.Store(true)
	}
	p.advance()
}

// pass forwards bytes to the reader. Nil bytes stand for the end of the stream. The bytes are dropped if the
// connection no longer delivers data or a fault has cut the link.
func (p *pipe) pass(b []byte, turn turn) {
	switch {
	case p.discards || p.pair.mute.Load():
	case proxy.Direction(p.pair.link.cut.Load())&p.direction != 0:
		p.pair.torn.Or(uint32(p.direction))
	default:
		p.put(b, turn)
	}
}

// resume continues a pipe after a pause of its writer or reader. It sends the data that was held during the pause, and
// delivers the messages that arrived. Each message is delivered in a different nanosecond of virtual time, in order.
func (p *pipe) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := time.Now().Add(1)
	p.awake = at
	for i := range p.queue {
		m := &p.queue[i]
		if m.at.Before(at) {
			m.at = nextWithResidue(at, time.Duration(m.at.UnixNano())%quantum)
		}
		at = m.at.Add(1)
		p.last = m.at
	}
	p.advance()
	p.look()
}

// outbox collects the data that goroutines write in one nanosecond and sends it in the next. Goroutines that wake in the
// same nanosecond run in any order and may write to any connection. So the outbox sorts the data by content before
// sending.
type outbox struct {
	mu      sync.Mutex // guards the fields below; a pipe's mutex is locked before it
	letters []letter
	leaves  *time.Timer
}

// growStack makes the stack of a new goroutine grow at once, while there is little on it to copy. The goroutine of a timer begins with
// the smallest stack, and copying it again and again took a sixth of a search's processor time. The result has no meaning: without it
// and the index i, the compiler would leave the array out.
//
//go:noinline
func growStack(i int) byte {
	var room [7 << 10]byte
	return room[i]
}

// letter holds the data written to one pipe in one nanosecond. Each write is one chunk. A nil chunk means the end of the
// stream.
type letter struct {
	pipe    *pipe
	written time.Time
	chunks  [][]byte
}

func newOutbox() *outbox {
	o := &outbox{}
	o.leaves = time.AfterFunc(never, o.sendLetters)
	o.leaves.Stop()
	return o
}

// put adds a chunk for the pipe. The caller must not modify the chunk afterwards.
func (o *outbox) put(p *pipe, chunk []byte) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.letters {
		if l := &o.letters[i]; l.pipe == p && l.written.Equal(now) {
			l.chunks = append(l.chunks, chunk)
			return
		}
	}
	o.letters = append(o.letters, letter{p, now, [][]byte{chunk}})
	if len(o.letters) == 1 {
		o.leaves.Reset(1)
	}
}

// sendLetters sends the letters of the last nanosecond. A goroutine that wakes in the same nanosecond as sendLetters may already have
// written. Its letter is sent in the next one, whichever of the two runs first.
func (o *outbox) sendLetters() {
	growStack(0)
	now := time.Now()
	o.mu.Lock()
	due := slices.IndexFunc(o.letters, func(l letter) bool { return l.written.Equal(now) })
	if due < 0 {
		due = len(o.letters)
	}
	letters := o.letters[:due:due]
	if o.letters = o.letters[due:]; len(o.letters) > 0 {
		o.leaves.Reset(1)
	} else {
		o.letters = nil
	}
	o.mu.Unlock()
	if len(letters) > 1 {
		slices.SortFunc(letters, compareLetters)
	}
	for _, l := range letters {
		l.pipe.sendChunks(l.chunks)
	}
}

// compareLetters compares two letters for slices.SortFunc. The result is negative if letter a must be sent first.
// The order depends on the link, then the direction, the content and the connection.
func compareLetters(a, b letter) int {
	x, y := a.pipe.pair, b.pipe.pair
	return cmp.Or(cmp.Compare(x.link.timetable.first, y.link.timetable.first), cmp.Compare(a.pipe.direction, b.pipe.direction),
		bytes.Compare(a.chunks[0], b.chunks[0]), cmp.Compare(x.number, y.number))
}

// timetable determines the delay of each message on a link and the nanosecond of its arrival. Both depend only on the
// seed, the link, the direction, and the number of the message. They do not depend on the connection, because concurrent
// goroutines use the connections in any order.
type timetable struct {
	latency time.Duration
	keys    [2]uint64
	first   int // offset of the arrival times in nanoseconds; it differs between links, so their messages rarely arrive together
	step    int // nanoseconds that each message on the link adds to the offset
	counts  [2]atomic.Uint64
}

// often is the number of processes up to which messages of different processes rarely arrive in the same nanosecond.
const often = 8

func (n *network) timetable(process, node int) timetable {
	key := draw(n.seed, uint64(process), uint64(node))
	return timetable{latency: n.latency, keys: [2]uint64{draw(key, 0), draw(key, 1)},
		first: 2 * (process*len(n.nodes) + node), step: 2 * often * len(n.nodes)}
}

// turn describes a message. The residue is its arrival time modulo quantum. Residues differ between links, so messages
// on different links rarely arrive in the same nanosecond.
type turn struct {
	number  uint64 // number of the message on the link, from 1
	delay   time.Duration
	residue time.Duration
}

func (t *timetable) next(d proxy.Direction) turn {
	way := d >> 1 // 0: to the server; 1: to the client
	n := t.counts[way].Add(1)
	return turn{n, t.latency/2 + time.Duration(draw(t.keys[way], n)%uint64(t.latency+1)), t.residue(d, n)}
}

func (t *timetable) residue(d proxy.Direction, n uint64) time.Duration {
	return time.Duration(reserved + (t.first+int(d>>1)+int(n)*t.step)%(int(quantum)-reserved))
}

// nextWithResidue returns the first time at or after t that equals residue modulo quantum.
func nextWithResidue(t time.Time, residue time.Duration) time.Time {
	return t.Add((residue - time.Duration(t.UnixNano())%quantum + quantum) % quantum)
}
