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

// link has all connections between a process and a server. Faults act on it as on a proxy between the two: what has been
// sent, and met no rule and no cut, arrives.
type link struct {
	timetable timetable
	outbox    *outbox
	rulings   *turnstile
	rules     proxy.Rules
	delay     atomic.Int64
	cut       atomic.Uint32 // a proxy.Direction

	commands, roundTrips atomic.Int64

	mu    sync.Mutex // guards what follows; never held across a wait
	pairs []*pair    // every connection, in the order in which they were made
}

var _ inject.Link = (*link)(nil)

// On sets a rule.
func (l *link) On(r proxy.Rule) (cancel func()) { return l.rules.On(r) }

// Delay makes what is sent from now on arrive so much later, each way.
func (l *link) Delay(d time.Duration) { l.delay.Store(int64(d)) }

// Cut makes a black hole of the directions. One that is no longer cut is healed: a connection on which it swallowed
// something is closed.
func (l *link) Cut(d proxy.Direction) {
	healed := proxy.Direction(l.cut.Swap(uint32(d))) &^ d
	l.each(func(c *pair) {
		if proxy.Direction(c.torn.Load())&healed != 0 {
			c.sever()
		}
	})
}

// Counters returns the counts so far, without those of bytes.
func (l *link) Counters() proxy.Counters {
	return proxy.Counters{Commands: l.commands.Load(), RoundTrips: l.roundTrips.Load()}
}

// each calls do with the connections in the order in which they were used last: which of them a client took that ran
// beside another must not matter.
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

// pair is both directions of a connection.
type pair struct {
	link     *link
	number   int
	used     atomic.Uint64 // the number of the last message to the server
	talk     *proxy.Conversation
	toServer *pipe
	toClient *pipe
	mute     atomic.Bool     // nothing that is sent from now on arrives, either way
	torn     atomic.Uint32   // where a cut swallowed something: a proxy.Direction
	ctx      context.Context // ends with the connection
	cancel   context.CancelFunc
}

// sever closes the connection for both sides: what was on its way before arrives, and nothing after it.
func (c *pair) sever() {
	c.cancel()
	for _, p := range []*pipe{c.toServer, c.toClient} {
		p.mu.Lock()
		p.held = nil
		if !p.void {
			p.void = true
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

// resume lets a connection go on of which one side was paused.
func (c *pair) resume() {
	c.toServer.resume()
	c.toClient.resume()
}

// advance sends what is held as far as it goes. The mutex is held.
func (p *pipe) advance() {
	for len(p.held) > 0 && !p.deciding && !p.writer.still() {
		part := p.held[0]
		p.held = p.held[1:]
		p.meet(part)
	}
}

// meet counts what has come and asks the rules; where there are some, a goroutine waits for what they decide. It begins at
// an instant of its own: several servers may be asked at once, and the first command decides for all.
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
	rules := link.rules.Matching(part.At, part.Command)
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

// decide does what the first rule says that does not let the part pass.
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

// pass sends bytes, or the end, unless the connection or a cut swallows them.
func (p *pipe) pass(b []byte, turn turn) {
	switch {
	case p.void || p.pair.mute.Load():
	case proxy.Direction(p.pair.link.cut.Load())&p.direction != 0:
		p.pair.torn.Or(uint32(p.direction))
	default:
		p.put(b, turn)
	}
}

// resume sends what its writer did not get to send, and has its reader find what came meanwhile, each at an instant
// of its own.
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

// outbox holds what is written until no goroutine runs any more at that instant: for a nanosecond.
//
// One message may wake several goroutines, which run in any order: on a busy machine the runtime may interrupt any of them.
// Each of them takes a connection and writes. What was written at one instant leaves in an order that depends on nothing
// but what was written, so that neither when it arrives nor which rule it meets depends on who came first.
type outbox struct {
	mu      sync.Mutex // guards what follows; taken while a pipe's is held, never the other way about
	letters []letter
	leaves  *time.Timer
}

// letter is what was written into a pipe at one instant: one chunk for each write, nil for the end.
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

// put takes a chunk, which must not be changed any more.
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

// before orders letters. Those that say the same are told apart by the connection, which counts where several hear one
// message: who subscribed first hears it first.
func before(a, b letter) int {
	x, y := a.pipe.pair, b.pipe.pair
	return cmp.Or(cmp.Compare(x.link.timetable.first, y.link.timetable.first), cmp.Compare(a.pipe.direction, b.pipe.direction),
		bytes.Compare(a.chunks[0], b.chunks[0]), cmp.Compare(x.number, y.number))
}

// timetable says how long each message of a link is under way, and which instants are its own. It depends on nothing but
// the seed, who is linked to whom, the direction and the message's number there: not on its connection, of which
// goroutines that run at one instant take one or another.
type timetable struct {
	latency time.Duration
	keys    [2]uint64
	first   int // of the link's instants in each quantum, by which links are told apart
	step    int // from those of a message to those of the next
	counts  [2]atomic.Uint64
}

// often is how many processes have instants of their own at once; the messages of more share some with later
// messages of others. They come round in any case: there are 909 instants for all.
const often = 8

func (n *network) timetable(process, node int) timetable {
	key := draw(n.seed, uint64(process), uint64(node))
	return timetable{latency: n.latency, keys: [2]uint64{draw(key, 0), draw(key, 1)},
		first: 2 * (process*len(n.nodes) + node), step: 2 * often * len(n.nodes)}
}

// turn is what the timetable says of one message.
type turn struct {
	number  uint64 // from 1
	delay   time.Duration
	residue time.Duration // its instants leave this when divided by the quantum
}

func (t *timetable) next(d proxy.Direction) turn {
	way := d >> 1 // 0 to the server, 1 to the client
	n := t.counts[way].Add(1)
	return turn{n, t.latency/2 + time.Duration(draw(t.keys[way], n)%uint64(t.latency+1)), t.residue(d, n)}
}

func (t *timetable) residue(d proxy.Direction, n uint64) time.Duration {
	return time.Duration(reserved + (t.first+int(d>>1)+int(n)*t.step)%(int(quantum)-reserved))
}

// own is the first instant from t on that leaves a residue.
func own(t time.Time, residue time.Duration) time.Time {
	return t.Add((residue - time.Duration(t.UnixNano())%quantum + quantum) % quantum)
}
