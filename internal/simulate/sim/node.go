package sim

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"lockbench/internal/drive/faults"
)

type node struct {
	place
	mu     sync.Mutex
	server *miniredis.Miniredis // nil if the server is stopped
	gains  time.Duration        // drift of the server's clock per second
	since  time.Time            // time at which the drift was last added to the offset
	ahead  time.Duration        // offset of the server's clock from virtual time
	serves []*served            // connections to the server
	bars   atomic.Bool          // whether the server refuses writes
	forget func()               // makes the server forget the scripts that clients sent
	slow   bool                 // whether to run scripts in the slower emulator
}

func (n *node) newServer() *miniredis.Miniredis {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	c, err := m.Dial() // Dial starts the server without opening a port; the connection itself is not needed
	if err != nil {
		panic(err) // Dial uses no network, so it cannot fail
	}
	c.Close()
	known := new(sync.Map)
	n.forget = known.Clear
	m.Server().SetPreHook(func(peer *server.Peer, command string, args ...string) bool {
		n.catchUp()
		return n.refuseWrite(peer, command) || n.answerTime(peer, command) || !n.slow && runScript(m.Server(), known, peer, command, args)
	})
	return m
}

// answerTime replies to the command TIME if the server's clock differs from virtual time. The result is true if it
// replied.
func (n *node) answerTime(peer *server.Peer, command string) bool {
	n.mu.Lock()
	ahead := n.ahead
	n.mu.Unlock()
	if command != "TIME" || ahead == 0 {
		return false
	}
	now := time.Now().Add(ahead).UnixMicro()
	peer.WriteLen(2)
	peer.WriteBulk(strconv.FormatInt(now/1e6, 10))
	peer.WriteBulk(strconv.FormatInt(now%1e6, 10))
	return true
}

func (n *node) running() *miniredis.Miniredis {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.server
}

// kill stops the server, closes its connections and deletes its data.
func (n *node) kill() {
	n.resume()
	n.mu.Lock()
	server, serves := n.server, n.serves
	n.server, n.serves = nil, nil
	n.bars.Store(false)
	n.mu.Unlock()
	for _, s := range serves {
		s.Close()
	}
	if server != nil {
		server.Close()
	}
}

// restart starts a stopped server with the data in the parameter with.
func (n *node) restart(with contents) {
	server := n.newServer()
	for _, restore := range with {
		restore(server)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server == nil {
		n.server = server
	}
}

// bounce kills the server and restarts it. If the action keeps data, the restarted server has its data. If the action
// has a delay, bounce only kills the server, and the returned function heal restarts it.
func (n *node) bounce(a faults.Action) (heal func(), err error) {
	var knows contents
	if a.Keeps {
		if knows, err = n.contents(); err != nil {
			return nil, err // the server is already stopped; the step that stopped it determines its data after the restart
		}
	}
	n.kill()
	if a.By > 0 {
		return func() { n.restart(knows) }, err // heal is called after the delay, or at the end of the workload
	}
	n.restart(knows)
	return nil, err
}

func (n *node) drift(by time.Duration) {
	n.catchUp()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gains, n.since = by, time.Now()
}

func (n *node) resetClock() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ahead, n.gains = 0, 0
}

// catchUp adds the drift since its last call to the server's clock. It is called before each command, so commands see a
// continuous drift.
func (n *node) catchUp() {
	n.mu.Lock()
	by := time.Duration(float64(n.gains) * time.Since(n.since).Seconds())
	n.since = time.Now()
	n.mu.Unlock()
	if by != 0 && n.running() != nil {
		_ = n.jump(by)
	}
}

// jump moves the server's clock by a duration, which may be negative. This changes the result of TIME and the times at
// which leases expire.
func (n *node) jump(by time.Duration) error {
	server := n.running()
	if server == nil {
		return errors.New("the server is dead")
	}
	n.mu.Lock()
	n.ahead += by
	n.mu.Unlock()
	for _, key := range server.Keys() {
		switch left := server.TTL(key); {
		case left == 0: // the key does not expire
		case left <= by:
			server.Del(key)
		default:
			server.SetTTL(key, left-by)
		}
	}
	return nil
}

func (n *node) evict(key string) error {
	if server := n.running(); server == nil || !server.Del(key) {
		return errors.New("no such key")
	}
	return nil
}

// contents is a copy of a server's data. Each function stores one key with its value in an empty server.
type contents []func(*miniredis.Miniredis)

func (n *node) contents() (contents, error) {
	server := n.running()
	if server == nil {
		return nil, errors.New("the server is dead")
	}
	var all contents
	for _, key := range server.Keys() {
		var set func(*miniredis.Miniredis)
		switch kind := server.Type(key); kind {
		case "string":
			text, _ := server.Get(key)
			set = func(to *miniredis.Miniredis) { _ = to.Set(key, text) }
		case "list":
			list, _ := server.List(key)
			list = slices.Clone(list) // copy the slice, because the command LSET modifies it
			set = func(to *miniredis.Miniredis) { _, _ = to.Push(key, list...) }
		case "hash":
			var fields []string
			names, _ := server.HKeys(key)
			for _, name := range names {
				fields = append(fields, name, server.HGet(key, name))
			}
			set = func(to *miniredis.Miniredis) { to.HSet(key, fields...) }
		default:
			return nil, fmt.Errorf("copy a server's data: type %s is not supported", kind)
		}
		ttl := server.TTL(key)
		until := time.Now().Add(ttl)
		all = append(all, func(to *miniredis.Miniredis) {
			left := time.Until(until)
			if ttl == 0 || left > 0 {
				set(to)
			}
			if ttl > 0 && left > 0 {
				to.SetTTL(key, left)
			}
		})
	}
	return all, nil
}

// served is the server's end of a connection. It handles commands in the goroutine of the timer that signals their
// arrival. This is much faster than the emulator, which uses two goroutines per connection. A connection with a
// subscriber is handed over to the emulator, because the emulator notices a disconnect.
type served struct {
	*conn
	emulator *miniredis.Miniredis
	peer     *server.Peer
	at       bool   // whether a goroutine is handling commands; guarded by the mutex of in
	unread   []byte // bytes of an incomplete command
	room     [512]byte
}

// serve makes the emulator m reply to commands on the server's end c of a new connection.
func serve(m *miniredis.Miniredis, c *conn) *served {
	s := &served{conn: c, emulator: m, peer: server.NewPeer(bufio.NewWriterSize(c, 512))}
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	c.in.bell = time.AfterFunc(never, s.answer)
	c.in.bell.Stop()
	c.in.waits = true       // the timer of a served connection is always waited for
	c.out.soleWriter = true // a reply is sent in the nanosecond in which its command arrives
	return s
}

// answer handles the data that has arrived. It does nothing if another goroutine is already handling data.
func (s *served) answer() {
	growStack(0)
	p := s.in
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rings = time.Time{}
	if s.at {
		return
	}
	s.at = true
	defer func() { s.at = false }()
	for {
		n, next, err := p.copyUnread(s.room[:])
		if n == 0 && err == nil {
			p.ring(next)
			return
		}
		p.mu.Unlock()
		goesOn := err == nil && s.handleBytes(s.room[:n])
		if err != nil {
			s.Close()
		}
		p.mu.Lock()
		if !goesOn {
			return
		}
	}
}

// handleBytes appends b to the unread bytes and handles all complete commands. It returns false if the connection was
// closed, or handed over to the emulator.
func (s *served) handleBytes(b []byte) bool {
	s.unread = append(s.unread, b...)
	kept := s.unread[:0] // reuse the array of the slice
	for len(s.unread) > 0 {
		args, rest, whole := parseCommand(s.unread)
		if !whole {
			break
		}
		if args == nil || strings.Contains(strings.ToUpper(args[0]), "SUBSCRIBE") {
			s.handOver()
			return false
		}
		s.unread = rest
		s.emulator.Server().Dispatch(s.peer, args)
		s.peer.Flush()
		if s.peer.Closed() {
			s.Close()
			return false
		}
	}
	s.unread = append(kept, s.unread...)
	return true
}

// handOver hands the connection and its unread bytes over to the emulator.
func (s *served) handOver() {
	p := s.in
	p.mu.Lock()
	p.queue = slices.Insert(p.queue, 0, message{time.Now(), s.unread})
	p.bell.Stop()
	p.bell, p.rings, p.waits = silent(), time.Time{}, false
	p.mu.Unlock()
	s.out.mu.Lock()
	s.out.soleWriter = false // published messages are written by several goroutines in the same nanosecond
	s.out.mu.Unlock()
	s.emulator.Server().ServeConn(s.conn)
}

// parseCommand parses the first command in b and returns its words and the bytes after it. args is nil if the command is
// invalid. whole is false if the command is incomplete.
func parseCommand(b []byte) (args []string, rest []byte, whole bool) {
	text := string(b) // the words share one allocation
	size, at, whole := parseLength(text, 0, '*')
	if !whole || size <= 0 {
		return nil, b, whole
	}
	args = make([]string, size)
	for i := range args {
		var length int
		if length, at, whole = parseLength(text, at, '$'); !whole || length < 0 {
			return nil, b, whole
		}
		end := at + length
		if len(text) < end+len("\r\n") {
			return nil, b, false
		}
		args[i], at = text[at:end], end+len("\r\n")
	}
	return args, b[at:], true
}

// parseLength parses a line such as *3 or $12, and returns the number and the position after the line. The number is negative if the
// line is invalid. whole is false if the line is incomplete.
func parseLength(text string, at int, kind byte) (n, next int, whole bool) {
	line, _, whole := strings.Cut(text[at:], "\r\n")
	switch {
	case !whole && len(line) <= len("*999999"):
		return 0, at, false
	case line == "" || line[0] != kind || len(line) > len("*999999"):
		return -1, at, true
	}
	n, err := strconv.Atoi(line[1:])
	if err != nil {
		n = -1
	}
	return n, at + len(line) + len("\r\n"), true
}
