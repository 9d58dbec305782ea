// Package broken contains locks that each have one deliberate defect. Defects of the same kind were found in libraries.
// The locks show that the judge detects these defects. Each lock is like set-px-lua of package redis, with one change.
// All returns the locks. A lock of this package runs only if it is selected by name.
package broken

import (
	"context"
	"time"

	"lockbench/impls"
	"lockbench/impls/redis"
	"lockbench/impls/waiting"
)

// All returns the locks of this package.
func All() []impls.Impl {
	return []impls.Impl{falseRefusal(), sleepingWaiter(), threeTries(), slowRelease(), lateAcquire(), silentWatchdog(), shortExpire()}
}

// wrapSetPX returns a known-broken lock that wraps set-px-lua.
func wrapSetPX(name, doc string, wrap func(impls.Lock) impls.Lock, expected []impls.Expectation) impls.Impl {
	return impls.Impl{
		Name: name, Doc: doc, Control: true, Store: "redis", Deployment: "single", BackOff: waiting.LongestPause, Expect: expected,
		Open: func(env impls.Env) (impls.Lock, error) {
			lock, err := redis.SetPXLua().Open(env)
			if err != nil {
				return nil, err
			}
			return wrap(lock), nil
		},
	}
}

// try requests the lock once. start is the time at which the acquire was called.
func try(ctx context.Context, lock impls.Lock, req impls.Request, start time.Time) (impls.Hold, error) {
	sent := time.Since(start)
	req.Wait = 0
	hold, err := lock.Acquire(ctx, req)
	hold.SentAfter += sent
	return hold, err
}
