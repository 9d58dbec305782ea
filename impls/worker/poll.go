package worker

import (
	"context"
	"errors"
	"time"

	"lockbench/impls"
)

// Poll waits for a lock that can only be tried: it tries every so often until the request's wait is over or ctx
// ends, and notes when the attempt that won was sent. try asks the store once; impls.ErrBusy says that it was read
// and is definite, any other error ends the waiting.
func Poll(ctx context.Context, r impls.Request, every time.Duration, try func() (impls.Grant, error)) (impls.Hold, error) {
	call := time.Now()
	for {
		sent := time.Since(call)
		g, err := try()
		if !errors.Is(err, impls.ErrBusy) {
			g.SentAfter = sent
			return impls.Hold{Grant: g}, err
		}
		left := every
		if r.Wait >= 0 {
			left = min(every, r.Wait-time.Since(call))
		}
		if left <= 0 {
			return impls.Hold{}, err
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return impls.Hold{}, err // the last answer was read, and it was no
		}
	}
}
