package children

import (
	"strings"
	"sync"
	"time"
)

// TailSize is how many bytes of what a process wrote go into an error.
const TailSize = 2000

// outputWithin bounds the wait for the output of a process that has ended, which another may have open.
const outputWithin = time.Second

// Tail holds the end of what is written to it: the output of a child, whole when the child is Done.
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

// String returns it as the end of an error; "": nothing was written.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.text))
	if text == "" {
		return ""
	}
	return "; it said:\n" + text
}
