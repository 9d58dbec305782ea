package sim

import (
	"bufio"
	"bytes"
	"slices"
	"testing"

	"github.com/alicebob/miniredis/v2/server"
)

// TestCommand checks that commands are parsed one by one. The bytes of an incomplete command must be kept.
func TestCommand(t *testing.T) {
	const get, set = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\n\r\n$1\r\n"
	args, rest, whole := parseCommand([]byte(get + set))
	if !whole || !slices.Equal(args, []string{"GET", "k"}) || string(rest) != set {
		t.Errorf("%q, then %q, %t", args, rest, whole)
	}
	args, rest, whole = parseCommand([]byte(set))
	if !whole || !slices.Equal(args, []string{"SET", "k", "\r\n$1"}) || len(rest) > 0 {
		t.Errorf("%q, then %q, %t", args, rest, whole)
	}
	for n := range len(set) {
		if args, rest, whole := parseCommand([]byte(set[:n])); whole || string(rest) != set[:n] {
			t.Errorf("%q is incomplete, and is read as %q", set[:n], args)
		}
	}
	for _, strange := range []string{"PING\r\n", "*0\r\n", "*-1\r\n", "*x\r\n", "*1\r\n:5\r\n", "*1\r\n$-1\r\n", "*99999999999\r\n", "\r\n"} {
		if args, _, whole := parseCommand([]byte(strange)); !whole || args != nil {
			t.Errorf("%q is read as %q, %t", strange, args, whole)
		}
	}
}

// FuzzCommand compares parseCommand with the parser of the emulator: both must read the same words, or none.
func FuzzCommand(f *testing.F) {
	for _, seed := range []string{"*1\r\n$4\r\nPING\r\n", "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n", "*1\r\n$0\r\n\r\n", "*x\r\n", "*1\r\n:5\r\n", "*2\r\n$3\r\nGET"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		args, rest, whole := parseCommand(b)
		if len(args) == 0 {
			return
		}
		read := bytes.NewReader(b)
		lines := bufio.NewReader(read)
		said, err := server.ParseReply(lines)
		words, _ := said.([]any)
		if err != nil || !whole || len(words) != len(args) || read.Len()+lines.Buffered() != len(rest) {
			t.Fatalf("%q is read as %q, and %d bytes are left; the emulator reads %q, %v", b, args, len(rest), said, err)
		}
		for i, word := range words {
			if word != args[i] {
				t.Errorf("word %d of %q is read as %q", i, b, args[i])
			}
		}
	})
}
