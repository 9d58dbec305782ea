package workers

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// logTail is how much of a worker's log goes into an error.
const logTail = 2000

// tail is the end of what a worker wrote to its standard error. It is shown when something goes wrong.
type tail struct {
	ended chan struct{} // closed when nobody can write any more
	mu    sync.Mutex
	text  []byte
}

// saidWithin bounds the wait for the last words of a process that has ended.
const saidWithin = time.Second

func newTail() *tail { return &tail{ended: make(chan struct{})} }

// pipe gives the end for the worker to write to. What reads the other ends with the last who has it open.
func (t *tail) pipe() (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(t.ended)
		defer r.Close()
		_, _ = io.Copy(t, r)
	}()
	return w, nil
}

func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	t.text = t.text[max(0, len(t.text)-logTail):]
	return len(text), nil
}

// said is the log as a part of an error; nothing where there is none.
func (t *tail) said() string {
	timer := time.NewTimer(saidWithin)
	defer timer.Stop()
	select {
	case <-t.ended:
	case <-timer.C:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.text))
	if text == "" {
		return ""
	}
	return fmt.Sprintf("; it said:\n%s", text)
}
