package sim

import (
	"bufio"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// served is the server's side of a connection. The emulator would have two goroutines wait on each; here what arrives
// is handled when it does, in the goroutine of the timer that tells so, which costs far less. Connections that
// subscribe are the emulator's own all the same: only it can tell when a subscriber has gone.
type served struct {
	*conn
	emulator *miniredis.Miniredis
	peer     *server.Peer
	at       bool   // somebody is at it; the pipe's mutex guards it
	unread   []byte // what has come of a command that is not whole
	room     [512]byte
}

// serve has an emulator answer on its end of a new connection.
func serve(m *miniredis.Miniredis, c *conn) *served {
	s := &served{conn: c, emulator: m, peer: server.NewPeer(bufio.NewWriterSize(c, 512))}
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	c.in.bell = time.AfterFunc(never, s.answer)
	c.in.bell.Stop()
	c.in.waits = true  // all the time
	c.out.alone = true // each answer has the instant of its question
	return s
}

// answer does what has come so far, unless somebody is at it: a command that waits.
func (s *served) answer() {
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
		n, next, err := p.take(s.room[:])
		if n == 0 && err == nil {
			p.ring(next)
			return
		}
		p.mu.Unlock()
		goesOn := err == nil && s.take(s.room[:n])
		if err != nil {
			s.Close()
		}
		p.mu.Lock()
		if !goesOn {
			return
		}
	}
}

// take does the commands that are whole by now; false: there is nothing more to do here.
func (s *served) take(b []byte) bool {
	s.unread = append(s.unread, b...)
	kept := s.unread[:0] // its room is used again
	for len(s.unread) > 0 {
		args, rest, whole := command(s.unread)
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

// handOver leaves the connection to the emulator, with what was not read.
func (s *served) handOver() {
	p := s.in
	p.mu.Lock()
	p.queue = slices.Insert(p.queue, 0, message{time.Now(), s.unread})
	p.bell.Stop()
	p.bell, p.rings, p.waits = silent(), time.Time{}, false
	p.mu.Unlock()
	s.out.mu.Lock()
	s.out.alone = false // several subscribers are told at once
	s.out.mu.Unlock()
	s.emulator.Server().ServeConn(s.conn)
}

// command reads a command from the beginning of bytes, and returns what follows it. Without arguments it is one that
// nobody here understands.
func command(b []byte) (args []string, rest []byte, whole bool) {
	text := string(b) // of which all arguments are parts
	n, text, whole := count(text, '*')
	if !whole {
		return nil, b, false
	}
	if n < 1 {
		return nil, b, true
	}
	args = make([]string, 0, min(n, 16))
	for range n {
		var size int
		size, text, whole = count(text, '$')
		switch {
		case !whole:
			return nil, b, false
		case size < 0:
			return nil, b, true
		case len(text) < size+len("\r\n"):
			return nil, b, false
		}
		args = append(args, text[:size])
		text = text[size+len("\r\n"):]
	}
	return args, b[len(b)-len(text):], true
}

// count reads a line that consists of a sign and a number; -1 where it does not.
func count(text string, sign byte) (n int, rest string, whole bool) {
	line, rest, whole := strings.Cut(text, "\r\n")
	if !whole {
		return 0, text, false
	}
	if len(line) < 2 || line[0] != sign {
		return -1, rest, true
	}
	n, err := strconv.Atoi(line[1:])
	if err != nil || n > 1<<20 {
		return -1, rest, true
	}
	return n, rest, true
}
