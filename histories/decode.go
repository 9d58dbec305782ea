package histories

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/klauspost/compress/zstd"
)

// maxLine is the maximum length of a line in bytes. It limits the memory that a damaged file can use.
const maxLine = 1 << 20

// ErrTruncated is returned for a file that ends within its header.
var ErrTruncated = errors.New("the history was cut off before its first mark: nothing can be judged")

// Line is one line of a history after the header: an operation, a mark or a bound. All calls and returns up to the time of
// a mark are on lines before the mark.
type Line struct {
	Op    Op
	Mark  bool
	Bound bool          // no operation on a later line was called before the time At; Open adds bounds to a file without marks
	At    time.Duration // for a mark: time up to which the history is complete
	Stall time.Duration // if the field Mark is true: longest pause of the lockbench process since the previous mark
}

// Format is a file format of histories, in addition to JSON lines.
type Format struct {
	// Detect reports whether the input is in this format, without consuming any input.
	Detect func(*bufio.Reader) bool
	// Read reads the header into the Reader. It returns a function that reads the next line.
	Read func(*Reader, *bufio.Reader) (next func() (Line, error), err error)
}

// Reader reads a history line by line. The input may be compressed with zstd.
type Reader struct {
	Header   Header
	Warnings []string // problems that do not prevent reading, such as a truncated last line

	in     *bufio.Reader
	closer []func()
	keys   map[string]string
	line   int
	offset int64
	begun  bool                 // whether Next has returned the mark at time 0
	bounds *bounds              // nil: none are added
	read   func() (Line, error) // reads a line in another format; nil for JSON lines
}

// Open opens a history file. The file contains JSON lines, or has one of the formats in others. If it is a regular file of JSON
// lines without marks, Open reads it once to find bounds, so that Replay does not keep the whole history in memory.
func Open(path string, others ...Format) (*Reader, error) {
	r, err := open(path, others...)
	if err == nil && r.read == nil && !r.Header.Marks {
		r.bounds = boundsOf(path)
	}
	return r, err
}

func open(path string, others ...Format) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := NewReader(f, others...)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.closer = append(r.closer, func() { f.Close() })
	return r, nil
}

// NewReader reads the header of a history and returns a Reader for the lines. Callers must call Close to free memory.
func NewReader(in io.Reader, others ...Format) (*Reader, error) {
	buffered := bufio.NewReaderSize(in, 1<<16)
	r := &Reader{in: buffered, keys: map[string]string{}}
	if magic, _ := buffered.Peek(4); bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		z, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
		if err != nil {
			return nil, err
		}
		r.closer = append(r.closer, z.Close)
		r.in = bufio.NewReaderSize(z, 1<<16)
	}
	var err error
	if i := slices.IndexFunc(others, func(f Format) bool { return f.Detect(r.in) }); i >= 0 {
		r.read, err = others[i].Read(r, r.in)
	} else {
		var text []byte
		if text, err = r.next(); err == nil || err == io.EOF {
			if headless := r.SetHeader(text); headless != nil && err == io.EOF && (r.in != buffered || bytes.HasPrefix(text, []byte(`{"lockbench"`))) {
				err = ErrTruncated
			} else {
				err = headless
			}
		}
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// SetHeader sets the header of the Reader. text is the header in JSON.
func (r *Reader) SetHeader(text []byte) error {
	// Check the version before the fields, because a newer version may have other fields.
	var v struct {
		Version int `json:"lockbench"`
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return fmt.Errorf(`line 1 is not a history's header, such as {"lockbench":%d}: %w`, Version, err)
	}
	switch {
	case v.Version == 0:
		return fmt.Errorf(`the first line is not a history's header: it needs "lockbench":%d`, Version)
	case v.Version > Version:
		return fmt.Errorf("the history has format version %d, this lockbench reads up to version %d: use a newer lockbench", v.Version, Version)
	case v.Version < 0:
		return fmt.Errorf("the history has format version %d: there is no such version", v.Version)
	}
	var h struct {
		Header
		Claims []Expectation `json:"claims"` // name that format version 1 used for the JSON field "expectations"
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&h); err != nil {
		return fmt.Errorf("line 1 (the header): %w", err)
	}
	r.Header = h.Header
	r.Header.Expectations = append(r.Header.Expectations, h.Claims...)
	return nil
}

// Close closes the file and frees the decompressor's memory.
func (r *Reader) Close() {
	for _, f := range r.closer {
		f()
	}
	r.closer = nil
}

// Next returns the next line, or io.EOF at the end. A truncated last line is only a warning. Any other malformed line
// is an error that states the line number. If the header announces marks, Next first returns a mark at time 0. A mark
// states that the history is complete up to its time. Replay omits all operations called after the last mark. In a file
// without marks, these are all operations.
func (r *Reader) Next() (Line, error) {
	if !r.begun && r.Header.Marks {
		r.begun = true
		return Line{Op: Op{Return: StillOpen}, Mark: true}, nil
	}
	if at, due := r.bounds.next(); due {
		return Line{Op: Op{Return: StillOpen}, Bound: true, At: at}, nil
	}
	if r.read != nil {
		return r.read()
	}
	for {
		start := r.offset
		text, err := r.next()
		torn := err == io.EOF && len(text) > 0 // the last line has no newline, so it may be truncated
		if err != nil && !torn {
			return Line{}, err
		}
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue // skip blank lines
		}
		line, err := r.parse(text)
		switch {
		case err == nil:
			return line, nil
		case torn:
			r.Warnf("the file ends within line %d, at byte %d of the text: only the lines before it were read", r.line, start)
			return Line{}, io.EOF
		}
		return Line{}, fmt.Errorf("line %d: %w", r.line, err)
	}
}

// Warnf adds a warning, formatted like fmt.Sprintf.
func (r *Reader) Warnf(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// next returns the next line without its newline. At the end of the file it returns the remaining bytes and io.EOF.
func (r *Reader) next() ([]byte, error) {
	text, err := r.in.ReadSlice('\n')
	r.line++
	if err == bufio.ErrBufferFull {
		text = bytes.Clone(text)
	}
	for err == bufio.ErrBufferFull && len(text) <= maxLine {
		var more []byte
		more, err = r.in.ReadSlice('\n')
		text = append(text, more...)
	}
	r.offset += int64(len(text))
	switch {
	case err == bufio.ErrBufferFull:
		return nil, fmt.Errorf("line %d (byte %d of the text): longer than %d bytes", r.line, r.offset-int64(len(text)), maxLine)
	case err == nil:
		return text[:len(text)-1], nil
	case errors.Is(err, io.ErrUnexpectedEOF): // the compressed file is truncated, because the recording process was killed
		if len(text) == 0 {
			r.Warnf("the compressed file ends within a block, after byte %d of the text: only the lines before it were read", r.offset)
		}
		return text, io.EOF
	case err != io.EOF:
		return nil, fmt.Errorf("line %d (byte %d of the text): %w", r.line, r.offset, err)
	}
	return text, err
}

func (r *Reader) parse(text []byte) (Line, error) {
	line := Line{Op: Op{Return: StillOpen}}
	seen := fields(0)
	err := scanObject(text, func(name, value []byte) error {
		f, err := r.parseField(&line, name, value)
		switch {
		case f == 0:
			return fmt.Errorf("unknown field %q", name)
		case seen&f != 0:
			return fmt.Errorf("field %q occurs twice", name)
		case err != nil:
			return fmt.Errorf("field %q: %w", name, err)
		}
		seen |= f
		return nil
	})
	if err != nil {
		return line, err
	}
	line.Mark = seen&fMark != 0
	if seen&fDue == 0 {
		line.Op.Due = line.Op.Call
	}
	return line, checkLine(&line, seen)
}

func checkLine(l *Line, seen fields) error {
	op := &l.Op
	switch {
	case l.Mark && seen&^(fMark|fStall) != 0:
		return errors.New("a mark has no other fields")
	case l.Mark:
		return nil
	case seen&fStall != 0:
		return errors.New(`"stall" belongs to a mark`)
	case op.Kind == 0:
		return errors.New(`an operation needs a "kind"`)
	case seen&fCall == 0:
		return errors.New(`an operation needs a "call"`)
	case seen&fReturn != 0 && op.Return < op.Call:
		return fmt.Errorf("it returns at %d, before its call at %d", op.Return, op.Call)
	case seen&fFault != 0 && op.Kind != Inject && op.Kind != Heal:
		return fmt.Errorf(`"fault" belongs to an inject or a heal, not to kind %s`, op.Kind)
	case seen&fWait != 0 && op.Kind != Acquire:
		return fmt.Errorf(`"wait" belongs to an acquire, not to kind %s`, op.Kind)
	case seen&fReturn == 0 && op.Kind.SelfStarted() && op.Kind != Inject:
		return fmt.Errorf(`a %s needs a "return"`, op.Kind)
	case seen&fReturn == 0 && op.Outcome != Unknown:
		return fmt.Errorf(`outcome %s without a "return"`, op.Outcome)
	case op.Due > op.Call:
		return fmt.Errorf("it was due at %d, after its call at %d", op.Due, op.Call)
	}
	return nil
}

type fields uint32

const (
	fClient fields = 1 << iota
	fLife
	fHold
	fKind
	fOutcome
	fKey
	fFault
	fDepth
	fDue
	fCall
	fReturn
	fWait
	fSentAfter
	fValidity
	fFence
	fValue
	fError
	fMark
	fStall
)

// parseField parses one field and stores it in the line l. It returns the field's bit, or 0 for an unknown field.
func (r *Reader) parseField(l *Line, name, value []byte) (fields, error) {
	op := &l.Op
	switch string(name) {
	case "client":
		return fClient, setInt(value, int64(Harness), math.MaxInt32, &op.Client)
	case "life":
		return fLife, setInt(value, 0, math.MaxInt32, &op.Life)
	case "hold":
		return fHold, setInt(value, 0, math.MaxInt64, &op.Hold)
	case "kind":
		return fKind, parseName(value, &op.Kind)
	case "outcome":
		return fOutcome, parseName(value, &op.Outcome)
	case "key":
		return fKey, r.intern(value, &op.Key)
	case "fault":
		return fFault, r.intern(value, &op.Fault)
	case "depth":
		return fDepth, setInt(value, 0, math.MaxUint16, &op.Depth)
	case "due":
		return fDue, setTime(value, &op.Due)
	case "call":
		return fCall, setTime(value, &op.Call)
	case "return":
		return fReturn, setTime(value, &op.Return)
	case "wait":
		return fWait, setWait(value, &op.Wait)
	case "sent_after":
		return fSentAfter, setTime(value, &op.SentAfter)
	case "validity":
		if string(value) == `"unbounded"` {
			op.Validity = Unbounded
			return fValidity, nil
		}
		return fValidity, setTime(value, &op.Validity)
	case "fence":
		return fFence, setInt(value, math.MinInt64, math.MaxInt64, &op.Fence)
	case "value":
		return fValue, setInt(value, math.MinInt64, math.MaxInt64, &op.Value)
	case "error":
		return fError, r.intern(value, &op.Error)
	case "mark":
		return fMark, setTime(value, &l.At)
	case "stall":
		return fStall, setTime(value, &l.Stall)
	}
	return 0, nil
}

// intern parses a JSON string. Equal strings share memory, because a history repeats a few keys. The number of shared
// strings is limited.
func (r *Reader) intern(value []byte, into *string) error {
	if s, ok := r.keys[string(value)]; ok {
		*into = s
		return nil
	}
	if err := json.Unmarshal(value, into); err != nil {
		return errors.New("want a string")
	}
	if len(r.keys) < 1<<16 {
		r.keys[string(value)] = *into
	}
	return nil
}

func setInt[T int32 | int64 | uint16](value []byte, low, high int64, into *T) error {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || n < low || n > high {
		return fmt.Errorf("want a whole number from %d to %d, got %s", low, high, value)
	}
	*into = T(n)
	return nil
}

func parseName(value []byte, into interface{ UnmarshalText([]byte) error }) error {
	if len(value) < 2 || value[0] != '"' {
		return fmt.Errorf("want a string, got %s", value)
	}
	return into.UnmarshalText(value[1 : len(value)-1])
}

// UnmarshalJSON parses an operation in the format of MarshalJSON, but allows whitespace.
func (op *Op) UnmarshalJSON(text []byte) error {
	var flat bytes.Buffer
	if err := json.Compact(&flat, text); err != nil {
		return err
	}
	r := Reader{keys: map[string]string{}}
	line, err := r.parse(flat.Bytes())
	*op = line.Op
	return err
}
