package proxy

import (
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
	whole bool   // they end a frame
	frame frame
}

// scanner finds the frames in one direction, however the bytes are cut, and holds at most maxHeld.
type scanner struct {
	requests bool // from a client: arrays of bulk strings, and inline commands

	raw   bool    // what came is not the protocol; from there on all is passed on as it comes
	held  []byte  // of the frame under way, what has not been passed on
	part  string  // what has come and could not be read without what follows, passed on or not
	seen  int     // how much of it has no line end
	bulk  int     // bytes of the string under way that are still to come, with its line end
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
		rest := chunk // what has not been passed on
		text := s.part + string(chunk)
		for more := true; more && text != ""; {
			var f frame
			if text, f, more = s.next(text); more {
				n := len(rest) - len(text)
				if !yield(piece{s.withHeld(rest[:n]), true, f}) {
					return
				}
				rest = rest[n:]
			}
		}
		if s.part = text; !s.streams(len(rest)) {
			s.held = append(s.held, rest...)
			return
		}
		if rest = s.withHeld(rest); len(rest) > 0 {
			s.frame.begun = true
			yield(piece{bytes: rest})
		}
	}
}

// next reads to the end of a frame, or as far as it can.
func (s *scanner) next(text string) (rest string, f frame, whole bool) {
	for text != "" && !s.raw {
		n, whole := s.step(text)
		if s.raw || n == 0 {
			break
		}
		if text = text[n:]; whole {
			f, s.frame = s.frame, frame{}
			return text, f, true
		}
	}
	if s.raw {
		text = ""
	}
	return text, f, false
}

// streams reports whether what is not yet whole is passed on all the same: nothing of an inline command has an
// effect before its end has come, and what is no command may have no line end at all.
func (s *scanner) streams(more int) bool {
	inline := s.requests && len(s.open) == 0 && s.part != "" && s.part[0] != '*'
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

// step reads one line, with the string that it begins if that is there, or more of a string. It reports whether a
// frame is whole; n is 0 if it takes more than there is.
func (s *scanner) step(text string) (n int, whole bool) {
	if s.bulk > 0 {
		return s.string(text, 0)
	}
	if n = s.plain(text); n > 0 {
		return n, s.value()
	}
	n = s.seen + strings.IndexByte(text[s.seen:], '\n') + 1
	if n == s.seen {
		s.raw = !s.plausible(text)
		s.seen = len(text)
		return 0, false
	}
	line := text[:n]
	switch {
	case n > maxLine:
		s.raw = true
		return 0, false
	case s.requests && len(s.open) == 0 && line[0] != '*':
		s.raw = controls(line[s.seen:])
		s.seen = 0
		s.inline(line)
		return n, true
	}
	s.seen = 0
	return s.header(line, text)
}

// plain reads a string in an array that is all there, as nearly all are, for less than the others do; 0: it is none.
func (s *scanner) plain(text string) (n int) {
	if len(s.open) == 0 || text[0] != '$' || s.seen > 0 {
		return 0
	}
	size, at := 0, 1
	for ; at < min(len(text), 10) && text[at] >= '0' && text[at] <= '9'; at++ {
		size = 10*size + int(text[at]-'0')
	}
	from := at + len("\r\n")
	end := from + size
	n = end + len("\r\n")
	if at == 1 || n > len(text) || text[at:from] != "\r\n" || text[end:n] != "\r\n" {
		return 0
	}
	s.keep(text[from:end])
	return n
}

func (s *scanner) inline(line string) {
	for word := range strings.FieldsSeq(line) { // quotes are not looked at
		s.frame.count++
		if len(s.frame.args) < maxArgs {
			s.frame.args = append(s.frame.args, cut(word))
		}
	}
}

func controls(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\r\n", r) })
}

// plausible reports whether a line may begin like this. It must not depend on where it was cut.
func (s *scanner) plausible(text string) bool {
	switch {
	case len(text) > maxLine:
		return false
	case s.requests && len(s.open) > 0 && text[0] != '$':
		return false
	case s.requests && len(s.open) == 0 && text[0] != '*':
		return !controls(text[s.seen:])
	}
	switch text[0] {
	case '*', '~', '>', '%', '|', '$', '=', '!':
		return strings.Trim(text[max(1, s.seen):], "-0123456789\r\n") == ""
	case '+', '-', ':', '_', '#', ',', '(':
		return true
	}
	return false
}

// header reads a line that the text begins with.
func (s *scanner) header(line, text string) (n int, whole bool) {
	kind := line[0]
	if len(line) <= len("\r\n") || !strings.HasSuffix(line, "\r\n") || s.requests && len(s.open) > 0 && kind != '$' {
		s.raw = true
		return 0, false
	}
	value := line[1 : len(line)-len("\r\n")]
	if len(s.open) == 0 && kind != '|' {
		s.frame.kind = kind
	}
	switch kind {
	case '*', '~', '>', '%', '|':
		return len(line), s.array(kind, value)
	case '$', '=', '!':
		size, ok := number(value)
		if !ok || size < 0 && s.requests {
			s.raw = true
			return 0, false
		}
		if size >= 0 {
			return s.begin(size, text, len(line))
		}
		value = "" // null
	case '+', '-', ':', '_', '#', ',', '(':
	default:
		s.raw = true
		return 0, false
	}
	s.keep(value)
	return len(line), s.value()
}

// begin reads a string that begins at an index, or so much of it as is looked at.
func (s *scanner) begin(size int, text string, at int) (n int, whole bool) {
	if s.looksAt() {
		kept := min(size, maxArg)
		if len(text) < at+kept {
			return 0, false
		}
		s.keep(text[at : at+kept])
	}
	s.bulk = size + len("\r\n")
	return s.string(text, at)
}

// string reads what is there of a string from an index on, and in the end its line end.
func (s *scanner) string(text string, at int) (n int, whole bool) {
	n = at + min(len(text)-at, max(0, s.bulk-len("\r\n")))
	s.bulk -= n - at
	for ; s.bulk > 0 && s.bulk <= len("\r\n") && n < len(text); n++ {
		if text[n] != "\r\n"[len("\r\n")-s.bulk] {
			s.raw = true
			return 0, false
		}
		s.bulk--
	}
	return n, s.bulk == 0 && s.value()
}

func (s *scanner) array(kind byte, text string) (whole bool) {
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
		s.frame.args = make([]string, 0, min(s.frame.count, maxArgs))
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

// looksAt reports whether the element under way is one of those that are kept.
func (s *scanner) looksAt() bool {
	return len(s.open) == 1 && !s.open[0].attribute && len(s.frame.args) < maxArgs
}

func (s *scanner) keep(element string) {
	if s.looksAt() {
		s.frame.args = append(s.frame.args, cut(element))
	}
}

func cut(word string) string { return word[:min(len(word), maxArg)] }

// number reads a count; -1 is null.
func number(text string) (n int, ok bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= -1 && n <= maxCount && text[0] != '+'
}
