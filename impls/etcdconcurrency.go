package impls

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// etcdConcurrency is the mutex of etcd's own client library (client/v3/concurrency). Its key is named after the session,
// so that two who share a session share the lock: here a hold has a session of its own, which waits for the next hold
// after it.
//
// What it promises is the session, which is kept alive by the client, and says when it is not any more. It states no
// time, and does not tell when it was kept alive: the promise of a grant is unbounded until its session is known to be
// over. The fence is the revision of the answer with which it was granted.
func etcdConcurrency() Impl {
	return Impl{
		Name: "etcd-concurrency", Store: "etcd", Deployment: "single", Peer: true, Session: true, Notifies: true, Fences: true,
		Shortest: 2 * time.Second, Late: time.Second,
		Doc: "the Mutex of etcd's client library (concurrency), each hold with a Session of its own",
		Expect: together(
			threeViews(Holds, "revisions are counted by the store, and the lowest key holds"),
			expect(Holds, "a release wakes who is next, and whoever is gone loses its key with its lease", "no-orphan", "progress"),
			expect(Holds, "what frees the lock raises the revision", "fencing"),
			in("misuse", expect(Holds, "a mutex that was unlocked says so", "owner-release")),
			in("long-hold", expect(Holds, "the client keeps the lease alive", "lease-exclusion", "mutual-exclusion")),
			under("process-pause", together(
				expect(Breaks, "nothing in a process that stands still can notice that its session is over", "lease-exclusion", "mutual-exclusion"),
				expect(Holds, checked, "resource-integrity"),
				expect(Holds, "revisions rise", "fencing"))),
			under("session-kill", together(
				expect(Breaks, "the key went with the lease, and the next is granted before the holder's client has heard", "lease-exclusion", "mutual-exclusion"),
				expect(Holds, checked, "resource-integrity"))),
			under("holder-stall", threeViews(Holds, "while its process lives its session does")),
			recovers("holder-kill half-open", "nobody keeps the lease alive any more, and it ends"),
			under("holder-abandon", expect(Breaks, "its session lives for as long as its process", "recovery", "no-orphan")),
			survives("slow-network server-pause", "what is not known to be granted goes with its session"),
			survives("server-restart", "keys and leases are on disk before they are acknowledged")),
		Open: openETCDConcurrency,
	}
}

type etcdMutexes struct {
	env    Env
	client *clientv3.Client
	free   perLease[*concurrency.Session]
	holds  *objects[etcdMutex]
}

// etcdMutex is one hold.
type etcdMutex struct {
	*concurrency.Mutex
	session *concurrency.Session
	lease   time.Duration // that was asked for
}

var _ Lock = (*etcdMutexes)(nil)

func openETCDConcurrency(env Env) (Lock, error) {
	if err := CheckParams(env.Params); err != nil {
		return nil, err
	}
	at, err := etcdOf(env)
	if err != nil {
		return nil, err
	}
	config := clientv3.Config{Endpoints: at.endpoints, Username: at.user, Password: at.password, Logger: zap.NewNop(), DialTimeout: commandTimeout}
	if env.Dial != nil {
		config.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return env.Dial(ctx, "tcp", addr)
		})}
	}
	c, err := clientv3.New(config)
	if err != nil {
		return nil, err
	}
	l := &etcdMutexes{env: env, client: c, holds: newObjects[etcdMutex]()}
	l.free.open, l.free.end = l.session, func(s *concurrency.Session) { _ = s.Close() }
	return l, nil
}

// session opens one. The context bounds that alone.
func (l *etcdMutexes) session(ctx context.Context, ttl time.Duration) (*concurrency.Session, error) {
	w := newWaiting(l.client.Ctx(), ctx, commandTimeout)
	s, err := concurrency.NewSession(l.client, concurrency.WithTTL(int((ttl+time.Second-1)/time.Second)), concurrency.WithContext(w))
	if err == nil && !w.granted() {
		err = context.Cause(w)
	}
	if err != nil {
		w.end()
		return nil, fmt.Errorf("open a session: %w", err)
	}
	return s, nil
}

// take hands out a session that lives, as far as its client knows.
func (l *etcdMutexes) take(ctx context.Context, ttl time.Duration) (*concurrency.Session, error) {
	for {
		s, err := l.free.sessions(ttl).take(ctx)
		if err != nil {
			return nil, err
		}
		select {
		case <-s.Done():
		default:
			return s, nil
		}
	}
}

func (l *etcdMutexes) Acquire(ctx context.Context, req Request) (Hold, error) {
	if err := checkTTL(req.TTL); err != nil {
		return Hold{}, err
	}
	start := time.Now()
	s, err := l.take(ctx, req.TTL)
	if err != nil {
		return Hold{}, err
	}
	l.env.Tally.Attempt()
	h := etcdMutex{concurrency.NewMutex(s, l.env.Prefix+req.Key), s, req.TTL}
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
		l.free.sessions(req.TTL).put(s)
		return Hold{}, fmt.Errorf("%w: %w", ErrBusy, err)
	case err != nil:
		return Hold{}, l.withdraw(ctx, s, err)
	}
	g := Grant{Key: req.Key, Owner: req.Owner, Token: token(l.env.Rand), Validity: Unbounded, Fence: h.Header().Revision}
	l.holds.keep(g.Token, h)
	return Hold{Grant: g, Lost: s.Done()}, nil
}

// withdraw ends a session, and with it what was asked for. Where the server says that it ended it, nothing is left.
func (l *etcdMutexes) withdraw(ctx context.Context, s *concurrency.Session, err error) error {
	if closed := s.Close(); closed != nil || ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrBusy, err)
}

func (l *etcdMutexes) Release(ctx context.Context, g Grant) error {
	h, first, found := l.holds.take(g)
	if !found {
		return fmt.Errorf("%w: no such mutex", ErrNotHeld)
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	err := h.Unlock(ctx)
	switch {
	case errors.Is(err, concurrency.ErrLockReleased):
		err = fmt.Errorf("%w: %w", ErrNotHeld, err)
	case err != nil:
		go h.session.Close() // it ends by itself where that is not heard
		return err
	}
	if first {
		l.free.sessions(h.lease).put(h.session)
	}
	return err
}

// Close ends the client, with which nothing keeps the leases alive any more.
func (l *etcdMutexes) Close() error {
	l.free.close()
	err := l.client.Close()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
