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

// conn is one end of a simulated connection. As with a socket, a connection pool can check whether it is alive.
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

// greeting is the beginning of the command HELLO, which the client library sends first. welcome is the reply. It makes
// the library use the protocol RESP2.
var (
	greeting = []byte("*2\r\n$5\r\nhello\r\n")
	welcome  = []byte("-ERR unknown command\r\n")
)

// Write sends bytes to the other end of the connection. It does not send the command HELLO, but answers it at once.
//
// The client library may hold a mutex until it has this reply. While another goroutine waits for the mutex, virtual time
// does not advance.
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

func (c *conn) SetWriteDeadline(t time.Time) error {
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

// rawConn lets a connection pool check whether a connection is alive. Read returns an error if the connection is dead or
// has unread bytes.
type rawConn struct{ in *pipe }

func (rawConn) Control(func(uintptr)) error    { return errors.ErrUnsupported }
func (rawConn) Write(func(uintptr) bool) error { return errors.ErrUnsupported }

func (r rawConn) Read(func(uintptr) bool) error {
	r.in.mu.Lock()
	defer r.in.mu.Unlock()
	return r.in.peek()
}

// pipe is one direction of a connection. Messages arrive in order, after delays that depend on the seed. Sending never
// blocks. A client may send while it holds a mutex, and blocking would stop virtual time.
type pipe struct {
	pair           *pair
	direction      proxy.Direction
	reader, writer *place

	mu             sync.Mutex   // guards the fields below
	soleWriter     bool         // whether only one goroutine writes; data then bypasses the outbox
	bell           *time.Timer  // wakes the only reader
	rings          time.Time    // time at which bell fires; zero if bell is stopped or was set to fire at once
	waits          bool         // whether a reader waits for bell
	held           []proxy.Part // unsent data: the writer is paused, or a fault rule delays earlier data
	deciding       bool         // whether a fault rule is still deciding about earlier data; later data then waits in held
	welcome        []byte       // unread bytes of the reply to the command HELLO
	discards       bool         // whether to discard all data that is sent from now on
	last           time.Time    // arrival time of the last message
	queue          []message    // messages in flight, and arrived messages that are unread
	ended          bool         // whether the writer has closed this direction
	abandoned      bool         // whether the reader has closed this direction
	readBy, sendBy time.Time    // read and write deadlines; zero: no deadline
	awake          time.Time    // earliest time at which a read may time out
}

// message holds the bytes of one write and their arrival time. Nil bytes mean the end of the stream.
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

// put sends a message; nil bytes mean the end of the stream. The message arrives after all earlier messages.
func (p *pipe) put(b []byte, turn turn) {
	if p.abandoned {
		return
	}
	at := nextWithResidue(time.Now().Add(turn.delay+time.Duration(p.pair.link.delay.Load())), turn.residue)
	if !at.After(p.last) {
		at = nextWithResidue(p.last.Add(1), turn.residue)
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

// ring sets the timer bell to the time at. A zero time stops it.
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

// look sets the timer of a waiting reader to the next arrival or deadline. Call it after each change of the pipe.
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

// next returns the time of the next arrival or the read deadline, whichever is earlier. It returns the zero time if
// there is neither, or if the reader is paused.
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

// deadline returns the time at which a read fails. It is slightly later than readBy, because a context may end at
// readBy. The order of simultaneous events is undefined.
func (p *pipe) deadline() time.Time {
	by := p.readBy
	if by.IsZero() {
		return by
	}
	if by.Before(p.awake) {
		by = p.awake
	}
	return nextWithResidue(by.Add(1), p.pair.link.timetable.residue(proxy.ToClient, p.pair.used.Load()))
}

func (p *pipe) send(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended:
		return 0, net.ErrClosed
	case passed(p.sendBy):
		return 0, os.ErrDeadlineExceeded
	// If the reader has closed the pipe, the data is lost without an error, as on a real socket.
	case !p.abandoned && !p.discards && len(b) > 0:
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
		p.pair.sever() // a muted connection drops the end of the stream, so close the other end here
	}
}

// sendChunks sends the chunks that were written to this pipe in the same nanosecond of virtual time.
func (p *pipe) sendChunks(chunks [][]byte) {
	p.mu.Lock()
	for _, chunk := range chunks {
		p.offer(chunk)
	}
	p.mu.Unlock()
	if p.direction == proxy.ToServer { // a request changes the time at which the client's read times out
		back := p.pair.toClient
		back.mu.Lock()
		back.look()
		back.mu.Unlock()
	}
}

// offer sends a chunk. If the writer is paused or a fault rule is deciding about an earlier message, it stores the
// chunk. A nil chunk means the end of the stream.
func (p *pipe) offer(chunk []byte) {
	talk, toServer := p.pair.talk, p.direction == proxy.ToServer
	if chunk != nil && len(p.held) == 0 && !p.deciding && !p.writer.paused() {
		// This is by far the most frequent case.
		if part, ok := talk.Whole(chunk, toServer); ok {
			p.sendPart(part)
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

// receive reads into b. It waits until bytes arrive, the stream ends, the read deadline passes, or the reader closes the
// connection.
func (p *pipe) receive(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		n, next, err := p.copyUnread(b)
		if n > 0 || err != nil || len(b) == 0 {
			return n, err
		}
		p.ring(next)
		p.waits = true
		bell := p.bell.C
		p.mu.Unlock()
		<-bell // virtual time advances while the goroutine waits for this timer
		p.mu.Lock()
		p.waits, p.rings = false, time.Time{}
	}
}

// copyUnread copies unread bytes to b. Without unread bytes, it returns the time at which to try again. A zero time
// means to wait for a change of the pipe. The caller must hold the mutex.
func (p *pipe) copyUnread(b []byte) (n int, next time.Time, err error) {
	found := p.peek()
	switch {
	case len(p.welcome) > 0:
		n = copy(b, p.welcome)
		p.welcome = p.welcome[n:]
		return n, next, nil
	case !p.abandoned && p.reader.paused():
		return 0, next, nil // a paused reader does not notice its deadline
	case !p.abandoned && passed(p.deadline()): // an expired deadline has priority over unread bytes, as in a socket
		return 0, next, os.ErrDeadlineExceeded
	case found == errUnread:
		first := &p.queue[0]
		n = copy(b, first.bytes)
		switch first.bytes = first.bytes[n:]; {
		case len(first.bytes) > 0:
		case len(p.queue) == 1:
			p.queue = p.queue[:0]
		default:
			p.queue = p.queue[1:]
		}
		return n, next, nil
	case found != nil:
		return 0, next, found
	}
	return 0, p.next(), nil
}

// peek returns the result of a read without reading. It is nil if a read would wait, errUnread if there are bytes,
// io.EOF at the end of the stream, and net.ErrClosed if this end is closed.
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
