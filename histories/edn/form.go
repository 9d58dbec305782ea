package edn

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of the size and the nesting depth of an EDN value, so that a damaged file cannot exhaust memory.
const (
	maxForm  = 1 << 20 // bytes
	maxDepth = 64
)

type formKind uint8

const (
	atom    formKind = iota // symbol, nil, boolean, float or character; stored in text
	keyword                 // the field text contains the keyword without its colon
	str                     // string; the field text contains it without quotes
	whole                   // whole number; stored in the field n
	vector                  // vector or list; the field items contains its elements
	mapping                 // the field items contains the entries, each key followed by its value
	set                     // the field items contains the elements
)

// form is an EDN value. Tags are ignored.
type form struct {
	kind  formKind
	text  string
	n     int64
	items []form
	line  int
}

func (f *form) isNil() bool { return f.kind == atom && f.text == "nil" }

// String returns the value in EDN notation, except that a string has no quotes.
func (f *form) String() string {
	switch f.kind {
	case keyword:
		return ":" + f.text
	case whole:
		return strconv.FormatInt(f.n, 10)
	case vector, mapping, set:
		var parts []string
		for i := range f.items {
			parts = append(parts, f.items[i].String())
		}
		brackets := map[formKind][2]string{vector: {"[", "]"}, mapping: {"{", "}"}, set: {"#{", "}"}}[f.kind]
		return brackets[0] + strings.Join(parts, " ") + brackets[1]
	}
	return f.text
}

// forms reads EDN values one by one. It is hand-written, because errors must name the line and a long vector must not
// be held in memory.
type forms struct {
	in     *bufio.Reader
	line   int
	offset int64
	start  int64 // byte offset of the current value
}

var errTorn = errors.New("the text ends within a form")

// next skips spaces and comments. It returns the next byte without consuming it.
func (f *forms) next() (byte, error) {
	for comment := false; ; {
		c, err := f.read()
		switch {
		case err != nil:
			return 0, err
		case c == '\n':
			comment = false
		case c == ';':
			comment = true
		case !comment && !isSpace(c):
			f.unread()
			return c, nil
		}
	}
}

func (f *forms) read() (byte, error) {
	c, err := f.in.ReadByte()
	if err != nil {
		return 0, err
	}
	if f.offset++; c == '\n' {
		f.line++
	}
	return c, nil
}

// unread puts back the last byte, which must not be a newline.
func (f *forms) unread() {
	f.in.UnreadByte() // cannot fail after a successful read
	f.offset--
}

func (f *forms) form() (form, error) {
	f.start = f.offset
	got, err := f.value(0)
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errTorn
	}
	return got, err
}

func (f *forms) value(depth int) (form, error) {
	c, err := f.next()
	if err != nil {
		return form{}, err
	}
	if depth > maxDepth {
		return form{}, fmt.Errorf("nested more than %d deep", maxDepth)
	}
	at := f.line
	got, err := f.begin(c, depth)
	got.line = at
	return got, err
}

// begin reads a value. c is its first byte, which has not been consumed.
func (f *forms) begin(c byte, depth int) (form, error) {
	switch c {
	case ')', ']', '}':
		return form{}, fmt.Errorf("a %c without its opening bracket", c)
	case '{':
		got, err := f.collection(mapping, '}', depth)
		if err == nil && len(got.items)%2 != 0 {
			err = errors.New("a map with a key that has no value")
		}
		return got, err
	case '[':
		return f.collection(vector, ']', depth)
	case '(':
		return f.collection(vector, ')', depth)
	case '"':
		return f.str()
	case '#':
		f.read()
		return f.dispatch(depth)
	case ':':
		text, err := f.token()
		if err == nil && len(text) < 2 {
			err = errors.New("a colon without a name")
		}
		return form{kind: keyword, text: strings.TrimPrefix(text, ":")}, err
	}
	text, err := f.token()
	if err != nil {
		return form{}, err
	}
	if strings.HasPrefix(text, "^") {
		return form{}, errors.New("metadata, which no history has")
	}
	if n, err := strconv.ParseInt(strings.TrimSuffix(text, "N"), 10, 64); err == nil {
		return form{kind: whole, n: n}, nil
	}
	return form{kind: atom, text: text}, nil
}

// dispatch reads the rest of a value that begins with #: a set, or a tag followed by a value.
func (f *forms) dispatch(depth int) (form, error) {
	c, err := f.read()
	if err != nil {
		return form{}, err
	}
	tag := c == '#' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	if c != '{' && !tag {
		return form{}, fmt.Errorf("#%c begins neither a set nor a tag", c)
	}
	f.unread()
	if c == '{' {
		return f.collection(set, '}', depth)
	}
	text, err := f.token()
	if err != nil || c == '#' { // the symbolic values ##Inf, ##-Inf and ##NaN
		return form{kind: atom, text: "#" + text}, err
	}
	return f.value(depth + 1)
}

func (f *forms) collection(kind formKind, closing byte, depth int) (form, error) {
	f.read()
	got := form{kind: kind}
	for {
		c, err := f.next()
		if err != nil {
			return got, err
		}
		if c == closing {
			f.read()
			return got, nil
		}
		if f.offset-f.start > maxForm {
			return got, fmt.Errorf("longer than %d bytes: is a bracket not closed?", maxForm)
		}
		item, err := f.value(depth + 1)
		if err != nil {
			return got, err
		}
		got.items = append(got.items, item)
	}
}

// token reads text up to the next delimiter. The first byte is always part of the token.
func (f *forms) token() (string, error) {
	var b []byte
	for {
		c, err := f.read()
		if err != nil && (err != io.EOF || len(b) == 0) {
			return "", err
		}
		character := len(b) == 1 && b[0] == '\\' // in a character literal such as \{, the byte after the backslash is not a delimiter
		if ends := isSpace(c) || strings.IndexByte(`()[]{}";`, c) >= 0; err != nil || len(b) > 0 && !character && ends {
			if err == nil && c != '\n' {
				f.unread()
			}
			return strings.ToValidUTF8(string(b), "\uFFFD"), nil
		}
		if b = append(b, c); len(b) > maxForm {
			return "", fmt.Errorf("longer than %d bytes", maxForm)
		}
	}
}

func (f *forms) str() (form, error) {
	f.read()
	var b []byte
	for {
		c, err := f.read()
		if err != nil {
			return form{}, err
		}
		switch {
		case c == '"':
			return form{kind: str, text: strings.ToValidUTF8(string(b), "\uFFFD")}, nil
		case c == '\\':
			if b, err = f.escape(b); err != nil {
				return form{}, err
			}
		default:
			b = append(b, c)
		}
		if len(b) > maxForm {
			return form{}, fmt.Errorf("a string longer than %d bytes: is a quote not closed?", maxForm)
		}
	}
}

func (f *forms) escape(b []byte) ([]byte, error) {
	c, err := f.read()
	if err != nil {
		return b, err
	}
	if c == 'u' {
		var hex [4]byte
		for i := range hex {
			if hex[i], err = f.read(); err != nil {
				return b, err
			}
		}
		n, err := strconv.ParseUint(string(hex[:]), 16, 16)
		if err != nil {
			return b, fmt.Errorf(`\u%s in a string: want four hexadecimal digits`, hex[:])
		}
		return utf8.AppendRune(b, rune(n)), nil
	}
	i := strings.IndexByte(`trnbf"\`, c)
	if i < 0 {
		return b, fmt.Errorf(`\%c in a string: want one of \t \r \n \b \f \" \\ \u0000`, c)
	}
	return append(b, "\t\r\n\b\f\"\\"[i]), nil
}

func isSpace(c byte) bool {
	return c == ' ' || c == ',' || c == '\t' || c == '\r' || c == '\n' || c == '\f'
}
