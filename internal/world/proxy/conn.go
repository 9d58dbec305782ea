package proxy

import (
	"context"
	"io"
	"iter"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// conn is one connection of a client's, and its own connection to the server.
type conn struct {
	link     *Link
	number   int
	upstream string
	ctx      context.Context // ends when the link closes the connection
	cancel   context.CancelFunc
	client   *net.TCPConn
	talk     *Conversation
	answered atomic.Bool // the server spoke last, or neither side has; of an opaque protocol only
	mute     atomic.Bool // nothing that is read from now on goes on, either way
	deaf     atomic.Bool // nothing that the server says reaches the client any more

	// Guarded by the link's mutex.
	server *net.TCPConn // nil until dialled
	torn   Direction    // where a cut swallowed something
	ended  Direction    // where nothing more will come
}

func (c *conn) run() {
	defer c.forget()
	server, err := c.dial()
	if err != nil {
		if c.tornByCut(Both) { // on a dead network it would not have learnt that the server is not there
			_, _ = io.Copy(io.Discard, c.client)
		}
		return
	}
	up := &way{conn: c, direction: ToServer, from: c.client, to: server, line: newLine(), scan: &c.talk.up, parts: c.talk.Said}
	down := &way{conn: c, direction: ToClient, from: server, to: c.client, line: newLine(), scan: &c.talk.down, parts: c.talk.Answered}
	c.answered.Store(true)
	if c.link.protocol == Opaque {
		up.parts, down.parts = c.anyRequest, c.anyAnswer
	}
	var all sync.WaitGroup
	for _, w := range []*way{up, down} {
		all.Go(w.read)
		all.Go(w.write)
	}
	all.Wait()
}

func (c *conn) dial() (*net.TCPConn, error) {
	ctx, cancel := context.WithTimeout(c.ctx, dialWithin)
	defer cancel()
	var d net.Dialer
	dialled, err := d.DialContext(ctx, "tcp", c.upstream)
	if err != nil {
		return nil, err
	}
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	c.server = dialled.(*net.TCPConn)
	if c.ctx.Err() != nil {
		c.closeLocked()
	}
	return c.server, c.ctx.Err()
}

func (c *conn) forget() {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	c.closeLocked()
	delete(c.link.conns, c)
}

func (c *conn) close() {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	c.closeLocked()
}

// closeLocked closes both sides, which ends all waits. What the operating system has is still delivered.
func (c *conn) closeLocked() {
	c.cancel()
	c.client.Close()
	if c.server != nil {
		c.server.Close()
	}
}

// tornByCut reports whether what goes that way is swallowed now, and notes it.
func (c *conn) tornByCut(d Direction) bool {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	c.torn |= c.link.cut & d
	if c.link.cut&d == 0 {
		return false
	}
	c.link.swallowed.Add(1)
	return true
}

// end notes that a direction has ended, and reports whether the connection has.
func (c *conn) end(d Direction) (over bool) {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	c.ended |= d
	return c.ended == Both || c.mute.Load()
}

// way is one direction of a connection: a goroutine reads, asks the rules and fills the line; another writes.
type way struct {
	conn      *conn
	direction Direction
	from, to  *net.TCPConn
	scan      *scanner
	batch     []byte // what was read and is to be put on the line, as one
	line      *line
	parts     func(chunk []byte) iter.Seq[Part]
}

func (w *way) read() {
	buf := make([]byte, readSize)
	for {
		n, err := w.from.Read(buf)
		if w.direction == ToClient {
			w.conn.link.received.Add(int64(n))
		}
		if !w.pass(buf[:n]) {
			w.end(cutOff)
			return
		}
		if err != nil {
			w.batch = w.scan.withHeld(nil)
			w.flush()
			w.end(closed)
			return
		}
	}
}

// pass returns false if a rule closes the connection.
func (w *way) pass(chunk []byte) bool {
	for p := range w.parts(chunk) {
		fate := Pass
		if p.Met && !w.conn.mute.Load() {
			fate = w.decide(p)
		}
		switch {
		case fate == Pass:
			w.batch = append(w.batch, p.Bytes...)
		case fate == Silent:
			w.conn.mute.Store(true)
		case fate != Drop || p.At != Message || p.begun:
			w.conn.mute.Store(true)
			return false
		}
	}
	w.flush()
	return true
}

func (w *way) flush() {
	if len(w.batch) > 0 && !w.conn.mute.Load() {
		w.line.put(w.conn.ctx, load{bytes: w.batch, due: w.due()})
	}
	w.batch = nil
}

// end puts the end on the line, and bounds what still stands before it.
func (w *way) end(how ending) {
	due := w.due()
	by := time.Now()
	if !due.IsZero() {
		by = due
	}
	_ = w.to.SetWriteDeadline(by.Add(lingerFor)) // it fails only if that is closed already
	w.line.put(w.conn.ctx, load{due: due, ending: how})
}

func (w *way) due() time.Time {
	if d := time.Duration(w.conn.link.delay.Load()); d > 0 {
		return time.Now().Add(d)
	}
	return time.Time{}
}

// decide asks the rules about a part, after all that came before was sent on its way.
func (w *way) decide(p Part) Fate {
	link := w.conn.link
	p.Command.Conn = w.conn.number
	if p.First {
		link.roundTrips.Add(1)
	}
	if p.At == Message {
		p.Command.Nth = int(link.commands.Load())
	}
	for _, do := range link.rules.Matching(p.At, p.Command) {
		w.flush()
		if fate := do(w.conn.ctx, p.Command); fate != Pass {
			return fate
		}
	}
	return Pass
}

// anyRequest takes what a client sends at once in an opaque protocol for a request.
func (c *conn) anyRequest(chunk []byte) iter.Seq[Part] {
	return func(yield func(Part) bool) {
		if len(chunk) > 0 {
			yield(Part{Bytes: chunk, Met: true, At: Request, First: c.answered.Swap(false),
				Command: Command{Nth: int(c.link.requests.Add(1)), Bytes: chunk}})
		}
	}
}

// anyAnswer takes what the server says first after a request for its reply; then it goes on, or says something unasked.
func (c *conn) anyAnswer(chunk []byte) iter.Seq[Part] {
	return func(yield func(Part) bool) {
		if len(chunk) > 0 {
			yield(Part{Bytes: chunk, Met: !c.answered.Swap(true), At: Reply, Command: Command{Nth: int(c.link.requests.Load())}})
		}
	}
}

// write writes what comes off the line, and goes on taking after an error, so that the end is found.
func (w *way) write() {
	gone := false
	for {
		item, ok := w.line.take(w.conn.ctx)
		switch {
		case !ok:
			return
		case item.ending != goesOn:
			w.finish(item.ending)
			return
		case w.conn.tornByCut(w.direction), gone, w.direction == ToClient && w.conn.deaf.Load():
			continue
		}
		gone = !w.deliver(item.bytes)
	}
}

// deliver writes. It counts before, so that a question is counted when its answer is there.
func (w *way) deliver(b []byte) bool {
	if w.direction == ToClient {
		_, err := w.to.Write(b)
		return err == nil
	}
	sent := &w.conn.link.sent
	sent.Add(int64(len(b)))
	n, err := w.to.Write(b)
	sent.Add(int64(n - len(b)))
	return err == nil
}

// finish tells the other side that this direction has ended, and after a while closes both.
func (w *way) finish(how ending) {
	over := w.conn.end(w.direction)
	switch {
	case how == cutOff || over:
		w.conn.close()
		return
	case w.conn.tornByCut(w.direction):
		return // not seen to end until the cut is healed, which closes it
	}
	_ = w.to.CloseWrite() // it fails only where that is closed already
	if sleepUntil(w.conn.ctx, time.Now().Add(lingerFor)) {
		w.conn.close()
	}
}
