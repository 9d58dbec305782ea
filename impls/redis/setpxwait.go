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

// SetPXWait is set-px-lua that grants only what a replica has acknowledged, by WAIT after SET. It does not rule out that a
// failover loses the lock: the replica that is promoted need not be the one that acknowledged.
func SetPXWait() impls.Impl {
	return impls.Impl{
		Name: "set-px-wait", Store: "redis", Deployment: "replica", BackOff: waiting.LongestPause,
		Doc: "set-px-lua, granted only when WAIT says that a replica has it",
		Expect: slices.Concat(
			expect.Excludes("SET NX is atomic on the primary, and the script deletes nobody else's key"),
			expect.Holds("what no replica acknowledged is deleted, and what is forgotten expires", "no-orphan", "progress"),
			expect.Under("failover", expect.Violated("one replica had acknowledged, and the other takes over", "lease-exclusion", "mutual-exclusion")),
			expect.Under("failover-synced", expect.Excludes("what was granted is on the replica that takes over")),
			expect.ComparedRelease(), expect.PromiseOutlived()),
		Open: openSimple(func(s single) (attempt, release) { return s.setOnReplica, s.compareAndDelete }), // on the primary; WAIT tells whether replicas follow it
	}
}

// longestWait bounds how long the server lets WAIT block. A replica that is there answers within a millisecond.
const longestWait = time.Second

func (s single) setOnReplica(ctx context.Context, req impls.Request) (impls.Grant, error) {
	if err := impls.CheckTTL(req.TTL); err != nil {
		return impls.Grant{}, err
	}
	mine := impls.Token(s.env.Rand)
	// One pipeline, because WAIT asks for what its own connection wrote. Not 0, which would block for ever.
	limit := max(time.Millisecond, min(req.TTL/4, longestWait))
	pipe := s.Pipeline()
	set := pipe.Do(ctx, "SET", s.Key(req.Key), mine, "NX", "PX", req.TTL.Milliseconds())
	wait := pipe.Do(ctx, "WAIT", 1, limit.Milliseconds())
	_, _ = pipe.Exec(ctx) // each command has its own answer
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

// undo deletes what will not be granted, even if the caller's context is over. Nil: it is gone.
func (s single) undo(ctx context.Context, key, token string) error {
	ctx, cancel := waiting.Detached(ctx, waiting.WithdrawTimeout)
	defer cancel()
	if err := s.compareAndDelete(ctx, impls.Grant{Key: key, Token: token}); err != nil && !errors.Is(err, impls.ErrNotHeld) {
		return err
	}
	return nil
}
