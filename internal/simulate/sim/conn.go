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

// conn is one end of a connection. A connection pool can ask it whether it is alive, as it can ask a socket.
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

// greeting is the first command of the client library on a connection. The answer, welcome, makes it use the older
// protocol.
var (
	greeting = []byte("*2\r\n$5\r\nhello\r\n")
	welcome  = []byte("-ERR unknown command\r\n")
)

// Write sends bytes. The handshake is answered here in no virtual time, because the client library may hold a mutex
// meanwhile, and virtual time does not advance while a goroutine waits for a mutex.
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

func (c *conn) SetWriteDeadline(t time.Time) error { // it does not affect the reader
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

// rawConn has no file descriptor. Its Read returns the result of a connection pool's check: an error if the connection
// is dead or has unread bytes.
type rawConn struct{ in *pipe }

func (rawConn) Control(func(uintptr)) error    { return errors.ErrUnsupported }
func (rawConn) Write(func(uintptr) bool) error { return errors.ErrUnsupported }

func (r rawConn) Read(func(uintptr) bool) error {
	r.in.mu.Lock()
	defer r.in.mu.Unlock()
	return r.in.peek()
}

// pipe is one direction of a connection. Messages arrive in order, at the times of the link's timetable. Sending never
// blocks, so that clients hold no mutex while virtual time advances.
type pipe struct {
	pair           *pair
	direction      proxy.Direction
	reader, writer *place

	mu             sync.Mutex   // guards the fields below; never held across a wait
	soleWriter     bool         // there is only one writer, which needs no outbox
	bell           *time.Timer  // wakes the only reader
	rings          time.Time    // when the bell rings; zero: not, or at once
	waits          bool         // the reader waits for the bell
	held           []proxy.Part // sent but delayed by a paused sender or a rule
	deciding       bool         // a rule is running
	welcome        []byte       // unread part of the answer to the greeting
	discards       bool         // discard everything sent from now on
	last           time.Time    // time of the last arrival
	queue          []message    // in flight, or arrived and unread
	ended          bool         // the writer has closed
	abandoned      bool         // the reader has closed
	readBy, sendBy time.Time    // deadlines; zero: none
	awake          time.Time    // no deadline ends a read before this time
}

// message holds the bytes of one write, or nil for the end of the stream.
type message struct {
	at    time.Time
	bytes []byte
}

var errUnread = errors.New("unread bytes")

func (p *pipe) turn() turn {
	t := p.pair.link.timetable.next(p.direction)
	if p.direction == proxy.ToServer {
		p.pair.used.Store(t.number)
	}
	return t
}

// put sends a message or the end. It arrives after all earlier messages.
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

const never = 1000 * time.Hour

func silent() *time.Timer {
	bell := time.NewTimer(never)
	bell.Stop()
	return bell
}

// ring sets the bell to a time; zero stops it.
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

// look sets the bell of a waiting reader after a change.
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

// next returns the time of the reader's next event, or zero if no event is known.
func (p *pipe) next() time.Time {
	if p.reader.paused() {
		return time.Time{}
	}
	next := p.deadline()
	if len(p.queue) > 0 && (next.IsZero() || p.queue[0].at.Before(next)) {
		next = p.queue[0].at
	}
	return next
}

// deadline returns the time at which a read ends. It is not readBy itself, which may coincide with a context's
// deadline, but the next nanosecond owned by the last request on the connection.
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
	case !p.abandoned && !p.discards && len(b) > 0: // otherwise discard: the writer notices a closed reader only by reading
		p.write(slices.Clone(b))
	}
	return len(b), nil
}

func (p *pipe) write(chunk []byte) {
	if p.soleWriter {
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
		p.pair.sever() // the end of the stream would be dropped
	}
}

// leave sends the chunks that were written in one nanosecond.
func (p *pipe) leave(chunks [][]byte) {
	p.mu.Lock()
	for _, chunk := range chunks {
		p.offer(chunk)
	}
	p.mu.Unlock()
	if p.direction == proxy.ToServer { // the deadline of the answer has changed
		back := p.pair.toClient
		back.mu.Lock()
		back.look()
		back.mu.Unlock()
	}
}

// offer sends a chunk, or holds it if it must wait. nil is the end of the stream.
func (p *pipe) offer(chunk []byte) {
	talk, toServer := p.pair.talk, p.direction == proxy.ToServer
	if chunk != nil && len(p.held) == 0 && !p.deciding && !p.writer.paused() {
		// This fast path handles nearly every chunk.
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

// receive waits for bytes, the end of the stream, the deadline, or the closing of this end.
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
		<-bell // the timer belongs to the bubble, so virtual time advances meanwhile
		p.mu.Lock()
		p.waits, p.rings = false, time.Time{}
	}
}

// take returns the next bytes, or the time at which to look again (zero: after a change). The mutex is held.
func (p *pipe) take(b []byte) (n int, next time.Time, err error) {
	found := p.peek()
	switch {
	case len(p.welcome) > 0:
		n = copy(b, p.welcome)
		p.welcome = p.welcome[n:]
		return n, next, nil
	case !p.abandoned && p.reader.paused():
		return 0, next, nil // a paused reader does not notice its deadline
	case !p.abandoned && passed(p.deadline()): // even with unread bytes, as on a socket
		return 0, next, os.ErrDeadlineExceeded
	case found == errUnread:
		first := &p.queue[0]
		n = copy(b, first.bytes)
		switch first.bytes = first.bytes[n:]; {
		case len(first.bytes) > 0:
		case len(p.queue) == 1:
			p.queue = p.queue[:0] // reuse the memory
		default:
			p.queue = p.queue[1:]
		}
		return n, next, nil
	case found != nil:
		return 0, next, found
	}
	return 0, p.next(), nil
}

// peek returns the result of a read without reading: nothing (nil), bytes (errUnread), the end of the stream (io.EOF),
// or that this end is closed.
func (p *pipe) peek() error {
	switch {
	case p.abandoned:
		return net.ErrClosed
	case len(p.queue) == 0 || p.queue[0].at.After(time.Now()) || p.reader.paused():
		return nil
	case p.queue[0].bytes == nil:
		return io.EOF
	}
	return errUnread
}

func passed(deadline time.Time) bool {
	return !deadline.IsZero() && !deadline.After(time.Now())
}
