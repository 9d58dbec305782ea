package worker

import (
	"os"
	"strings"
	"testing"
)

// TestPage checks that every line in the protocol's documentation is valid, and that each reply there answers a request.
func TestPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/worker-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	requests, replies := 0, 0
	asked := map[int64]bool{}
	for n, line := range strings.Split(string(text), "\n") {
		var err error
		if said, ok := strings.CutPrefix(line, "    > "); ok {
			requests++
			err = strictlyRequest([]byte(said), asked)
		} else if said, ok := strings.CutPrefix(line, "    < "); ok {
			replies++
			err = strictlyReply(t, []byte(said), asked)
		} else if strings.HasPrefix(strings.TrimSpace(line), "{") {
			t.Errorf("line %d: neither a request nor a reply: %s", n+1, line)
		}
		if err != nil {
			t.Errorf("line %d: %v", n+1, err)
		}
	}
	if requests < 20 || replies < 20 {
		t.Errorf("%d requests and %d replies were found: the page or this test is wrong", requests, replies)
	}
}

func strictlyRequest(text []byte, asked map[int64]bool) error {
	if strings.Contains(string(text), `"lockbench_worker"`) {
		clear(asked)
		return strictly(text, &Open{})
	}
	var r Request
	err := strictly(text, &r)
	asked[r.ID] = true
	return err
}

func strictlyReply(t *testing.T, text []byte, asked map[int64]bool) error {
	if strings.Contains(string(text), `"lockbench_worker"`) {
		r, err := ReadReady(text)
		if r.Error != "" {
			return nil // a worker that cannot start reports an error in its first line
		}
		return err
	}
	l, err := ReadLine(text)
	if err == nil && !asked[l.ID+l.Lost+l.Renewed] {
		t.Errorf("%s: nobody asked", text)
	}
	return err
}
