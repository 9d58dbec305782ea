package children

import (
	"strings"
	"sync"
	"time"
)

// TailSize is the number of bytes of a process's output that an error message includes at most.
const TailSize = 2000

// outputTimeout is the maximum time to wait for the output of an ended process. A descendant may still have the output
// open.
const outputTimeout = time.Second

// Tail is a writer that keeps the last TailSize bytes. The output of a child is complete when its Done channel is
// closed.
type Tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *Tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	t.text = t.text[max(0, len(t.text)-TailSize):]
	return len(text), nil
}

// String returns the text as a suffix for an error message, or "" if nothing was written.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.text))
	if text == "" {
		return ""
	}
	return "; output:\n" + text
}
