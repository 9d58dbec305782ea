package impls

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgresAdvisoryPool is the advisory lock as it is found in the wild: acquired and released through a pool of
// connections, as any other statement. The release comes to a session that holds nothing, is told so, and nobody reads
// that. And a session that holds is granted again, whoever asks through it. A real pool hands out the same connection
// again while there is no load, so that this shows late; here the connections take turns.
func postgresAdvisoryPool() Impl {
	return Impl{
		Name: "postgres-advisory-pool", Control: true, Store: "postgres", Deployment: "single", BackOff: longestPause,
		Lease: 300 * time.Millisecond, // it has none: how long others wait for what is never given back
		Doc:   "the advisory lock through a pool of connections: the release comes to a session that does not hold it",
		Expect: together(
			expect(Breaks, "the session that holds is never told to give the lock back", "no-orphan"),
			expect(Breaks, "who asks through the session that holds is granted as well", "lease-exclusion", "mutual-exclusion", "resource-integrity")),
		Open: func(env Env) (Lock, error) {
			p, err := newPolling(env)
			if err != nil {
				return nil, err
			}
			config, err := postgresConfig(env)
			if err != nil {
				return nil, err
			}
			l := &postgresPoolLock{polling: p, env: env, config: config}
			for i := range l.conns {
				l.conns[i] = make(chan *postgresSeat, 1)
				l.conns[i] <- nil
			}
			return l, nil
		},
	}
}

// pooled is how many connections a pool has.
const pooled = 2

type postgresPoolLock struct {
	polling
	env    Env
	config *pgx.ConnConfig
	next   atomic.Uint64
	conns  [pooled]chan *postgresSeat // whoever takes one out has it for a statement; nil: not connected
}

var _ Lock = (*postgresPoolLock)(nil)

// use has the next connection do something.
func (l *postgresPoolLock) use(ctx context.Context, do func(context.Context, *postgresSeat) (bool, error)) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	turn := l.conns[l.next.Add(1)%pooled]
	var s *postgresSeat
	select {
	case s = <-turn:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { turn <- s }()
	if s == nil {
		opened, err := openPostgresSeat(ctx, l.config)
		if err != nil {
			return false, fmt.Errorf("connect: %w", err)
		}
		s = opened.(*postgresSeat)
	}
	if done, err = do(ctx, s); err != nil {
		s.end()
		s = nil
	}
	return done, err
}

func (l *postgresPoolLock) Acquire(ctx context.Context, req Request) (Hold, error) {
	return l.acquire(ctx, req, func(ctx context.Context) (Grant, error) {
		granted, err := l.use(ctx, func(ctx context.Context, s *postgresSeat) (bool, error) { return s.take(ctx, l.env.Prefix+req.Key, 0) })
		if err == nil && !granted {
			err = ErrBusy
		}
		return Grant{Key: req.Key, Owner: req.Owner, Token: token(l.env.Rand), Validity: Unbounded}, err
	})
}

// Release does not look at what it is answered, as published.
func (l *postgresPoolLock) Release(ctx context.Context, g Grant) error {
	_, err := l.use(ctx, func(ctx context.Context, s *postgresSeat) (bool, error) { return s.give(ctx, l.env.Prefix+g.Key) })
	return err
}

func (l *postgresPoolLock) Close() error {
	timer := time.NewTimer(commandTimeout)
	defer timer.Stop()
	for _, turn := range l.conns {
		select {
		case s := <-turn:
			if s != nil {
				s.end()
			}
			turn <- nil
		case <-timer.C:
			return errors.New("a statement was not seen to end")
		}
	}
	return nil
}
