package waiting

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"lockbench/impls"
)

// Polling waits for a lock without notification by asking again and again.
//
// The parameter "wait" selects how: "spin" asks again at once, as articles do; "backoff" pauses for a random time that
// doubles with each refusal, from FirstPause to LongestPause, so that waiters do not ask in step.
type Polling struct {
	Spin  bool
	rand  *rand.Rand
	tally *impls.Tally
}

// NewPolling returns the polling that the parameters of an Env select.
func NewPolling(env impls.Env) Polling {
	return Polling{Spin: env.Params["wait"] != "backoff", rand: env.Rand, tally: env.Tally}
}

// Poll attempts until the lock is granted, or the request's wait or the context is over. It returns ErrBusy if the last
// answer was read and was no; if the context ends with a command in flight, it returns the attempt's own error, which is
// indeterminate.
func (p Polling) Poll(ctx context.Context, req impls.Request, attempt func(context.Context) (impls.Grant, error)) (impls.Hold, error) {
	start := time.Now()
	patient, ctx, done := Patience(ctx, req.Wait)
	defer done()
	for n := 0; ; n++ {
		sent := time.Since(start)
		p.tally.Attempt()
		grant, err := attempt(ctx)
		if err == nil {
			grant.Key, grant.Owner, grant.SentAfter = req.Key, req.Owner, sent
			return impls.Hold{Grant: grant}, nil
		}
		if !errors.Is(err, impls.ErrBusy) || req.Wait == 0 || !p.pause(patient, n) {
			return impls.Hold{}, err
		}
	}
}

// pause waits before the attempt after the nth refusal. It reports false if the context is over.
func (p Polling) pause(ctx context.Context, n int) bool {
	if p.Spin {
		return ctx.Err() == nil
	}
	d := BackOff(n)
	return Pause(ctx, d/2+time.Duration(p.rand.Int64N(int64(d/2)+1)))
}

// BackOff returns the longest pause after the nth refusal: it doubles from FirstPause to LongestPause.
func BackOff(n int) time.Duration { return min(FirstPause<<min(n, 16), LongestPause) }

// Over reports whether a channel that is only ever closed is.
func Over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Pause waits for d, or until the context is over, which it reports as false.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
