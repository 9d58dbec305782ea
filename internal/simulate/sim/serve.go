package sim

import (
	"bufio"
	"bytes"
	"io"
	"slices"
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
	source   bytes.Reader
	lines    *bufio.Reader
	room     [512]byte
}

// serve has an emulator answer on its end of a new connection.
func serve(m *miniredis.Miniredis, c *conn) *served {
	s := &served{conn: c, emulator: m, peer: server.NewPeer(bufio.NewWriterSize(c, 512)), lines: bufio.NewReaderSize(nil, 512)}
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
		args, rest, whole := s.command(s.unread)
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

// command reads a command from the beginning of bytes, and returns what follows it. It returns no arguments for what is
// no command.
func (s *served) command(b []byte) (args []string, rest []byte, whole bool) {
	if bytes.IndexByte(b, '\n') > len("*999999\r") {
		return nil, b, true // more words than any command has
	}
	s.source.Reset(b)
	s.lines.Reset(&s.source)
	said, err := server.ParseReply(s.lines)
	if err == io.EOF {
		return nil, b, false
	}
	words, _ := said.([]any)
	for _, word := range words {
		text, ok := word.(string)
		if !ok {
			return nil, b, true
		}
		args = append(args, text)
	}
	return args, b[len(b)-s.source.Len()-s.lines.Buffered():], true
}
