package impls

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"
)

// polling is how a lock without notification waits: it asks again and again.
//
// The parameter "wait" chooses: "spin" asks again at once, as the articles do; "backoff" pauses for a random
// time that doubles with each refusal, from 1 ms to longestPause, so that waiters do not come in step.
type polling struct {
	spin  bool
	rand  *rand.Rand
	tally *Tally
}

const (
	firstPause   = time.Millisecond
	longestPause = 50 * time.Millisecond
)

func newPolling(env Env) (polling, error) {
	if err := CheckParams(env.Params); err != nil {
		return polling{}, err
	}
	return polling{spin: env.Params["wait"] != "backoff", rand: env.Rand, tally: env.Tally}, nil
}

// CheckParams tells, in one sentence, what is wrong with the parameters of an Env.
func CheckParams(params map[string]string) error {
	for name, value := range params {
		switch name {
		case "wait":
			if value != "spin" && value != "backoff" {
				return fmt.Errorf("lock parameter wait=%s: want spin or backoff", value)
			}
		case "segments":
			if n, err := strconv.Atoi(value); err != nil || n < 1 || n > maxSegments {
				return fmt.Errorf("lock parameter segments=%s: want a number from 1 to %d", value, maxSegments)
			}
		default:
			return fmt.Errorf("unknown lock parameter %q: there are wait (spin or backoff) and segments (a number)", name)
		}
	}
	return nil
}

// answerGrace is how long a command may still take when a waiter's patience has ended meanwhile: one that is cut
// off is indeterminate, and nobody knows what became of it.
const answerGrace = 50 * time.Millisecond

// acquire attempts until the lock is granted, or the request's wait or the context is over. It answers
// ErrBusy where the last answer was read and was no; a context that ends with a command in flight is the
// attempt's own error, and indeterminate.
func (p polling) acquire(ctx context.Context, req Request, attempt func(context.Context) (Grant, error)) (Hold, error) {
	start := time.Now()
	patient, ctx, done := patiently(ctx, req.Wait)
	defer done()
	for n := 0; ; n++ {
		sent := time.Since(start)
		p.tally.Attempt()
		grant, err := attempt(ctx)
		if err == nil {
			grant.SentAfter = sent
			return Hold{Grant: grant}, nil
		}
		if !errors.Is(err, ErrBusy) || req.Wait == 0 || !p.pause(patient, n) {
			return Hold{}, err
		}
	}
}

// patiently is for waiters: it ends when one is to give up, and the context that it comes with a little later, so that
// the answer to what is under way is still read.
func patiently(ctx context.Context, wait time.Duration) (patient, limit context.Context, done func()) {
	if wait <= 0 {
		return ctx, ctx, func() {}
	}
	patient, giveUp := context.WithTimeout(ctx, wait)
	limit, cancel := context.WithTimeout(ctx, wait+answerGrace)
	return patient, limit, func() { giveUp(); cancel() }
}

// pause waits before the attempt after the nth refusal; false means that the context is over.
func (p polling) pause(ctx context.Context, n int) bool {
	if p.spin {
		return ctx.Err() == nil
	}
	d := min(firstPause<<min(n, 16), longestPause)
	timer := time.NewTimer(d/2 + time.Duration(p.rand.Int64N(int64(d/2)+1)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// NewRand returns seeded randomness that several clients may draw from at once: the reproducible source
// of an Env's tokens and jitter.
func NewRand(seed, stream uint64) *rand.Rand {
	return rand.New(&lockedSource{src: rand.NewPCG(seed, stream)})
}

type lockedSource struct {
	mu  sync.Mutex
	src rand.Source
}

func (s *lockedSource) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.src.Uint64()
}

// token is 128 random bits: nobody else's.
func token(r *rand.Rand) string { return fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64()) }
