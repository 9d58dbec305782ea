package sim

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// conn is one end of a connection.
type conn struct {
	in, out       *pipe
	local, remote endpoint
	closed        atomic.Bool
	hangUp        func() // called once by each end
}

var (
	_ net.Conn     = (*conn)(nil)
	_ syscall.Conn = (*conn)(nil)
)

// endpoint is the address of one end.
type endpoint string

func (endpoint) Network() string  { return "sim" }
func (e endpoint) String() string { return string(e) }

// newConns joins two pipes to a connection's client end and server end. When both are closed, hungUp is called.
func newConns(there, back *pipe, client, server endpoint, hungUp func()) (*conn, *conn) {
	var ends atomic.Int32
	hangUp := func() {
		if ends.Add(1) == 2 {
			hungUp()
		}
	}
	return &conn{in: back, out: there, local: client, remote: server, hangUp: hangUp},
		&conn{in: there, out: back, local: server, remote: client, hangUp: hangUp}
}

// Write never blocks, so that no mutex of a client is held while virtual time passes.
func (c *conn) Write(b []byte) (int, error) { return c.out.send(b) }

func (c *conn) Read(b []byte) (int, error) { return c.in.receive(b) }

func (c *conn) Close() error {
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	c.out.end()
	c.in.abandon()
	c.hangUp()
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.readBefore(t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.writeBefore(t)
	return nil
}

// SyscallConn lets a connection pool see that an idle connection is dead, as it sees it on a socket.
func (c *conn) SyscallConn() (syscall.RawConn, error) { return rawConn{c.in}, nil }

// rawConn has no descriptor to hand out: it answers by itself what a pool would use one for.
type rawConn struct{ in *pipe }

func (rawConn) Control(func(uintptr)) error    { return errors.ErrUnsupported }
func (rawConn) Write(func(uintptr) bool) error { return errors.ErrUnsupported }

// Read does not call its argument. Its error is nil for an open connection with nothing to read, else
// io.EOF, or something else where there is something to read.
func (r rawConn) Read(func(uintptr) bool) error {
	n, err := r.in.peek()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	case err != nil:
		return err
	case n > 0:
		return errors.New("something is there to read")
	}
	return nil
}

var _ = io.EOF
