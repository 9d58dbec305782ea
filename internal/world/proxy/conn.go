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

// conn is a connection from a client, together with the corresponding connection to the server.
type conn struct {
	link     *Link
	number   int
	upstream string
	ctx      context.Context // cancelled when the link closes the connection
	cancel   context.CancelFunc
	client   *net.TCPConn
	talk     *Conversation
	answered atomic.Bool // whether every request has been answered; used only for the protocol Opaque
	mute     atomic.Bool // whether to drop all data that is read from now on, in both directions
	deaf     atomic.Bool // whether to discard all data that the server sends from now on

	// The following fields are guarded by the link's mutex.
	server *net.TCPConn // nil until dialled
	torn   Direction    // directions in which data was dropped during a cut
	ended  Direction    // directions whose stream has ended
}

func (c *conn) run() {
	defer c.forget()
	server, err := c.dial()
	if err != nil {
		// During a cut of the network, the client must not notice that the server cannot be reached.
		if c.tornByCut(Both) {
			_, _ = io.Copy(io.Discard, c.client)
		}
		return
	}
	up := &way{conn: c, direction: ToServer, from: c.client, to: server, line: newLine(), scan: &c.talk.up, parts: c.talk.FromClient}
	down := &way{conn: c, direction: ToClient, from: server, to: c.client, line: newLine(), scan: &c.talk.down, parts: c.talk.FromServer}
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
	ctx, cancel := context.WithTimeout(c.ctx, dialTimeout)
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

// closeLocked closes both connections. All reads and writes then return. Data in the system's buffers is still
// delivered.
func (c *conn) closeLocked() {
	c.cancel()
	c.client.Close()
	if c.server != nil {
		c.server.Close()
	}
}

// tornByCut reports whether any of the directions d is cut. If so, it records that data was dropped.
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

// end records that the directions d have ended. It returns true if the connection can be closed now.
func (c *conn) end(d Direction) (over bool) {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	c.ended |= d
	return c.ended == Both || c.mute.Load()
}

// way is one direction of a connection. One goroutine reads data, applies the fault rules and queues the data.
// Another goroutine writes the queued data.
type way struct {
	conn      *conn
	direction Direction
	from, to  *net.TCPConn
	scan      *scanner
	batch     []byte // data to queue as one unit
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

// pass applies the fault rules to each request or reply in a chunk. It queues the data that no rule drops. It returns
// false if a rule closes the connection.
func (w *way) pass(chunk []byte) bool {
	for p := range w.parts(chunk) {
		fate := Pass
		if p.Complete && !w.conn.mute.Load() {
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

// end queues the end of the stream. It also sets a deadline for writing the queued data.
func (w *way) end(how ending) {
	due := w.due()
	by := time.Now()
	if !due.IsZero() {
		by = due
	}
	_ = w.to.SetWriteDeadline(by.Add(lingerFor)) // fails only if the connection is closed
	w.line.put(w.conn.ctx, load{due: due, ending: how})
}

func (w *way) due() time.Time {
	if d := time.Duration(w.conn.link.delay.Load()); d > 0 {
		return time.Now().Add(d)
	}
	return time.Time{}
}

// decide applies the fault rules to a request or reply. Before it calls a rule, it queues all earlier data.
func (w *way) decide(p Part) Fate {
	link := w.conn.link
	p.Command.Conn = w.conn.number
	if p.First {
		link.roundTrips.Add(1)
	}
	if p.At == Message {
		p.Command.Nth = int(link.commands.Load())
	}
	for _, do := range link.Matching(p.At, p.Command) {
		w.flush()
		if fate := do(w.conn.ctx, p.Command); fate != Pass {
			return fate
		}
	}
	return Pass
}

// anyRequest returns chunk as one request. It is used for the protocol Opaque, which the proxy cannot parse.
func (c *conn) anyRequest(chunk []byte) iter.Seq[Part] {
	return func(yield func(Part) bool) {
		if len(chunk) > 0 {
			yield(Part{Bytes: chunk, Complete: true, At: Request, First: c.answered.Swap(false),
				Command: Command{Nth: int(c.link.requests.Add(1)), Bytes: chunk}})
		}
	}
}

// anyAnswer returns a chunk from the server as a single Part. It is used for the protocol Opaque, which the proxy cannot
// parse. The first chunk after a request counts as the complete reply.
func (c *conn) anyAnswer(chunk []byte) iter.Seq[Part] {
	return func(yield func(Part) bool) {
		if len(chunk) > 0 {
			yield(Part{Bytes: chunk, Complete: !c.answered.Swap(true), At: Reply, Command: Command{Nth: int(c.link.requests.Load())}})
		}
	}
}

// write writes the queued data until the end of the stream. After a write error it discards the data.
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

// deliver writes bytes to the receiver. It returns false after a write error. Bytes to the server are counted before the
// write, so that a request is counted before its reply arrives.
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

// finish ends the stream to the receiver and closes the connections to client and server. It closes them at once if both
// directions have ended or a fault rule has stopped delivery. Otherwise it first waits for lingerFor.
func (w *way) finish(how ending) {
	over := w.conn.end(w.direction)
	switch {
	case how == cutOff || over:
		w.conn.close()
		return
	case w.conn.tornByCut(w.direction):
		return // hide the end of the stream from the receiver; the connection is closed when the cut is healed
	}
	_ = w.to.CloseWrite() // fails only if the connection is closed
	if sleepUntil(w.conn.ctx, time.Now().Add(lingerFor)) {
		w.conn.close()
	}
}
