package sim

import (
	"slices"
	"testing"
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
