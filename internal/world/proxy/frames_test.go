package proxy

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scanned holds the frames and the forwarded bytes of a scanned input.
type scanned struct {
	Frames []string // kind, element count, elements and end offset of each frame
	Passed []byte
	Raw    bool
}

// scan passes an input to a scanner in chunks. The parameter sizes holds the lengths of the chunks. It is repeated until
// the input ends.
func scan(requests bool, input []byte, sizes ...int) scanned {
	s := scanner{requests: requests}
	var out scanned
	for i := 0; len(input) > 0; i++ {
		n := min(len(input), max(1, sizes[i%len(sizes)]))
		for p := range s.pieces(input[:n]) {
			out.Passed = append(out.Passed, p.bytes...)
			if f := p.frame; p.whole {
				out.Frames = append(out.Frames, fmt.Sprintf("%q %d %q to %d", f.kind, f.count, f.args, len(out.Passed)))
			}
		}
		input = input[n:]
	}
	out.Passed = append(out.Passed, s.withHeld(nil)...)
	out.Raw = s.raw
	return out
}

func TestRequests(t *testing.T) {
	long := strings.Repeat("x", maxArg+1)
	for _, c := range []struct {
		name, input string
		frames      []string
		raw         bool
	}{
		{"none", "", nil, false},
		{"one", "*1\r\n$4\r\nPING\r\n", []string{`'*' 1 ["PING"] to 14`}, false},
		{"two and half of one", "*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$4\r\nPI",
			[]string{`'*' 1 ["PING"] to 14`, `'*' 2 ["GET" "k"] to 34`}, false},
		{"line ends in a string", "*2\r\n$4\r\nECHO\r\n$4\r\n\r\n\r\n\r\n", []string{`'*' 2 ["ECHO" "\r\n\r\n"] to 24`}, false},
		{"an empty string", "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", []string{`'*' 2 ["ECHO" ""] to 20`}, false},
		{"a long argument", "*1\r\n$65\r\n" + long + "\r\n", []string{`'*' 1 ["` + long[:maxArg] + `"] to 76`}, false},
		{"inline", "set k  v\r\nPING\n", []string{`'\x00' 3 ["set" "k" "v"] to 10`, `'\x00' 1 ["PING"] to 15`}, false},
		{"nothing to answer", "\r\n*0\r\n*-1\r\n", []string{`'\x00' 0 [] to 2`, `'*' 0 [] to 6`, `'*' 0 [] to 11`}, false},
		{"no string in the array", "*1\r\n:1\r\n*1\r\n$4\r\nPING\r\n", nil, true},
		{"a null in the array", "*1\r\n$-1\r\n", nil, true},
		{"TLS", "\x16\x03\x01\x02\x00\x01", nil, true},
		{"after something good", "PING\r\n\x00\r\nPING\r\n", []string{`'\x00' 1 ["PING"] to 6`}, true},
		{"no number", "*x\r\n", nil, true},
		{"a number too large", "*99999999999999999999\r\n", nil, true},
		{"no line end after a string", "*1\r\n$4\r\nPINGPING\r\n", nil, true},
		{"an endless line", strings.Repeat("x", maxLine+1) + "\r\n", nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := scanned{c.frames, []byte(c.input), c.raw}
			expect(t, true, want, c.input)
		})
	}
}

func TestReplies(t *testing.T) {
	for _, c := range []struct {
		name, input string
		frames      []string
		raw         bool
	}{
		{"simple", "+OK\r\n-ERR no\r\n:-7\r\n", []string{`'+' 0 [] to 5`, `'-' 0 [] to 14`, `':' 0 [] to 19`}, false},
		{"strings", "$0\r\n\r\n$-1\r\n$2\r\n\r\n\r\n", []string{`'$' 0 [] to 6`, `'$' 0 [] to 11`, `'$' 0 [] to 19`}, false},
		{"null array", "*-1\r\n*0\r\n", []string{`'*' 0 [] to 5`, `'*' 0 [] to 9`}, false},
		{"nested", "*3\r\n*2\r\n:1\r\n*0\r\n$1\r\nx\r\n*1\r\n*1\r\n+y\r\n", []string{`'*' 3 ["x"] to 35`}, false},
		{"message", "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n", []string{`'*' 3 ["message" "c" "hi"] to 32`}, false},
		{"confirmation", "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n", []string{`'*' 3 ["subscribe" "c" "1"] to 30`}, false},
		{"RESP3", "_\r\n#t\r\n,1.5\r\n(123\r\n=7\r\ntxt:abc\r\n!3\r\nERR\r\n", []string{`'_' 0 [] to 3`, `'#' 0 [] to 7`,
			`',' 0 [] to 13`, `'(' 0 [] to 19`, `'=' 0 [] to 32`, `'!' 0 [] to 41`}, false},
		{"map and set", "%1\r\n+a\r\n*1\r\n:1\r\n~1\r\n+a\r\n", []string{`'%' 2 ["a"] to 16`, `'~' 1 ["a"] to 24`}, false},
		{"push", ">2\r\n+invalidate\r\n*1\r\n+k\r\n", []string{`'>' 2 ["invalidate"] to 25`}, false},
		{"attribute", "|1\r\n+a\r\n+b\r\n+OK\r\n", []string{`'+' 0 [] to 17`}, false},
		{"attribute inside", "*2\r\n|1\r\n+a\r\n+b\r\n:1\r\n:2\r\n", []string{`'*' 2 ["1" "2"] to 24`}, false},
		{"empty attribute", "|0\r\n+OK\r\n", []string{`'+' 0 [] to 9`}, false},
		{"no reply", "HTTP/1.1 400\r\n\r\n", nil, true},
		{"a bare line feed", "+OK\n", nil, true},
		{"too deep", strings.Repeat("*1\r\n", maxDepth+1) + ":1\r\n", nil, true},
		{"a dump", "+OK\r\n$3\r\nRDB*1\r\n", []string{`'+' 0 [] to 5`}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect(t, false, scanned{c.frames, []byte(c.input), c.raw}, c.input)
		})
	}
}

// expect checks the result of scanning an input. The result must not depend on how the input is split into chunks.
func expect(t *testing.T, requests bool, want scanned, input string) {
	t.Helper()
	if len(want.Passed) == 0 {
		want.Passed = nil
	}
	for _, sizes := range [][]int{{1 << 30}, {1}, {2}, {3, 1}, {7}} {
		if diff := cmp.Diff(want, scan(requests, []byte(input), sizes...)); diff != "" {
			t.Errorf("cut after %v (-want +got):\n%s", sizes, diff)
		}
	}
}

// TestLongFrame checks that most of a long frame is forwarded before its end arrives.
func TestLongFrame(t *testing.T) {
	input := []byte("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5000000\r\n" + strings.Repeat("v", 5_000_000) + "\r\n")
	s := scanner{requests: true}
	passed, frames := 0, 0
	for chunk := range slices.Chunk(input, readSize) {
		for p := range s.pieces(chunk) {
			passed += len(p.bytes)
			if !p.whole {
				continue
			}
			frames++
			if !p.frame.begun || p.frame.args[0] != "SET" || len(p.bytes) > readSize {
				t.Errorf("%+v ends in %d bytes", p.frame, len(p.bytes))
			}
		}
		if cap(s.held) > 2*maxHeld {
			t.Fatalf("%d bytes are held", cap(s.held))
		}
	}
	if passed != len(input) || frames != 1 {
		t.Errorf("%d of %d bytes, %d frames", passed, len(input), frames)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("*2\r\n$3\r\nGET\r\n$1\r\nk\r\nPING\r\n*0\r\n*1\r\n$4\r\nQUIT\r\n"), []byte{1}, true)
	f.Add([]byte("+OK\r\n:1\r\n$2\r\nhi\r\n*2\r\n$-1\r\n*1\r\n,1.5\r\n|1\r\n+a\r\n+b\r\n%1\r\n_\r\n#t\r\n"), []byte{3, 5}, false)
	f.Add([]byte(">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n=7\r\ntxt:abc\r\n!3\r\nERR\r\n~0\r\n(12\r\n"), []byte{2}, false)
	f.Add([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n\x00\xff*"), []byte{4, 1}, true)
	f.Fuzz(func(t *testing.T, input, cuts []byte, requests bool) {
		sizes := []int{1}
		for _, c := range cuts {
			sizes = append(sizes, int(c))
		}
		whole := scan(requests, input, max(1, len(input)))
		if !bytes.Equal(whole.Passed, input) {
			t.Fatalf("passed on is %q", whole.Passed)
		}
		if diff := cmp.Diff(whole, scan(requests, input, sizes...)); diff != "" {
			t.Fatalf("the result depends on the chunks (-whole +chunks):\n%s", diff)
		}
	})
}
