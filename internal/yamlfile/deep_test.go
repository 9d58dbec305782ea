package yamlfile

import (
	"strings"
	"testing"
	"time"
)

// TestDeep checks that a file with the deepest possible nesting is rejected quickly.
func TestDeep(t *testing.T) {
	for _, open := range []string{"[", "{a: ", "- ", "? ", "&a [", "\"", "a:\n  ", "!!x "} {
		start := time.Now()
		text := strings.Repeat(open, MaxBytes/len(open)/8)
		if _, err := Read("f.yaml", "thing", []byte("name: a\nplaced: "+text), keysOfEveryForm(new(thing))); err == nil {
			t.Errorf("%q is taken", open)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%q took %v", open, took)
		}
	}
}
