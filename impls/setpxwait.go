package impls

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// setPXWait is set-px-lua that grants only what a replica has acknowledged, by WAIT after SET. It narrows
// the window in which a failover loses the lock; it does not close it, because the replica that is promoted
// need not be the one that acknowledged, and because one that is cut off is told of no release.
func setPXWait() Impl {
	return Impl{
		Name: "set-px-wait", Store: "redis", Deployment: "replica", BackOff: longestPause,
		Doc: "set-px-lua, granted only when WAIT says that a replica has it",
		Expect: together(
			expect(Holds, "SET NX is atomic on the primary, and the script deletes nobody else's key",
				"lease-exclusion", "mutual-exclusion", "resource-integrity"),
			expect(Holds, "what no replica acknowledged is deleted, and what is forgotten expires", "no-orphan", "progress"),
			under("failover", expect(Breaks, "one replica had acknowledged, and the other takes over", "lease-exclusion", "mutual-exclusion")),
			under("failover-synced", threeViews(Holds, "what was granted is on the replica that takes over")),
			comparedRelease(), promiseOutlived()),
		Open: func(env Env) (Lock, error) {
			p, err := newPolling(env)
			if err != nil {
				return nil, err
			}
			n, err := openNode(env) // the primary; whether replicas follow it, WAIT says
			return &setPXWaitLock{single{n, p, env}}, err
		},
	}
}

type setPXWaitLock struct{ single }

var (
	_ Lock   = (*setPXWaitLock)(nil)
	_ Prober = (*setPXWaitLock)(nil)
)

// longestWait bounds how long the server lets WAIT block. A replica that is there answers within a millisecond.
const longestWait = time.Second

func (l *setPXWaitLock) Acquire(ctx context.Context, req Request) (Hold, error) {
	return l.acquire(ctx, req, func(ctx context.Context) (Grant, error) {
		mine := token(l.env.Rand)
		grant := Grant{Key: req.Key, Owner: req.Owner, Token: mine, Validity: req.TTL}
		if err := checkTTL(req.TTL); err != nil {
			return Grant{}, err
		}
		// One pipeline, because WAIT asks for what its own connection wrote. Not 0, which would block for ever.
		within := max(time.Millisecond, min(req.TTL/4, longestWait))
		pipe := l.Pipeline()
		set := pipe.Do(ctx, "SET", l.key(req.Key), mine, "NX", "PX", req.TTL.Milliseconds())
		wait := pipe.Do(ctx, "WAIT", 1, within.Milliseconds())
		_, _ = pipe.Exec(ctx) // each command has its own answer
		if err := set.Err(); err != nil {
			if !errors.Is(err, redis.Nil) {
				l.undo(ctx, req.Key, mine)
			}
			return Grant{}, busyIfNil(err)
		}
		acknowledged, err := wait.Int64()
		if err == nil && acknowledged >= 1 {
			return grant, nil
		}
		if undone := l.undo(ctx, req.Key, mine); undone != nil || err != nil {
			return Grant{}, fmt.Errorf("set, but not known to be on a replica: %w", errors.Join(err, undone))
		}
		return Grant{}, fmt.Errorf("no replica acknowledged within %v: %w", within, ErrBusy)
	})
}

// undo deletes what the caller will not be granted, whatever became of the caller. Nil: it is gone.
func (l *setPXWaitLock) undo(ctx context.Context, key, token string) error {
	ctx, cancel := detached(ctx, time.Second)
	defer cancel()
	if err := l.deleteIfMine(ctx, key, token); err != nil && !errors.Is(err, ErrNotHeld) {
		return err
	}
	return nil
}

func (l *setPXWaitLock) Release(ctx context.Context, g Grant) error {
	return l.deleteIfMine(ctx, g.Key, g.Token)
}
