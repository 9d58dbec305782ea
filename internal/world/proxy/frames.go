package proxy

import (
	"bytes"
	"iter"
	"math"
	"strconv"
	"strings"
)

const (
	maxHeld  = 1 << 20         // bytes of a frame that are held until it is whole; what goes beyond is passed on as it comes
	maxLine  = 64 << 10        // bytes of a line, as in Redis; a longer one is not the protocol
	maxDepth = 64              // of arrays in arrays
	maxArgs  = 64              // elements of a frame that are looked at
	maxArg   = 64              // bytes of each
	maxCount = math.MaxInt / 4 // of elements or bytes, so that no sum overflows
)

// frame is one whole value of the protocol (RESP2 or RESP3) with the attributes before it, or an inline command.
type frame struct {
	kind  byte     // its first byte: '*' is an array, '>' a push; of an inline command 0
	args  []string // the plain elements of an array or push, as far as they are looked at
	count int      // how many elements it has
	begun bool     // it was too long to be held: what stands before this piece of it has been passed on
}

// piece is bytes to pass on. All of them together are what was read.
type piece struct {
	bytes []byte // of the chunk, or the caller's
	frame *frame // where they end one
}

// scanner finds the frames in one direction, however the bytes are cut, and holds at most maxHeld.
type scanner struct {
	requests bool // from a client: arrays of bulk strings, and inline commands

	raw   bool    // what came is not the protocol; from there on all is passed on as it comes
	held  []byte  // of the frame under way, what has not been passed on
	line  []byte  // of the line under way
	bulk  int     // bytes of the bulk string under way that are still to come, with its line end
	arg   []byte  // of that string, what is kept
	open  []level // the arrays that are under way, from the outermost
	frame frame   // as far as it is known
}

// level is an array, or something like it, that is under way.
type level struct {
	left      int  // elements still to come
	attribute bool // it goes before a value and is none
}

func (s *scanner) pieces(chunk []byte) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		from := 0 // where begins what has not been passed on
		for at := 0; at < len(chunk) && !s.raw; {
			n, whole := s.step(chunk[at:])
			at += n
			if !whole || s.raw {
				continue
			}
			f := s.frame
			s.frame = frame{}
			if !yield(piece{s.withHeld(chunk[from:at]), &f}) {
				return
			}
			from = at
		}
		rest := chunk[from:]
		if !s.streams(len(rest)) {
			s.held = append(s.held, rest...)
			return
		}
		if rest = s.withHeld(rest); len(rest) > 0 {
			s.frame.begun = true
			yield(piece{rest, nil})
		}
	}
}

// streams says whether what is not yet whole is passed on all the same: nothing of an inline command has an
// effect before its end has come, and who sends something else may not send a line end at all.
func (s *scanner) streams(more int) bool {
	inline := s.requests && len(s.open) == 0 && len(s.line) > 0 && s.line[0] != '*'
	return s.raw || inline || s.frame.begun || len(s.held)+more > maxHeld
}

func (s *scanner) withHeld(more []byte) []byte {
	if len(s.held) == 0 {
		return more
	}
	all := append(s.held, more...)
	s.held = nil // what is returned is the caller's
	return all
}

// step reads what it can of one line or string, and says whether a frame is whole.
func (s *scanner) step(b []byte) (n int, whole bool) {
	if s.bulk > 0 {
		return s.stepBulk(b)
	}
	n = bytes.IndexByte(b, '\n') + 1
	part := b[:n]
	if n == 0 {
		part = b
	}
	if !s.plausible(part) {
		s.raw = true
		return len(part), false
	}
	if n > 0 && len(s.line) == 0 {
		return n, s.header(part)
	}
	s.line = append(s.line, part...)
	if n == 0 {
		return len(part), false
	}
	whole = s.header(s.line)
	s.line = s.line[:0]
	return n, whole
}

// stepBulk reads of a string, and in the end its line end.
func (s *scanner) stepBulk(b []byte) (n int, whole bool) {
	if s.bulk > len("\r\n") {
		n = min(len(b), s.bulk-len("\r\n"))
		if s.looksAt() {
			s.arg = append(s.arg, b[:min(n, maxArg-len(s.arg))]...)
		}
		s.bulk -= n
		return n, false
	}
	if b[0] != "\r\n"[len("\r\n")-s.bulk] {
		s.raw = true
		return 1, false
	}
	if s.bulk--; s.bulk > 0 {
		return 1, false
	}
	s.keep(s.arg)
	s.arg = s.arg[:0]
	return 1, s.value()
}

// plausible says whether the line under way may go on like this. It must not depend on where it was cut.
func (s *scanner) plausible(part []byte) bool {
	kind := part[0]
	if len(s.line) > 0 {
		kind = s.line[0]
	}
	switch {
	case len(s.line)+len(part) > maxLine:
		return false
	case s.requests && len(s.open) > 0 && kind != '$':
		return false
	case s.requests && len(s.open) == 0 && kind != '*':
		return !bytes.ContainsFunc(part, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\r\n", r) })
	}
	if len(s.line) == 0 {
		part = part[1:]
	}
	switch kind {
	case '*', '~', '>', '%', '|', '$', '=', '!':
		return len(bytes.Trim(part, "-0123456789\r\n")) == 0
	case '+', '-', ':', '_', '#', ',', '(':
		return true
	}
	return false
}

func (s *scanner) header(line []byte) (whole bool) {
	kind := line[0]
	if s.requests && len(s.open) == 0 && kind != '*' {
		for word := range bytes.FieldsSeq(line) { // quotes are not looked at
			s.frame.count++
			if len(s.frame.args) < maxArgs {
				s.frame.args = append(s.frame.args, cut(word))
			}
		}
		return true
	}
	if !bytes.HasSuffix(line, []byte("\r\n")) {
		s.raw = true
		return false
	}
	text := line[1 : len(line)-len("\r\n")]
	if len(s.open) == 0 && kind != '|' {
		s.frame.kind = kind
	}
	switch kind {
	case '*', '~', '>', '%', '|':
		return s.array(kind, text)
	case '$', '=', '!':
		return s.string(text)
	}
	s.keep(text)
	return s.value()
}

func (s *scanner) array(kind byte, text []byte) (whole bool) {
	n, ok := number(text)
	if !ok || len(s.open) == maxDepth {
		s.raw = true
		return false
	}
	if kind == '%' || kind == '|' {
		n *= 2 // keys and values
	}
	if len(s.open) == 0 && kind != '|' {
		s.frame.count = max(n, 0)
	}
	switch {
	case n > 0:
		s.open = append(s.open, level{n, kind == '|'})
		return false
	case kind == '|':
		return false
	}
	return s.value() // empty, or null
}

func (s *scanner) string(text []byte) (whole bool) {
	n, ok := number(text)
	switch {
	case !ok, n < 0 && s.requests:
		s.raw = true
		return false
	case n < 0: // null
		s.keep(nil)
		return s.value()
	}
	s.bulk = n + len("\r\n")
	return false
}

// value ends a value, and with it the arrays whose last element it is.
func (s *scanner) value() (whole bool) {
	for len(s.open) > 0 {
		top := &s.open[len(s.open)-1]
		top.left--
		if top.left > 0 {
			return false
		}
		attribute := top.attribute
		s.open = s.open[:len(s.open)-1]
		if attribute {
			return false // its value is still to come
		}
	}
	return true
}

// looksAt says whether the element under way is one of those that are kept.
func (s *scanner) looksAt() bool {
	return len(s.open) == 1 && !s.open[0].attribute && len(s.frame.args) < maxArgs
}

func (s *scanner) keep(element []byte) {
	if s.looksAt() {
		s.frame.args = append(s.frame.args, cut(element))
	}
}

func cut(b []byte) string { return string(b[:min(len(b), maxArg)]) }

// number reads a count; -1 is null.
func number(text []byte) (n int, ok bool) {
	n, err := strconv.Atoi(string(text))
	return n, err == nil && n >= -1 && n <= maxCount
}
