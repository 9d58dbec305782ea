//go:build ignore

package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	worker "lockbench/impls/worker/go"
)

// term is a candidacy, and the term as the leader that may follow.
type term struct {
	*leaderelection.LeaderElector
	lock *leaseLock
	end  context.CancelFunc
	over chan struct{} // closed when the elector has stopped
	gone atomic.Bool   // whether the term was lost or released
}

func (t *term) lead(life context.Context) {
	defer close(t.over)
	t.Run(life)
}

// release ends the term and returns the outcome, which the library does not report.
func release(_ context.Context, _ client, h worker.Hold[*term]) error {
	t := h.Handle
	gone := t.gone.Swap(true)
	t.end()
	select {
	case <-t.over:
	case <-time.After(5 * time.Second):
		return errors.New("the elector has not stopped")
	}
	switch leader := t.GetLeader(); {
	case leader == t.lock.Identity() && !t.lock.refused: // users do not learn of a refusal, so it counts as a release
		return errors.New("the lease was not released")
	case leader != "" && leader != t.lock.Identity() || gone:
		return worker.ErrNotHeld
	}
	return nil
}
