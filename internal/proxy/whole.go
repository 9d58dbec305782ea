package proxy

import (
	"bytes"
	"strings"
)

// Whole is Said or Answered, for a chunk that is one command or reply of the usual kind and no more, as nearly all are
// where nothing cuts what was written: the same part for less. Where ok is false nothing was taken, and the
// chunk is to be given to the other. The part's bytes are the chunk.
func (c *Conversation) Whole(chunk []byte, said bool) (part Part, ok bool) {
	s := &c.down
	if said {
		s = &c.up
	}
	f, ok := s.whole(chunk)
	if !ok {
		return part, false
	}
	part.Bytes = chunk
	if !said {
		part.At, part.Command, part.Met = c.pairing.came(&f)
		return part, true
	}
	part.Met, part.At = true, Request
	part.Command = Command{Name: strings.ToUpper(f.args[0]), Args: f.args}
	part.First = c.pairing.ask(part.Command, f.count)
	return part, true
}

// whole reads a chunk that is a frame: a plain value, or an array of plain values.
func (s *scanner) whole(chunk []byte) (f frame, ok bool) {
	midway := s.raw || len(s.held) > 0 || len(s.line) > 0 || s.bulk > 0 || len(s.open) > 0 || s.frame.begun
	if midway || len(chunk) == 0 || len(chunk) > maxLine || s.requests && chunk[0] != '*' {
		return f, false
	}
	f.kind = chunk[0]
	rest := chunk
	if f.kind != '*' {
		_, rest, ok = s.plain(chunk)
		return f, ok && len(rest) == 0
	}
	f.count, rest, ok = size(chunk)
	if !ok || f.count < 1 || f.count > len(chunk) {
		return f, false
	}
	f.args = make([]string, 0, min(f.count, maxArgs))
	for range f.count {
		var value []byte
		if value, rest, ok = s.plain(rest); !ok {
			return f, false
		}
		if len(f.args) < maxArgs {
			f.args = append(f.args, cut(value))
		}
	}
	return f, len(rest) == 0
}

// plain reads a value that is no array; of a client a string that there is.
func (s *scanner) plain(b []byte) (value, rest []byte, ok bool) {
	if len(b) == 0 || s.requests && b[0] != '$' {
		return nil, nil, false
	}
	switch b[0] {
	case '+', '-', ':':
		line, rest, ok := bytes.Cut(b[1:], []byte("\n"))
		if !ok || !bytes.HasSuffix(line, []byte("\r")) {
			return nil, nil, false
		}
		return line[:len(line)-1], rest, true
	case '$':
	default:
		return nil, nil, false
	}
	n, rest, ok := size(b)
	if !ok || n+len("\r\n") > len(rest) || rest[n] != '\r' || rest[n+1] != '\n' {
		return nil, nil, false
	}
	return rest[:n], rest[n+len("\r\n"):], true
}

// size reads the line that says how long an array or a string is; a null one is not of the usual kind.
func size(b []byte) (n int, rest []byte, ok bool) {
	for i, c := range b[1:] {
		switch {
		case c >= '0' && c <= '9' && i < 9:
			n = 10*n + int(c-'0')
		case c == '\r' && i > 0 && len(b) > i+2 && b[i+2] == '\n':
			return n, b[i+3:], true
		default:
			return 0, nil, false
		}
	}
	return 0, nil, false
}
