package measure

import (
	"context"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// network is how locks reach their servers while they are measured: it counts what passes, and may be slow on purpose.
type network struct {
	delay      time.Duration // of each answer
	roundTrips atomic.Int64
	bytes      atomic.Int64
}

// dial connects as the network of the machine does.
func (n *network) dial(ctx context.Context, kind, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, kind, addr)
	if err != nil {
		return nil, err
	}
	return &countingConn{Conn: conn, of: n}, nil
}

// countingConn is a connection. A round trip is a reading after a writing: what is sent at once is one.
type countingConn struct {
	net.Conn
	of      *network
	pending atomic.Bool // something was sent, and nothing read since
}

func (c *countingConn) Write(p []byte) (int, error) {
	c.pending.Store(true)
	n, err := c.Conn.Write(p)
	c.of.bytes.Add(int64(n))
	return n, err
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.of.bytes.Add(int64(n))
	if c.pending.Swap(false) {
		c.of.roundTrips.Add(1)
		c.of.holdUp()
	}
	return n, err
}

// oversleep is more than a timer comes late by, as a rule.
const oversleep = time.Millisecond

// holdUp takes as long as the delay, to the microsecond: a sleep would take longer, and it is the delay that is to be found.
func (n *network) holdUp() {
	if n.delay == 0 {
		return
	}
	end := time.Now().Add(n.delay)
	time.Sleep(n.delay - oversleep)
	for time.Now().Before(end) {
		runtime.Gosched()
	}
}

// SyscallConn is there so that client libraries can look whether an idle connection was closed.
func (c *countingConn) SyscallConn() (syscall.RawConn, error) {
	s, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, net.ErrClosed
	}
	return s.SyscallConn()
}
