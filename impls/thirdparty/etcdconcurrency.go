package thirdparty

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"google.golang.org/grpc"

	"lockbench/impls"
	"lockbench/impls/etcd"
	"lockbench/impls/expect"
	"lockbench/impls/lease"
	"lockbench/impls/waiting"
)

// EtcdConcurrency is the mutex of etcd's client library (client/v3/concurrency). Clients that share a session share the
// lock, so each hold has a separate session here.
//
// The client library does not report renewals of the session. The validity of a grant is therefore unbounded until the
// session is known to have ended. The fencing token is the revision of the answer that granted the lock.
func EtcdConcurrency() impls.Impl {
	return impls.Impl{
		Name: "etcd-concurrency", Store: "etcd", Deployment: "single", ThirdParty: true, Session: true, Notifies: true, Fences: true, ReportsLoss: true,
		Shortest: 2 * time.Second,
		Doc:      "the Mutex of etcd's client library (concurrency), with a separate Session for each hold",
		Expect: slices.Concat(
			expect.Excludes("the store counts revisions, and the oldest key holds"),
			expect.Holds("a release wakes the next waiter, and the key of a dead client goes with its lease", "no-orphan", "progress"),
			expect.Holds("freeing the lock increments the revision", "fencing"),
			expect.In("misuse", expect.Holds("an unlocked mutex returns an error", "owner-release")),
			expect.In("long-hold", expect.Holds("the client keeps the lease alive", "lease-exclusion", "mutual-exclusion")),
			expect.Under("process-pause",
				expect.Violated("a paused process cannot notice that its session has ended", "lease-exclusion", "mutual-exclusion"),
				expect.Holds(expect.Checked, "resource-integrity"),
				expect.Holds("revisions rise", "fencing")),
			expect.Under("session-kill",
				expect.Violated("the key goes with the lease, and the next client is granted before the holder detects that", "lease-exclusion", "mutual-exclusion"),
				expect.Holds(expect.Checked, "resource-integrity")),
			expect.Under("holder-stall", expect.Excludes("the session lives as long as its process")),
			expect.Under("none holder-stall holder-kill", expect.Holds("the key is written before the lock is granted", "backed-promise")),
			expect.Recovers("holder-kill half-open", "the lease is not kept alive any more, and expires"),
			expect.Under("holder-abandon", expect.Violated("its session lives as long as its process", "recovery", "no-orphan")),
			expect.Survives("slow-network server-pause", "an unknown grant ends with its session"),
			expect.Survives("server-restart", "keys and leases are on disk before they are acknowledged")),
		Open: func(env impls.Env) (impls.Lock, error) {
			config, err := etcd.Config(env)
			if err != nil {
				return nil, err
			}
			if env.Dial != nil {
				config.DialOptions = []grpc.DialOption{etcd.Dial(env)}
			}
			c, err := clientv3.New(config)
			if err != nil {
				return nil, err
			}
			l := &etcdMutexes{env: env, client: c, holds: newObjects[etcdMutex]()}
			l.Pool.Open, l.Pool.Drop = l.session, (*etcdSession).End
			return l, nil
		},
	}
}

type etcdMutexes struct {
	lease.Pool[*etcdSession]
	env    impls.Env
	client *clientv3.Client
	holds  *objects[etcdMutex]
}

type etcdMutex struct {
	*concurrency.Mutex
	session *etcdSession
}

type etcdSession struct {
	*concurrency.Session
	ttl time.Duration
}

// Alive reports whether the client considers the session alive.
func (s *etcdSession) Alive(context.Context) bool { return !waiting.Over(s.Done()) }

func (s *etcdSession) TTL() time.Duration { return s.ttl }

func (s *etcdSession) End() {
	if !waiting.Over(s.Done()) {
		_ = s.Close()
	}
}

func (l *etcdMutexes) session(ctx context.Context, ttl time.Duration) (*etcdSession, error) {
	w := newAttempt(l.client.Ctx(), ctx, waiting.CommandTimeout)
	s, err := concurrency.NewSession(l.client, concurrency.WithTTL(int(etcd.Seconds(ttl))), concurrency.WithContext(w))
	if err == nil && !w.granted() {
		err = context.Cause(w)
	}
	if err != nil {
		w.end()
		return nil, fmt.Errorf("open a session: %w", err)
	}
	return &etcdSession{s, ttl}, nil
}

func (l *etcdMutexes) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	if err := impls.CheckTTL(req.TTL); err != nil {
		return impls.Hold{}, err
	}
	start := time.Now()
	s, err := l.Take(ctx, req.TTL)
	if err != nil {
		return impls.Hold{}, err
	}
	l.env.Tally.Attempt()
	h := etcdMutex{concurrency.NewMutex(s.Session, l.env.Prefix+req.Key), s}
	if req.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, req.Wait-time.Since(start))
		defer cancel()
	}
	lock := h.Lock
	if req.Wait == 0 {
		lock = h.TryLock
	}
	switch err := lock(ctx); {
	case errors.Is(err, concurrency.ErrLocked):
		l.Put(s)
		return impls.Hold{}, fmt.Errorf("%w: %w", impls.ErrBusy, err)
	case err != nil: // end the session; if the server confirms the end, it has deleted any key of the request
		if closed := s.Close(); closed == nil && ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", impls.ErrBusy, err)
		}
		return impls.Hold{}, err
	}
	g := impls.Grant{Key: req.Key, Owner: req.Owner, Token: impls.Token(l.env.Rand), Validity: impls.Unbounded, Fence: h.Header().Revision}
	l.holds.keep(g.Token, h)
	return impls.Hold{Grant: g, Lost: s.Done()}, nil
}

func (l *etcdMutexes) Release(ctx context.Context, g impls.Grant) error {
	h, first, err := l.holds.take(g)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, waiting.CommandTimeout)
	defer cancel()
	err = notHeld(h.Unlock(ctx), concurrency.ErrLockReleased)
	switch {
	case err != nil && !errors.Is(err, impls.ErrNotHeld):
		go h.session.Close() // if the request to end the session fails, the lease of the session expires
	case first:
		l.Put(h.session)
	}
	return err
}

// Close closes the client, which ends the keep-alives of all leases.
func (l *etcdMutexes) Close() error {
	l.Pool.Close()
	err := l.client.Close()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
