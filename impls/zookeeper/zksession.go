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

// zkSession is a session of the client library, which sends heartbeats and reconnects.
type zkSession struct {
	conn    *zk.Conn
	events  <-chan zk.Event // closed when the library has stopped
	servers *zkServers
	wire    atomic.Pointer[zkWire] // current or last connection

	opened  time.Duration // the requested lease
	number  atomic.Int64  // assigned by the server
	timeout atomic.Int64  // granted by the server, in milliseconds
	up      chan struct{}
	over    chan struct{} // closed when the session has ended, at the server or here
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

// openZKSession returns when a server has created a session. The context bounds only that.
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

// Silent discards the client library's log: each error is returned as well.
type Silent struct{}

// Printf does nothing.
func (Silent) Printf(string, ...any) {}

// Alive reports whether the library has a session.
func (s *zkSession) Alive(context.Context) bool {
	return !waiting.Over(s.over) && s.conn.State() == zk.StateHasSession
}

func (s *zkSession) lasts() time.Duration { return time.Duration(s.timeout.Load()) * time.Millisecond }

func (s *zkSession) TTL() time.Duration { return s.opened }

// End asks the server to end the session, and returns when the library has stopped. Without an answer within a second, the
// session expires by itself.
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

// given handles the server's answer to a new connection. After the first answer the session must be the same and its
// timeout not shorter; the library would not check that.
func (s *zkSession) given(number int64, timeout time.Duration) {
	switch {
	case s.number.CompareAndSwap(0, number) && number != 0:
		s.timeout.Store(timeout.Milliseconds())
		close(s.up)
	case s.number.Load() != number || timeout < s.lasts():
		s.ended.Do(func() { close(s.over) })
	}
}

// dial connects by the network of the Env and inspects the server's answer.
func (s *zkSession) dial(by impls.Dialer) zk.Dialer {
	return func(network, addr string, within time.Duration) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(s.servers.life, within)
		defer cancel()
		conn, err := by(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		w := &zkWire{Conn: conn, given: s.given, within: longestGreeting}
		if s.number.Load() != 0 { // leaves time to try another server before the session ends
			w.within = min(longestGreeting, s.lasts()/3)
		}
		s.wire.Store(w)
		if s.servers.life.Err() != nil { // End may have missed this connection
			_ = w.Close()
		}
		return w, nil
	}
}

const longestGreeting = time.Second

// zkWire is a connection that parses the first answer, because the library hides the granted timeout. After a length and
// the version, the answer has the timeout in 4 bytes and the session's number in 8.
type zkWire struct {
	net.Conn
	given  func(number int64, timeout time.Duration)
	within time.Duration // deadline of the first answer
	head   [20]byte
	read   int
}

// SetReadDeadline bounds the first answer: a starting server accepts connections and never answers, and the library would
// wait for six times the session's timeout.
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

// zkServers is the list of servers that the library tries in turn. The library's own provider waits for a second before it
// tries a single server again, which is longer than a session may last.
type zkServers struct {
	addresses []string
	life      context.Context
	close     context.CancelFunc

	mu    sync.Mutex
	turn  int
	tries int // tries since the last connection
}

var _ zk.HostProvider = (*zkServers)(nil)

func (p *zkServers) Init([]string) error { return nil }

func (p *zkServers) Len() int { return len(p.addresses) }

// Next pauses after a failed try. It reports that all were tried only at the end of its life, because the library then
// checks whether to stop.
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

// askZK runs a request in a session, bounded by the context and CommandTimeout, because the library has no bound. After a
// timeout the outcome is unknown, and the session must be dropped.
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
		if waiting.Over(s.over) { // the library may have used another session
			return answer, errSessionOver
		}
		return r.answer, r.err
	case <-ctx.Done():
		return answer, ctx.Err()
	}
}

// askZKAgain is askZK for repeatable requests: if the connection broke, it repeats the request on the next one.
func askZKAgain[T any](ctx context.Context, s *zkSession, do func(*zk.Conn) (T, error)) (T, error) {
	for {
		answer, err := askZK(ctx, s, do)
		if !connectionBroke(err) || ctx.Err() != nil {
			return answer, err
		}
	}
}

// connectionBroke reports whether a connection ended before the answer, or while the request was sent.
func connectionBroke(err error) bool {
	var sending *net.OpError
	return errors.Is(err, zk.ErrConnectionClosed) || errors.As(err, &sending)
}

// syncZK has a session's server catch up with its leader, which refuses a session that has ended.
func syncZK(ctx context.Context, s *zkSession, path string) error {
	_, err := askZKAgain(ctx, s, func(c *zk.Conn) (string, error) { return c.Sync(path) })
	return err
}
