package broken

import (
	"context"
	"errors"
	"time"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// threeTries is a lock that refuses an acquire after three tries, even if the timeout of the acquire is much longer.
func threeTries() impls.Impl {
	return wrapSetPX("broken-three-tries", "an acquire stops after three tries, whatever its timeout",
		func(lock impls.Lock) impls.Lock { return impatient{lock} },
		expect.Violated("an acquire is refused after three tries", "wait-honoured"))
}

type impatient struct{ impls.Lock }

func (l impatient) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	start := time.Now()
	for n := 1; ; n++ {
		hold, err := try(ctx, l.Lock, req, start)
		if !errors.Is(err, impls.ErrBusy) || req.Wait == 0 || n == 3 || !waiting.Pause(ctx, waiting.FirstPause) {
			return hold, err
		}
	}
}
