package impls

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// etcd is the lock of etcd's own recipes: each request is a key with a lease, and the one that was created first
// holds. Each waits for the key just before its own to go, and then sees to it that its own is still there. The key's
// name has random bits in it, so that it is nobody else's.
//
// What is promised is the lease's time as etcd granted it, in whole seconds, counted from the sending of the last
// request that kept it alive. The fence is the revision that created the key: it rises with the queue, and for as long
// as the store keeps its data. One that is set up anew counts from the beginning, one that is restored from where its
// copy was made.
//
// What is left: a process that stands still for longer than its lease holds nothing any more when it goes on, and does
// not know. The fence stops it, where what is guarded checks it.
func etcd() Impl {
	return Impl{
		Name: "etcd", Store: "etcd", Deployment: "single", Renews: true, Session: true, Notifies: true, Fences: true,
		Shortest: 2 * time.Second, Late: time.Second,
		Doc: "keys with a lease: the first created holds, each waits for the one before its own, and the lease's end frees",
		Expect: together(
			expect(Holds, "revisions are counted by the store, and the lowest key holds", "lease-exclusion", "mutual-exclusion", "resource-integrity"),
			expect(Holds, "a release wakes who is next, and whoever is gone loses its key with its lease", "no-orphan", "progress"),
			expect(Holds, "each key is created at a revision of its own, which rise", "fencing"),
			in("misuse", expect(Holds, "the key is deleted if it is the one that was granted, in one step", "owner-release")),
			in("long-hold", expect(Holds, "a third into each lease it is kept alive", "lease-exclusion", "mutual-exclusion", "renewal")),
			under("session-kill", together(
				expect(Breaks, "the key went with the lease, and the next is granted before the holder has asked for its own", "lease-exclusion", "mutual-exclusion"),
				expect(Holds, checked, "resource-integrity"),
				expect(Holds, "revisions rise", "fencing"))),
			leasedSession()),
		Open: openETCD,
	}
}

type etcdLock struct {
	*bound[*etcdSession]
	env Env
}

var (
	_ Lock   = (*etcdLock)(nil)
	_ Prober = (*etcdLock)(nil)
)

func openETCD(env Env) (Lock, error) {
	if err := CheckParams(env.Params); err != nil {
		return nil, err
	}
	at, err := etcdOf(env)
	if err != nil {
		return nil, err
	}
	open := func(ctx context.Context, ttl time.Duration) (*etcdSession, error) {
		return openETCDSession(ctx, env, at, ttl)
	}
	return &etcdLock{newBound(env, open), env}, nil
}

// queue is what the keys of those who hold a key or wait for it begin with, and no other key's.
func (l *etcdLock) queue(key string) string { return url.PathEscape(l.env.Prefix+key) + "/" }

func (l *etcdLock) Acquire(ctx context.Context, req Request) (Hold, error) {
	if err := checkTTL(req.TTL); err != nil {
		return Hold{}, err
	}
	start := time.Now()
	patient, ctx, done := patiently(ctx, req.Wait)
	defer done()
	s, err := l.take(ctx, req.TTL)
	if err != nil {
		return Hold{}, fmt.Errorf("open a session: %w", err)
	}
	g := Grant{Key: req.Key, Owner: req.Owner, Token: token(l.env.Rand)}
	first, err := l.enter(ctx, s, &g)
	switch {
	case err != nil || first:
	case req.Wait == 0:
		err = ErrBusy
	default:
		err = l.awaitTurn(ctx, patient, s, g)
	}
	if errors.Is(err, ErrBusy) {
		return Hold{}, l.withdraw(ctx, s, func(ctx context.Context) error { return l.delete(ctx, s, g) })
	}
	if err == nil {
		var hold Hold
		if hold, err = l.keep(s, g, start, s.confirmed, s.keepAlive); err == nil {
			return hold, nil
		}
	}
	l.drop(s)
	return Hold{}, err
}

// enter creates a key, which tells its fence, and whether it is the first. It does so once, however often it is sent: the
// client library sends again where a server, or what stands in between, says that the time was over.
func (l *etcdLock) enter(ctx context.Context, s *etcdSession, g *Grant) (first bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	l.env.Tally.Attempt()
	mine := l.queue(g.Key) + g.Token
	head := clientv3.OpGet(l.queue(g.Key), clientv3.WithFirstCreate()...)
	answer, err := s.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(mine), "=", 0)).
		Then(clientv3.OpPut(mine, g.Owner, clientv3.WithLease(s.lease)), head).
		Else(clientv3.OpGet(mine), head).Commit()
	if err != nil {
		return false, fmt.Errorf("enter the queue: %w", err)
	}
	g.Fence = answer.Header.Revision
	if !answer.Succeeded {
		g.Fence = answer.Responses[0].GetResponseRange().Kvs[0].CreateRevision
	}
	heads := answer.Responses[1].GetResponseRange().Kvs
	return len(heads) > 0 && string(heads[0].Key) == mine, nil
}

// awaitTurn returns when the key is the first of its queue, and still there. ErrBusy: it is not, and the patience is
// over. Meanwhile it keeps the lease alive.
func (l *etcdLock) awaitTurn(ctx, patient context.Context, s *etcdSession, g Grant) error {
	before := append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(g.Fence-1))
	for {
		answer, err := s.get(ctx, l.queue(g.Key), before...)
		if err != nil {
			return err
		}
		if len(answer.Kvs) == 0 {
			return l.stillMine(ctx, s, g)
		}
		if err := l.awaitGone(ctx, patient, s, string(answer.Kvs[0].Key), answer.Header.Revision+1); err != nil {
			return err
		}
	}
}

// stillMine sees to it that the key is the one that was created.
func (l *etcdLock) stillMine(ctx context.Context, s *etcdSession, g Grant) error {
	answer, err := s.get(ctx, l.queue(g.Key)+g.Token)
	if err == nil && (len(answer.Kvs) == 0 || answer.Kvs[0].CreateRevision != g.Fence) {
		err = errOutOfQueue
	}
	return err
}

// awaitGone returns when a key is gone, which was there before the revision, or when it cannot be told.
func (l *etcdLock) awaitGone(ctx, patient context.Context, s *etcdSession, key string, from int64) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	events := s.Watch(watching, key, clientv3.WithRev(from), clientv3.WithFilterPut())
	for {
		heartbeat := time.NewTimer(time.Until(s.confirmed.Add(s.ttl / 3)))
		select {
		case <-events: // an event, or the end of the watch
			heartbeat.Stop()
			return nil
		case <-patient.Done():
			heartbeat.Stop()
			return ErrBusy
		case <-l.life.Done():
			heartbeat.Stop()
			return errLockClosed
		case <-heartbeat.C:
			err := s.keepAlive(ctx)
			if errors.Is(err, ErrNotHeld) {
				err = errOutOfQueue
			}
			if err != nil {
				return err
			}
		}
	}
}

// delete deletes the key if it is the one that was granted, in one step.
func (l *etcdLock) delete(ctx context.Context, s *etcdSession, g Grant) error {
	mine := l.queue(g.Key) + g.Token
	answer, err := s.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(mine), "=", g.Fence), clientv3.Compare(clientv3.CreateRevision(mine), ">", 0)).
		Then(clientv3.OpDelete(mine)).Commit()
	if err == nil && !answer.Succeeded {
		return ErrNotHeld
	}
	return err
}

// Release deletes the key, also from another session: nobody else's has its name and its revision.
func (l *etcdLock) Release(ctx context.Context, g Grant) error {
	return l.release(ctx, g, func(ctx context.Context, s *etcdSession) error { return l.delete(ctx, s, g) })
}

// Probe asks for the first of the queue, and for what its lease has left.
func (l *etcdLock) Probe(ctx context.Context, key string) (token string, left time.Duration, err error) {
	s, err := l.take(ctx, anyLease)
	if err != nil {
		return "", 0, err
	}
	asking, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	token, left, err = l.probe(asking, s, l.queue(key))
	if err != nil {
		l.drop(s)
		return "", 0, err
	}
	l.put(s)
	return token, left, nil
}

func (l *etcdLock) probe(ctx context.Context, s *etcdSession, queue string) (string, time.Duration, error) {
	first, err := s.Get(ctx, queue, clientv3.WithFirstCreate()...)
	if err != nil || len(first.Kvs) == 0 {
		return "", 0, err
	}
	lease, err := s.TimeToLive(ctx, clientv3.LeaseID(first.Kvs[0].Lease))
	if err != nil || lease.TTL < 0 { // it went between the two questions
		return "", 0, err
	}
	return string(first.Kvs[0].Key)[len(queue):], time.Duration(lease.TTL) * time.Second, nil
}

func (l *etcdLock) Close() error {
	l.close()
	return nil
}
