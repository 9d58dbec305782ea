package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"lockbench/impls"
	"lockbench/impls/waiting"
)

// zkSession is a ZooKeeper session. The client library sends its heartbeats and reconnects.
type zkSession struct {
	conn    *zk.Conn
	events  <-chan zk.Event // closed when the library has stopped
	servers *zkServers
	wire    atomic.Pointer[zkWire] // current connection, or the last connection

	opened  time.Duration // the requested lease
	number  atomic.Int64  // session number, which the server assigned
	timeout atomic.Int64  // lease granted by the server, in milliseconds
	up      chan struct{}
	over    chan struct{} // closed when the server or this client has ended the session
	ended   sync.Once
}

var errSessionOver = errors.New("the session has ended")

// Addresses returns the addresses of an Env's servers.
func Addresses(env impls.Env) ([]string, error) {
	servers, err := env.Servers("zookeeper://host:port")
	var all []string
	for _, u := range servers {
		all = append(all, u.Host)
	}
	return all, err
}

// openZKSession opens a session, and returns when a server has created it. The context bounds only the opening.
func openZKSession(ctx context.Context, env impls.Env, addresses []string, ttl time.Duration) (*zkSession, error) {
	ctx, cancel := context.WithTimeout(ctx, waiting.CommandTimeout)
	defer cancel()
	s := &zkSession{opened: ttl, up: make(chan struct{}), over: make(chan struct{}),
		servers: &zkServers{addresses: addresses, turn: env.Rand.IntN(len(addresses))}}
	s.servers.life, s.servers.close = context.WithCancel(context.Background())
	var err error
	s.conn, s.events, err = zk.Connect(addresses, ttl, zk.WithHostProvider(s.servers), zk.WithDialer(s.dial(env.Network())),
		zk.WithLogger(Silent{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	select {
	case <-s.up:
		return s, nil
	case <-ctx.Done():
		s.End()
		return nil, ctx.Err()
	}
}

// Silent discards the log of the client library. The log is not needed, because the library also returns each error to its
// caller.
type Silent struct{}

// Printf does nothing.
func (Silent) Printf(string, ...any) {}

// Alive reports whether the client is connected and its session has not ended.
func (s *zkSession) Alive(context.Context) bool {
	return !waiting.Over(s.over) && s.conn.State() == zk.StateHasSession
}

func (s *zkSession) lasts() time.Duration { return time.Duration(s.timeout.Load()) * time.Millisecond }

func (s *zkSession) TTL() time.Duration { return s.opened }

// End asks the server to end the session. It returns when the library has stopped, or after CloseTimeout. If the server
// does not answer, the session expires by itself.
func (s *zkSession) End() {
	s.ended.Do(func() { close(s.over) })
	s.conn.Close()
	s.servers.close()
	if w := s.wire.Load(); w != nil {
		_ = w.Close()
	}
	give := time.NewTimer(waiting.CloseTimeout)
	defer give.Stop()
	for {
		select {
		case _, open := <-s.events:
			if !open {
				return
			}
		case <-give.C:
			return
		}
	}
}

// given handles the server's answer to each new connection, which contains a session number and a timeout. If a later
// answer has another number or a shorter timeout than the first, given ends the session. The client library does not
// check these values.
func (s *zkSession) given(number int64, timeout time.Duration) {
	switch {
	case s.number.CompareAndSwap(0, number) && number != 0:
		s.timeout.Store(timeout.Milliseconds())
		close(s.up)
	case s.number.Load() != number || timeout < s.lasts():
		s.ended.Do(func() { close(s.over) })
	}
}

// dial converts the given dialer to the type that the client library needs. Each connection that it opens also parses the
// server's first reply, which contains the granted timeout.
func (s *zkSession) dial(by impls.Dialer) zk.Dialer {
	return func(network, addr string, within time.Duration) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(s.servers.life, within)
		defer cancel()
		conn, err := by(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		w := &zkWire{Conn: conn, given: s.given, within: longestGreeting}
		if s.number.Load() != 0 { // leave time to try another server before the session expires
			w.within = min(longestGreeting, s.lasts()/3)
		}
		s.wire.Store(w)
		if s.servers.life.Err() != nil { // End was called while this connection was being opened, and may not have closed it
			_ = w.Close()
		}
		return w, nil
	}
}

const longestGreeting = time.Second

// zkWire is a connection that parses the first answer, because the library hides the granted timeout. The answer starts
// with 4 bytes of length and 4 of version. The timeout (4 bytes) and the session number (8 bytes) follow.
type zkWire struct {
	net.Conn
	given  func(number int64, timeout time.Duration)
	within time.Duration // timeout of each read until the server's first reply is complete
	head   [20]byte
	read   int
}

// SetReadDeadline limits the wait for the first answer. A starting server accepts connections and never answers. The
// library would wait for six session timeouts.
func (w *zkWire) SetReadDeadline(t time.Time) error {
	if soon := time.Now().Add(w.within); w.read < len(w.head) && t.After(soon) {
		t = soon
	}
	return w.Conn.SetReadDeadline(t)
}

func (w *zkWire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if w.read < len(w.head) {
		w.read += copy(w.head[w.read:], p[:n])
		if w.read == len(w.head) {
			timeout := time.Duration(binary.BigEndian.Uint32(w.head[8:])) * time.Millisecond
			w.given(int64(binary.BigEndian.Uint64(w.head[12:])), timeout)
		}
	}
	return n, err
}

// zkServers is the list of servers that the library tries in turn. The library's own list would wait for a second before it
// tries a single server again. A session may expire in that time.
type zkServers struct {
	addresses []string
	life      context.Context
	close     context.CancelFunc

	mu    sync.Mutex
	turn  int
	tries int // tries since the last established connection
}

var _ zk.HostProvider = (*zkServers)(nil)

func (p *zkServers) Init([]string) error { return nil }

func (p *zkServers) Len() int { return len(p.addresses) }

// Next returns the next server to connect to. After a failed attempt to connect, Next waits before it returns. The result stop
// makes the library check whether its client was closed. It is true after the method close was called.
func (p *zkServers) Next() (server string, stop bool) {
	p.mu.Lock()
	p.turn = (p.turn + 1) % len(p.addresses)
	p.tries++
	server, tries := p.addresses[p.turn], p.tries
	p.mu.Unlock()
	if tries > 1 {
		waiting.Pause(p.life, waiting.BackOff(tries))
	}
	return server, p.life.Err() != nil
}

func (p *zkServers) Connected() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tries = 0
}

// askZK runs a request in a session. It adds CommandTimeout, because the library has no timeout. After a timeout the
// outcome is unknown, and the session must be dropped.
func askZK[T any](ctx context.Context, s *zkSession, do func(*zk.Conn) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, waiting.CommandTimeout)
	defer cancel()
	type reply struct {
		answer T
		err    error
	}
	came := make(chan reply, 1)
	go func() {
		answer, err := do(s.conn)
		came <- reply{answer, err}
	}()
	select {
	case r := <-came:
		if waiting.Over(s.over) { // the session has ended, and the library may have sent the request in a new session
			return answer, errSessionOver
		}
		return r.answer, r.err
	case <-ctx.Done():
		return answer, ctx.Err()
	}
}

// askZKAgain runs a repeatable request like askZK. If the connection breaks, askZKAgain repeats the request on the next
// connection.
func askZKAgain[T any](ctx context.Context, s *zkSession, do func(*zk.Conn) (T, error)) (T, error) {
	for {
		answer, err := askZK(ctx, s, do)
		if !connectionBroke(err) || ctx.Err() != nil {
			return answer, err
		}
	}
}

// connectionBroke reports whether an error means that the connection broke before the answer.
func connectionBroke(err error) bool {
	var sending *net.OpError
	return errors.Is(err, zk.ErrConnectionClosed) || errors.As(err, &sending)
}

// syncZK makes the session's server catch up with the leader. The leader refuses a session that has ended.
func syncZK(ctx context.Context, s *zkSession, path string) error {
	_, err := askZKAgain(ctx, s, func(c *zk.Conn) (string, error) { return c.Sync(path) })
	return err
}
