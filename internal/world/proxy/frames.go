package proxy

import (
	"iter"
	"math"
	"strconv"
	"strings"
)

const (
	maxHeld  = 1 << 20         // maximum number of bytes that are kept of an incomplete frame; a longer frame is forwarded in parts
	maxLine  = 64 << 10        // maximum length of a line in bytes, as in Redis; data with a longer line is not RESP
	maxDepth = 64              // maximum nesting of arrays
	maxArgs  = 64              // maximum number of elements stored per frame
	maxArg   = 64              // maximum number of bytes stored per element
	maxCount = math.MaxInt / 4 // maximum length of an array or string; lengths can then be added without overflow
)

// frame is a complete RESP2 or RESP3 value including its attributes, or an inline command.
type frame struct {
	kind byte // first byte of the value, such as '*' for an array and '>' for a push; 0 for an inline command
	// args holds the words of an inline command, or the elements of an array except nested arrays. It has at most
	// maxArgs elements, each truncated to maxArg bytes.
	args  []string
	count int  // number of words of an inline command, or of elements of an array; a nested array counts as one element
	begun bool // whether the beginning of the frame was forwarded before the rest arrived
}

// piece holds bytes to forward. All pieces together contain exactly the bytes that were read.
type piece struct {
	bytes []byte // slice of the input chunk, or a copy that is not used again
	whole bool   // whether these bytes end with the last byte of a frame
	frame frame
}

// scanner splits one direction of a connection into frames. It keeps at most maxHeld bytes of an incomplete frame. A
// longer frame is forwarded in parts.
type scanner struct {
	requests bool // whether the data comes from a client; each frame is then an array of bulk strings or an inline command

	raw   bool    // whether the data is not RESP; it is then forwarded without parsing
	held  []byte  // bytes of the current frame that have not been forwarded
	part  string  // unparsed bytes; some of them may already have been forwarded
	seen  int     // number of bytes at the beginning of part that are known to contain no line end
	bulk  int     // number of missing bytes of the current string, including its line end
	open  []level // incomplete arrays that contain the current element, outermost first
	frame frame   // the parsed part of the current frame
}

// level describes an array or other aggregate whose elements have not all arrived.
type level struct {
	left      int  // number of missing elements
	attribute bool // whether the aggregate is a RESP3 attribute, which describes the value that follows it
}

func (s *scanner) pieces(chunk []byte) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		rest := chunk // bytes of the chunk that have not been forwarded
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

// next parses text up to the end of the next frame and returns the unparsed rest. whole is false if no frame is
// complete.
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

// streams reports whether to forward the bytes of an incomplete frame before the rest arrives. It does so for frames
// longer than maxHeld bytes, for data that is not RESP, and for inline commands. Data that is not RESP may look like an
// inline command without an end. An incomplete inline command has no effect on the server, so forwarding it is safe.
func (s *scanner) streams(more int) bool {
	inline := s.requests && len(s.open) == 0 && s.part != "" && s.part[0] != '*'
	return s.raw || inline || s.frame.begun || len(s.held)+more > maxHeld
}

func (s *scanner) withHeld(more []byte) []byte {
	if len(s.held) == 0 {
		return more
	}
	all := append(s.held, more...)
	s.held = nil // the caller keeps the returned slice
	return all
}

// step parses one line and the string that follows it, if any. If the previous call ended within a string, step
// continues with this string. It returns the number of parsed bytes. This is 0 if step needs more data or the data is
// not RESP. whole is true if a frame is complete.
func (s *scanner) step(text string) (n int, whole bool) {
	if s.bulk > 0 {
		return s.scanString(text, 0)
	}
	if n = s.plain(text); n > 0 {
		return n, s.endValue()
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

// plain parses a complete bulk string inside an array, the most common kind of array element. It returns the number of
// parsed bytes, or 0 if text does not begin with a complete bulk string.
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
	for word := range strings.FieldsSeq(line) { // quotes in inline commands are not interpreted
		s.frame.count++
		if len(s.frame.args) < maxArgs {
			s.frame.args = append(s.frame.args, cut(word))
		}
	}
}

func controls(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\r\n", r) })
}

// plausible reports whether text may be the beginning of a line of RESP. The result does not depend on the division of
// the data into chunks.
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
		value = "" // a null string
	case '+', '-', ':', '_', '#', ',', '(':
	default:
		s.raw = true
		return 0, false
	}
	s.keep(value)
	return len(line), s.endValue()
}

// begin starts to parse a string of size bytes at text[at]. It stores at most maxArg bytes of the string.
func (s *scanner) begin(size int, text string, at int) (n int, whole bool) {
	if s.looksAt() {
		kept := min(size, maxArg)
		if len(text) < at+kept {
			return 0, false
		}
		s.keep(text[at : at+kept])
	}
	s.bulk = size + len("\r\n")
	return s.scanString(text, at)
}

// scanString parses a RESP string, or the rest of it, and its line end. It begins at text[at] and parses the
// bytes that have arrived. It returns the index after the last parsed byte. whole is true if the frame is complete.
func (s *scanner) scanString(text string, at int) (n int, whole bool) {
	n = at + min(len(text)-at, max(0, s.bulk-len("\r\n")))
	s.bulk -= n - at
	for ; s.bulk > 0 && s.bulk <= len("\r\n") && n < len(text); n++ {
		if text[n] != "\r\n"[len("\r\n")-s.bulk] {
			s.raw = true
			return 0, false
		}
		s.bulk--
	}
	return n, s.bulk == 0 && s.endValue()
}

func (s *scanner) array(kind byte, text string) (whole bool) {
	n, ok := number(text)
	if !ok || len(s.open) == maxDepth {
		s.raw = true
		return false
	}
	if kind == '%' || kind == '|' {
		n *= 2 // each entry of a map or attribute has a key and a value
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
	return s.endValue() // an empty or null array is complete at once
}

// endValue updates the stack of incomplete arrays (field open) after a complete value. It removes the arrays
// that this value completes. The result is true if the frame is complete.
func (s *scanner) endValue() (whole bool) {
	for len(s.open) > 0 {
		top := &s.open[len(s.open)-1]
		top.left--
		if top.left > 0 {
			return false
		}
		attribute := top.attribute
		s.open = s.open[:len(s.open)-1]
		if attribute {
			return false // an attribute is always followed by a value
		}
	}
	return true
}

func (s *scanner) looksAt() bool {
	return len(s.open) == 1 && !s.open[0].attribute && len(s.frame.args) < maxArgs
}

func (s *scanner) keep(element string) {
	if s.looksAt() {
		s.frame.args = append(s.frame.args, cut(element))
	}
}

func cut(word string) string { return word[:min(len(word), maxArg)] }

func number(text string) (n int, ok bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= -1 && n <= maxCount && text[0] != '+'
}
