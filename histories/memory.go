package histories

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Memory is a history that is kept in memory: what a file would hold, for those who record and judge so many that
// encoding and decoding would be most of the work. It is read when its recorder was closed.
type Memory struct {
	Header Header
	Lines  []Line // as they would stand in a file
}

// memoryCapacity is how many returned operations a client's log holds at first: it grows, since nobody writes a file
// meanwhile that it would have to wait for.
const memoryCapacity = 16

// NewMemory returns a recorder, and what it records into. There is one log per client, and one for the harness.
func NewMemory(h Header, clients int) (*Recorder, *Memory) {
	m := &Memory{Lines: make([]Line, 0, 256)}
	r, err := newRecorder(m, h, clients, memoryCapacity)
	if err != nil {
		panic(err) // impossible: memory refuses nothing
	}
	r.grows = true
	return r, m
}

var _ sink = (*Memory)(nil)

func (m *Memory) header(h Header) error { m.Header = h; return nil }

func (m *Memory) op(op *Op) error {
	m.Lines = append(m.Lines, Line{Op: *op})
	return nil
}

func (m *Memory) mark(at, stall time.Duration) error {
	m.Lines = append(m.Lines, Line{Op: Op{Return: StillOpen}, Mark: true, At: at, Stall: stall}) // as it is read
	return nil
}

func (*Memory) flush() error { return nil }
func (*Memory) close() error { return nil }

// Source is a source for Replay: the history from its first line on.
func (m *Memory) Source() func() (Line, error) { return Lines(m.Lines) }

// Digest is a hash, 16 hexadecimal digits, of all that was recorded: it differs where anything does.
func (m *Memory) Digest() (string, error) {
	header, err := json.Marshal(m.Header)
	if err != nil {
		return "", fmt.Errorf("the digest of a history: %w", err)
	}
	b := appendText(make([]byte, 0, 64*len(m.Lines)), string(header))
	for i := range m.Lines {
		b = appendLine(b, &m.Lines[i])
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8]), nil
}

// appendLine appends all fields of a line, so that no two lines look alike.
func appendLine(b []byte, l *Line) []byte {
	if l.Mark {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	op := &l.Op
	for _, n := range [...]int64{int64(l.At), int64(l.Stall), int64(op.Client), int64(op.Life), op.Hold, int64(op.Kind), int64(op.Outcome),
		int64(op.Depth), int64(op.Due), int64(op.Call), int64(op.Return), int64(op.SentAfter), int64(op.Validity), op.Fence, op.Value} {
		b = binary.AppendVarint(b, n)
	}
	return appendText(appendText(appendText(b, op.Key), op.Fault), op.Error)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
