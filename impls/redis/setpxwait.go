package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// SetPXWait is the lock set-px-lua with a WAIT after the SET. It grants only if a replica has acknowledged the key. A
// failover can still lose the lock if it promotes another replica.
func SetPXWait() impls.Impl {
	return impls.Impl{
		Name: "set-px-wait", Store: "redis", Deployment: "replica", BackOff: waiting.LongestPause,
		Doc: "set-px-lua, granted only if WAIT confirms a replica",
		Expect: slices.Concat(expect.Answers(), expect.Prompt(),
			expect.Excludes("SET NX is atomic on the primary, and the script deletes only the owner's key"),
			expect.Holds("a key that no replica acknowledged is deleted, and other keys expire", "no-orphan", "progress"),
			expect.Under("failover", expect.Violated("one replica had acknowledged, and the other is promoted", "lease-exclusion", "mutual-exclusion")),
			expect.On("replica", expect.Under("failover", expect.Excludes("the only replica has each key that was granted"))),
			expect.Under("failover-synced", expect.Excludes("the promoted replica has the key")),
			expect.ComparedRelease(), expect.Backed(), expect.PromiseOutlived()),
		Open: openSimple(func(s single) (attempt, release) { return s.setOnReplica, s.compareAndDelete }),
	}
}

// longestWait is the maximum timeout of the Redis command WAIT. A connected replica acknowledges a write within a
// millisecond, so a longer wait is useless.
const longestWait = time.Second

func (s single) setOnReplica(ctx context.Context, req impls.Request) (impls.Grant, error) {
	if err := impls.CheckTTL(req.TTL); err != nil {
		return impls.Grant{}, err
	}
	mine := impls.Token(s.env.Rand)
	// SET and WAIT share a connection, because WAIT covers only the writes of its connection. The timeout of WAIT is never
	// 0, because 0 means no timeout.
	limit := max(time.Millisecond, min(req.TTL/4, longestWait))
	pipe := s.Pipeline()
	set := pipe.Do(ctx, "SET", s.Key(req.Key), mine, "NX", "PX", req.TTL.Milliseconds())
	wait := pipe.Do(ctx, "WAIT", 1, limit.Milliseconds())
	_, _ = pipe.Exec(ctx) // each command has a separate result
	switch err := set.Err(); {
	case errors.Is(err, redis.Nil):
		return impls.Grant{}, impls.ErrBusy
	case err != nil:
		s.undo(ctx, req.Key, mine)
		return impls.Grant{}, err
	}
	acknowledged, err := wait.Int64()
	if err == nil && acknowledged >= 1 {
		return impls.Grant{Token: mine, Validity: req.TTL}, nil
	}
	if undone := s.undo(ctx, req.Key, mine); undone != nil || err != nil {
		return impls.Grant{}, fmt.Errorf("set, but not known to be on a replica: %w", errors.Join(err, undone))
	}
	return impls.Grant{}, fmt.Errorf("no replica acknowledged within %v: %w", limit, impls.ErrBusy)
}

// undo deletes a key that was set but not granted, even if the caller's context has ended. It returns nil if the key no
// longer exists.
func (s single) undo(ctx context.Context, key, token string) error {
	ctx, cancel := waiting.Detached(ctx, waiting.WithdrawTimeout)
	defer cancel()
	if err := s.compareAndDelete(ctx, impls.Grant{Key: key, Token: token}); err != nil && !errors.Is(err, impls.ErrNotHeld) {
		return err
	}
	return nil
}
