package sql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// PostgresAdvisoryPool is the advisory lock with a common mistake: it acquires and releases through a connection pool. A
// release may use a session that does not hold the lock, and the failed release is not noticed. A request may use the
// session that holds the lock, which is then granted again.
//
// A real pool reuses one connection while the load is low, so the defect shows late. Here the connections take turns.
func PostgresAdvisoryPool() impls.Impl {
	return impls.Impl{
		Name: "postgres-advisory-pool", Control: true, Store: "postgres", Deployment: "single", BackOff: waiting.LongestPause,
		Lease: 300 * time.Millisecond, // short, because a test waits for the lease if the lock is never released; the lock itself ignores the lease
		Doc:   "the advisory lock through a pool of connections: the release reaches a session that does not hold it",
		Expect: slices.Concat(
			expect.Violated("no release reaches the session that holds", "no-orphan"),
			expect.Violated("a request through the session that holds is granted as well", expect.Exclusion...)),
		Open: func(env impls.Env) (impls.Lock, error) {
			config, err := postgresConfig(env)
			if err != nil {
				return nil, err
			}
			l := &postgresPoolLock{Polling: waiting.NewPolling(env), env: env, config: config}
			for i := range l.conns {
				l.conns[i] = make(chan *postgresSession, 1)
				l.conns[i] <- nil
			}
			return l, nil
		},
	}
}

const pooled = 2

type postgresPoolLock struct {
	waiting.Polling
	env    impls.Env
	config *pgx.ConnConfig
	next   atomic.Uint64
	conns  [pooled]chan *postgresSession // connection pool: each channel contains an idle connection, or nil if it is not open; a running statement removes it
}

func (l *postgresPoolLock) use(ctx context.Context, do func(context.Context, *postgresSession) (bool, error)) (done bool, err error) {
	turn := l.conns[l.next.Add(1)%pooled]
	var s *postgresSession
	select {
	case s = <-turn:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { turn <- s }()
	if s == nil {
		if s, err = openPostgresSession(ctx, l.config); err != nil {
			return false, fmt.Errorf("connect: %w", err)
		}
	}
	if done, err = do(ctx, s); err != nil {
		s.End()
		s = nil
	}
	return done, err
}

func (l *postgresPoolLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	return l.Poll(ctx, req, func(ctx context.Context) (impls.Grant, error) {
		granted, err := ask(ctx, 0, func(ctx context.Context) (bool, error) {
			return l.use(ctx, func(ctx context.Context, s *postgresSession) (bool, error) {
				return s.take(ctx, l.env.Prefix+req.Key, 0)
			})
		})
		if err == nil && !granted {
			err = impls.ErrBusy
		}
		return impls.Grant{Token: impls.Token(l.env.Rand), Validity: impls.Unbounded}, err
	})
}

// Release ignores whether the session held the lock, as the published recipe does.
func (l *postgresPoolLock) Release(ctx context.Context, g impls.Grant) error {
	_, err := ask(ctx, 0, func(ctx context.Context) (bool, error) {
		return l.use(ctx, func(ctx context.Context, s *postgresSession) (bool, error) { return s.give(ctx, l.env.Prefix+g.Key) })
	})
	return err
}

func (l *postgresPoolLock) Close() error {
	timer := time.NewTimer(waiting.CommandTimeout)
	defer timer.Stop()
	for _, turn := range l.conns {
		select {
		case s := <-turn:
			if s != nil {
				s.End()
			}
			turn <- nil
		case <-timer.C:
			return errors.New("a statement did not end")
		}
	}
	return nil
}
