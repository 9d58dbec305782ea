package workers

import (
	"errors"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/workloads"
)

// TestCancelAfterTheWait checks that an acquire is cancelled if the worker has not answered soon after the end of the
// wait. A worker without this capability must get no cancel request.
func TestCancelAfterTheWait(t *testing.T) {
	const wait = 50 * time.Millisecond
	req := request("until cancelled")
	req.Wait = wait
	p := begin(t, generous(), "cancels", nil)
	began := time.Now()
	if _, err := p.Lock().Acquire(t.Context(), req); !errors.Is(err, impls.ErrBusy) {
		t.Errorf("a worker that can cancel: %v", err)
	}
	if took := time.Since(began); took < wait+cancelGrace {
		t.Errorf("cancelled after %v, before a library with a timeout of its own can answer", took)
	}
	b := generous()
	b.answer = 2 * cancelGrace
	p = begin(t, b, "scripted", nil)
	if _, err := p.Lock().Acquire(t.Context(), req); !errors.Is(err, workloads.ErrGone) {
		t.Errorf("a worker that cannot cancel was asked to: %v", err)
	}
}
