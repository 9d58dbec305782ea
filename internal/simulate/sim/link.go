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

// link holds all connections between one process and one server. Faults affect it in the same way as a proxy.Link.
type link struct {
	proxy.Rules
	timetable timetable
	outbox    *outbox
	rulings   *turnstile
	delay     atomic.Int64
	cut       atomic.Uint32 // a proxy.Direction

	commands, roundTrips atomic.Int64

	mu    sync.Mutex // guards the fields below; never held across a wait
	pairs []*pair    // in order of creation
}

var _ inject.Link = (*link)(nil)

func (l *link) Delay(d time.Duration) { l.delay.Store(int64(d)) }

// Cut implements inject.Link. From now on it drops all data in the given directions, and no data in the others. If a
// direction is healed, Cut closes every connection that lost data in that direction.
func (l *link) Cut(d proxy.Direction) {
	healed := proxy.Direction(l.cut.Swap(uint32(d))) &^ d
	l.each(func(c *pair) {
		if proxy.Direction(c.torn.Load())&healed != 0 {
			c.sever()
		}
	})
}

// Counters implements inject.Link. It does not count bytes.
func (l *link) Counters() proxy.Counters {
	return proxy.Counters{Commands: l.commands.Load(), RoundTrips: l.roundTrips.Load()}
}

// each calls do for each connection, in the order of the last message to the server. The order of creation would not be
// reproducible, because concurrent clients may take connections from a pool in any order.
func (l *link) each(do func(*pair)) {
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
	used     atomic.Uint64 // number of the last message to the server
	talk     *proxy.Conversation
	toServer *pipe
	toClient *pipe
	mute     atomic.Bool     // whether to drop everything sent from now on, in both directions
	torn     atomic.Uint32   // directions (proxy.Direction) in which a cut dropped data
	ctx      context.Context // cancelled when the connection is closed
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

// advance sends waiting data until the writer is paused or a rule is called. The caller holds the mutex.
func (p *pipe) advance() {
	for len(p.held) > 0 && !p.deciding && !p.writer.paused() {
		part := p.held[0]
		p.held = p.held[1:]
		p.meet(part)
	}
}

// meet counts a request or reply and applies the matching rules to it in a new goroutine. Each of these goroutines starts
// in a different nanosecond: if commands to several servers match at once, only the first triggers the fault.
func (p *pipe) meet(part proxy.Part) {
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

// decide calls the rules in order, and applies the first result other than Pass.
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

// pass forwards bytes, or nil for the end of the stream, unless a cut or a closed connection drops them.
func (p *pipe) pass(b []byte, turn turn) {
	switch {
	case p.discards || p.pair.mute.Load():
	case proxy.Direction(p.pair.link.cut.Load())&p.direction != 0:
		p.pair.torn.Or(uint32(p.direction))
	default:
		p.put(b, turn)
	}
}

// resume continues a pipe after its writer or its reader was paused. It sends the waiting data, and delivers messages that
// arrived during the pause, each at a different nanosecond.
func (p *pipe) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := time.Now().Add(1)
	p.awake = at
	for i := range p.queue {
		m := &p.queue[i]
		if m.at.Before(at) {
			m.at = own(at, time.Duration(m.at.UnixNano())%quantum)
		}
		at = m.at.Add(1)
		p.last = m.at
	}
	p.advance()
	p.look()
}

// outbox collects the data written in one nanosecond, and sends it in the next nanosecond, when all goroutines that may
// write have finished.
//
// One message may wake several goroutines, which run in any order and write to any connections. The outbox sorts the data
// by content, so that neither arrival times nor the matching of rules depends on that order.
type outbox struct {
	mu      sync.Mutex // guards the fields below; locked after a pipe's mutex
	letters []letter
	leaves  *time.Timer
}

// letter holds the data written to a pipe in one nanosecond: one chunk per write, and nil for the end of the stream.
type letter struct {
	pipe   *pipe
	chunks [][]byte
}

func newOutbox() *outbox {
	o := &outbox{}
	o.leaves = time.AfterFunc(never, o.leave)
	o.leaves.Stop()
	return o
}

// put adds a chunk. The caller must not modify it later.
func (o *outbox) put(p *pipe, chunk []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.letters {
		if l := &o.letters[i]; l.pipe == p {
			l.chunks = append(l.chunks, chunk)
			return
		}
	}
	o.letters = append(o.letters, letter{p, [][]byte{chunk}})
	if len(o.letters) == 1 {
		o.leaves.Reset(1)
	}
}

func (o *outbox) leave() {
	o.mu.Lock()
	letters := o.letters
	o.letters = nil
	o.mu.Unlock()
	if len(letters) > 1 {
		slices.SortFunc(letters, before)
	}
	for _, l := range letters {
		l.pipe.leave(l.chunks)
	}
}

// before compares two letters for sorting. Letters with equal content, such as a notice to several subscribers, are sorted
// by connection.
func before(a, b letter) int {
	x, y := a.pipe.pair, b.pipe.pair
	return cmp.Or(cmp.Compare(x.link.timetable.first, y.link.timetable.first), cmp.Compare(a.pipe.direction, b.pipe.direction),
		bytes.Compare(a.chunks[0], b.chunks[0]), cmp.Compare(x.number, y.number))
}

// timetable determines the delay of each message on a link, and the nanoseconds in which the message may arrive. Both
// depend only on the seed, the link, the direction and the number of the message on the link. They do not depend on the
// connection, because concurrent goroutines may use the link's connections in any order.
type timetable struct {
	latency time.Duration
	keys    [2]uint64
	first   int // offset of the link's first arrival nanosecond from the start of each quantum
	step    int // distance in nanoseconds between the arrival nanoseconds of consecutive messages
	counts  [2]atomic.Uint64
}

// often is the maximum number of processes for which arrival nanoseconds of different processes differ. With more
// processes, messages of different processes may share an arrival nanosecond.
const often = 8

func (n *network) timetable(process, node int) timetable {
	key := draw(n.seed, uint64(process), uint64(node))
	return timetable{latency: n.latency, keys: [2]uint64{draw(key, 0), draw(key, 1)},
		first: 2 * (process*len(n.nodes) + node), step: 2 * often * len(n.nodes)}
}

// turn holds the number, the delay and the arrival nanosecond of one message.
type turn struct {
	number  uint64 // from 1
	delay   time.Duration
	residue time.Duration // arrival time modulo quantum
}

func (t *timetable) next(d proxy.Direction) turn {
	way := d >> 1 // 0: to the server; 1: to the client
	n := t.counts[way].Add(1)
	return turn{n, t.latency/2 + time.Duration(draw(t.keys[way], n)%uint64(t.latency+1)), t.residue(d, n)}
}

func (t *timetable) residue(d proxy.Direction, n uint64) time.Duration {
	return time.Duration(reserved + (t.first+int(d>>1)+int(n)*t.step)%(int(quantum)-reserved))
}

// own returns the first time not before t that equals residue modulo quantum.
func own(t time.Time, residue time.Duration) time.Time {
	return t.Add((residue - time.Duration(t.UnixNano())%quantum + quantum) % quantum)
}
