package workers

import (
	"strings"
	"testing"
)

// TestAnswersTwice checks a process that answers a request twice. The process must fail with an error that names the
// request.
func TestAnswersTwice(t *testing.T) {
	p := begin(t, generous(), "scripted", nil)
	_, _ = p.Lock().Acquire(t.Context(), request("twice")) // the result is ignored; it depends on when the second answer is read
	checkExited(t, p)
	if err := p.Failed(); err == nil || !strings.Contains(err.Error(), "answered request 1 twice") || !strings.Contains(err.Error(), "the worker scripted") {
		t.Errorf("got %v", err)
	}
}
