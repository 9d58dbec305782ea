package proxy

import (
	"errors"
	"iter"
	"syscall"
	"testing"
)

// TestReset checks that a reset closes open connections with an error at the client. A second reset must close nothing.
func TestReset(t *testing.T) {
	l := listen(t, serve(t, answering))
	c := dial(t, l.Addr())
	c.say("a\r\n")
	c.hear("+a\r\n")
	if closed := l.Reset(); closed != 1 {
		t.Errorf("%d connections closed, want 1", closed)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read on a closed connection: %v, want a reset", err)
	}
	if closed := l.Reset(); closed != 0 {
		t.Errorf("%d connections closed a second time", closed)
	}
}

// TestPending checks that a command is pending until its reply.
func TestPending(t *testing.T) {
	c := NewConversation()
	for _, step := range []struct {
		side    func([]byte) iter.Seq[Part]
		text    string
		pending bool
	}{
		{c.FromClient, "*1\r\n$4\r\nPING\r\n", true},
		{c.FromClient, "*1\r\n$4\r\nPING\r\n", true},
		{c.FromServer, "+PONG\r\n", true},
		{c.FromServer, "+PONG\r\n", false},
	} {
		for range step.side([]byte(step.text)) {
		}
		if c.Pending() != step.pending {
			t.Errorf("after %q: pending %t", step.text, c.Pending())
		}
	}
}
