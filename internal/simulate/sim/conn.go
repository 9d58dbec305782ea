package sim

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"lockbench/internal/world/proxy"
)

// conn is one end of a connection. As on a socket, a pool can ask it whether it is still alive.
type conn struct {
	in, out       *pipe
	local, remote endpoint
}

var _ syscall.Conn = (*conn)(nil)

type endpoint string

func (endpoint) Network() string  { return "sim" }
func (e endpoint) String() string { return string(e) }

func (c *conn) LocalAddr() net.Addr                   { return c.local }
func (c *conn) RemoteAddr() net.Addr                  { return c.remote }
func (c *conn) Read(b []byte) (int, error)            { return c.in.receive(b) }
func (c *conn) SyscallConn() (syscall.RawConn, error) { return rawConn{c.in}, nil }

// greeting is what the client library says first on a connection, and welcome what it is answered: that this server is
// too old for that, which changes nothing.
var (
	greeting = []byte("*2\r\n$5\r\nhello\r\n")
	welcome  = []byte("-ERR unknown command\r\n")
)

// Write sends. A handshake takes no time, like the dialling before it, and reaches no server: while it lasts the client
// library may have a mutex for which others wait, and while a mutex is waited for no virtual time passes.
func (c *conn) Write(b []byte) (int, error) {
	if !bytes.HasPrefix(b, greeting) {
		return c.out.send(b)
	}
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	c.in.welcome = welcome
	c.in.look()
	return len(b), nil
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	c.in.readBy = t
	c.in.look()
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error { // the reader has nothing to do with it
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	c.out.sendBy = t
	return nil
}

func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *conn) Close() error {
	c.out.end()
	c.in.abandon()
	return nil
}

// rawConn has no descriptor to hand out. Its Read answers by itself what a pool would use one for: its
// error says that the connection is dead, or that something is there to read, which a pool takes no better.
type rawConn struct{ in *pipe }

func (rawConn) Control(func(uintptr)) error    { return errors.ErrUnsupported }
func (rawConn) Write(func(uintptr) bool) error { return errors.ErrUnsupported }

func (r rawConn) Read(func(uintptr) bool) error {
	r.in.mu.Lock()
	defer r.in.mu.Unlock()
	return r.in.peek()
}

// pipe is one direction of a connection. What is sent arrives in order, each message when the link's timetable says.
// To send never blocks, so that no mutex of a client is held while virtual time passes.
type pipe struct {
	pair           *pair
	direction      proxy.Direction
	reader, writer *place

	mu             sync.Mutex   // guards what follows; never held across a wait
	alone          bool         // only its writer writes at an instant: what is sent need not wait in the outbox
	bell           *time.Timer  // tells the reader, of which there is one at a time, to look again
	rings          time.Time    // when the bell will; zero: not, or at once
	waits          bool         // the reader does, for the bell
	held           []proxy.Part // sent and not under way: its sender is paused, or a rule decides on what was sent before
	deciding       bool         // a rule does
	welcome        []byte       // not yet read
	void           bool         // what is sent from now on goes nowhere
	last           time.Time    // the latest arrival
	queue          []message    // under way, or there and not yet read
	ended          bool         // the writer has closed
	abandoned      bool         // the reader has closed
	readBy, sendBy time.Time    // deadlines; zero: none
	awake          time.Time    // no read ends for its deadline before
}

// message is what one write sent. One without bytes is the end.
type message struct {
	at    time.Time
	bytes []byte
}

var errUnread = errors.New("something is there to read")

func (p *pipe) turn() turn {
	t := p.pair.link.timetable.next(p.direction)
	if p.direction == proxy.ToServer {
		p.pair.used.Store(t.number)
	}
	return t
}

// put sends a message, or the end. It arrives after all that were sent before.
func (p *pipe) put(b []byte, turn turn) {
	if p.abandoned {
		return
	}
	at := own(time.Now().Add(turn.delay+time.Duration(p.pair.link.delay.Load())), turn.residue)
	if !at.After(p.last) {
		at = own(p.last.Add(1), turn.residue)
	}
	p.last = at
	p.queue = append(p.queue, message{at, b})
	p.look()
}

// never is longer than any trial.
const never = 1000 * time.Hour

// silent is a bell that does not ring.
func silent() *time.Timer {
	bell := time.NewTimer(never)
	bell.Stop()
	return bell
}

// ring has the reader look again at that time; zero: when it is told to.
func (p *pipe) ring(at time.Time) {
	if at.Equal(p.rings) {
		return
	}
	p.rings = at
	if at.IsZero() {
		p.bell.Stop()
		return
	}
	p.bell.Reset(time.Until(at))
}

// look has the reader, if it waits, look as soon as there is anything for it, since that has changed.
func (p *pipe) look() {
	switch {
	case !p.waits:
	case p.abandoned:
		p.rings = time.Time{}
		p.bell.Reset(0)
	default:
		p.ring(p.next())
	}
}

// next is when there is something for the reader; zero: it has to be told.
func (p *pipe) next() time.Time {
	if p.reader.still() {
		return time.Time{}
	}
	next := p.deadline()
	if len(p.queue) > 0 && (next.IsZero() || p.queue[0].at.Before(next)) {
		next = p.queue[0].at
	}
	return next
}

// deadline is when a read ends: not at the instant that was asked for, which is often derived from the deadline of a
// context and must not be that one's, but at one that belongs to what was asked last on the connection.
func (p *pipe) deadline() time.Time {
	by := p.readBy
	if by.IsZero() {
		return by
	}
	if by.Before(p.awake) {
		by = p.awake
	}
	return own(by.Add(1), p.pair.link.timetable.residue(proxy.ToClient, p.pair.used.Load()))
}

func (p *pipe) send(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended:
		return 0, net.ErrClosed
	case passed(p.sendBy):
		return 0, os.ErrDeadlineExceeded
	case !p.abandoned && !p.void && len(b) > 0: // else into the void: that the reader has gone is learnt by reading
		p.write(slices.Clone(b))
	}
	return len(b), nil
}

func (p *pipe) write(chunk []byte) {
	if p.alone {
		p.offer(chunk)
		return
	}
	p.pair.link.outbox.put(p, chunk)
}

func (p *pipe) end() {
	p.mu.Lock()
	if !p.ended {
		p.ended = true
		p.write(nil)
	}
	p.mu.Unlock()
	if p.pair.mute.Load() {
		p.pair.sever() // the other side would not learn it otherwise
	}
}

// leave sends what was written at one instant.
func (p *pipe) leave(chunks [][]byte) {
	p.mu.Lock()
	for _, chunk := range chunks {
		p.offer(chunk)
	}
	p.mu.Unlock()
	if p.direction == proxy.ToServer { // the deadline of the answer has moved
		back := p.pair.toClient
		back.mu.Lock()
		back.look()
		back.mu.Unlock()
	}
}

// offer sends a chunk, or holds it if it cannot go at once. Nil is the end.
func (p *pipe) offer(chunk []byte) {
	talk, toServer := p.pair.talk, p.direction == proxy.ToServer
	if chunk != nil && len(p.held) == 0 && !p.deciding && !p.writer.still() {
		// Nearly every chunk is one command or reply, which is cheaper than to cut.
		if part, ok := talk.Whole(chunk, toServer); ok {
			p.meet(part)
			return
		}
	}
	switch {
	case chunk == nil:
		p.held = append(p.held, proxy.Part{})
	case toServer:
		p.held = slices.AppendSeq(p.held, talk.FromClient(chunk))
	default:
		p.held = slices.AppendSeq(p.held, talk.FromServer(chunk))
	}
	p.advance()
}

func (p *pipe) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.abandoned {
		return
	}
	p.abandoned, p.queue = true, nil
	p.look()
}

// receive waits for bytes, the end, the deadline or the closing of this end.
func (p *pipe) receive(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		n, next, err := p.take(b)
		if n > 0 || err != nil || len(b) == 0 {
			return n, err
		}
		p.ring(next)
		p.waits = true
		bell := p.bell.C
		p.mu.Unlock()
		<-bell // timer and channel belong to the bubble, so virtual time goes on meanwhile
		p.mu.Lock()
		p.waits, p.rings = false, time.Time{}
	}
}

// take returns what is there, or else when to look again (zero: when told to). The mutex is held.
func (p *pipe) take(b []byte) (n int, next time.Time, err error) {
	found := p.peek()
	switch {
	case len(p.welcome) > 0:
		n = copy(b, p.welcome)
		p.welcome = p.welcome[n:]
		return n, next, nil
	case !p.abandoned && p.reader.still():
		return 0, next, nil // it does not even notice that its time is up
	case !p.abandoned && passed(p.deadline()): // even where there is something to read, as on a socket
		return 0, next, os.ErrDeadlineExceeded
	case found == errUnread:
		first := &p.queue[0]
		n = copy(b, first.bytes)
		switch first.bytes = first.bytes[n:]; {
		case len(first.bytes) > 0:
		case len(p.queue) == 1:
			p.queue = p.queue[:0] // its room is used again
		default:
			p.queue = p.queue[1:]
		}
		return n, next, nil
	case found != nil:
		return 0, next, found
	}
	return 0, p.next(), nil
}

// peek says what a reader would find now: nothing (nil), bytes (errUnread), the end (io.EOF), or that it
// has closed this end itself.
func (p *pipe) peek() error {
	switch {
	case p.abandoned:
		return net.ErrClosed
	case len(p.queue) == 0 || p.queue[0].at.After(time.Now()) || p.reader.still():
		return nil
	case p.queue[0].bytes == nil:
		return io.EOF
	}
	return errUnread
}

func passed(deadline time.Time) bool {
	return !deadline.IsZero() && !deadline.After(time.Now())
}
