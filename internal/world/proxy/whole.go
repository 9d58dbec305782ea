package proxy

import "strings"

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
	text := string(chunk) // of which all arguments are parts
	f.kind = text[0]
	rest := text
	if f.kind != '*' {
		_, rest, ok = s.plain(text)
		return f, ok && rest == ""
	}
	f.count, rest, ok = size(text)
	if !ok || f.count < 1 || f.count > len(chunk) {
		return f, false
	}
	f.args = make([]string, 0, min(f.count, maxArgs))
	for range f.count {
		var value string
		if value, rest, ok = s.plain(rest); !ok {
			return f, false
		}
		if len(f.args) < maxArgs {
			f.args = append(f.args, value[:min(len(value), maxArg)])
		}
	}
	return f, rest == ""
}

// plain reads a value that is no array; of a client a string that there is.
func (s *scanner) plain(text string) (value, rest string, ok bool) {
	if text == "" || s.requests && text[0] != '$' {
		return "", "", false
	}
	switch text[0] {
	case '+', '-', ':':
		line, rest, ok := strings.Cut(text[1:], "\n")
		value, ended := strings.CutSuffix(line, "\r")
		return value, rest, ok && ended
	case '$':
	default:
		return "", "", false
	}
	if rest, null := strings.CutPrefix(text, "$-1\r\n"); null {
		return "", rest, !s.requests
	}
	n, rest, ok := size(text)
	if !ok || n+len("\r\n") > len(rest) || rest[n:n+len("\r\n")] != "\r\n" {
		return "", "", false
	}
	return rest[:n], rest[n+len("\r\n"):], true
}

// size reads the line that says how long an array or a string is.
func size(text string) (n int, rest string, ok bool) {
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c >= '0' && c <= '9' && i < 10:
			n = 10*n + int(c-'0')
		case c == '\r' && i > 1 && strings.HasPrefix(text[i:], "\r\n"):
			return n, text[i+len("\r\n"):], true
		default:
			return 0, "", false
		}
	}
	return 0, "", false
}
