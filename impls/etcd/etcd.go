// Package etcd implements a lock on etcd, returned by Queue. Each request creates a key with a lease, and the oldest key
// holds the lock.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/lease"
	"lockbench/impls/waiting"
)

// Queue is the lock recipe of etcd: each request creates a key, and the oldest key holds the lock. Key names contain random
// bits, so they are unique.
//
// The validity of a grant is the lease that etcd granted, in whole seconds. The lease counts from the last answered
// keep-alive. The fencing token is the revision that created the key. Revisions increase as long as the store keeps its
// data.
//
// A process that is paused beyond its lease does not notice the loss of the lock. Only a check of the fencing token then
// excludes that process.
func Queue() impls.Impl {
	return impls.Impl{
		Name: "etcd", Store: "etcd", Deployment: "single", Renews: true, Session: true, Notifies: true, Fences: true, ReportsLoss: true,
		Shortest: 2 * time.Second,
		Doc:      "keys with a lease: the oldest holds, each waits for the preceding one, and the end of a lease deletes its key",
		Expect: slices.Concat(expect.Answers(), expect.Prompt(), expect.Tells(),
			expect.Excludes("the store counts revisions, and the oldest key holds"),
			expect.Holds("a release wakes the next waiter, and the key of a dead client goes with its lease", "no-orphan", "progress"),
			expect.Holds("each key has its own creation revision, and revisions rise", "fencing"),
			expect.In("misuse", expect.Holds("one step compares the key with the grant and deletes it", "owner-release")),
			expect.In("long-hold", expect.Holds("the lease is kept alive at a third of each period", "lease-exclusion", "mutual-exclusion", "renewal")),
			expect.Under("session-kill",
				expect.Violated("the key goes with the lease, and the next client is granted before the holder detects that", "lease-exclusion", "mutual-exclusion"),
				expect.Holds(expect.Checked, "resource-integrity"),
				expect.Holds("revisions rise", "fencing")),
			expect.Backed(), expect.LeasedSession()),
		Open: func(env impls.Env) (impls.Lock, error) {
			config, err := Config(env)
			if err != nil {
				return nil, err
			}
			config.DialOptions = []grpc.DialOption{
				Dial(env),
				grpc.WithDefaultCallOptions(grpc.WaitForReady(true)), // without a connection, a call waits; otherwise it would fail at once and be repeated without a delay
				grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: time.Second, // gRPC's default of 20 s is longer than many leases
					Backoff: backoff.Config{BaseDelay: waiting.FirstPause, Multiplier: 2, Jitter: 0.2, MaxDelay: waiting.LongestPause}}),
			}
			return &etcdLock{lease.NewSessions(env, func(ctx context.Context, ttl time.Duration) (*etcdSession, error) {
				return openETCDSession(ctx, config, ttl)
			})}, nil
		},
	}
}

type etcdLock struct{ *lease.Sessions[*etcdSession] }

var _ impls.Prober = (*etcdLock)(nil)

func (l *etcdLock) queue(key string) string { return url.PathEscape(l.Env.Prefix+key) + "/" }

func (l *etcdLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	return l.Queue(ctx, req, func(ctx context.Context, s *etcdSession) (lease.Place, error) {
		g := impls.Grant{Key: req.Key, Owner: req.Owner, Token: impls.Token(l.Env.Rand)}
		p := &place{grant: g, s: s, queue: l.queue(req.Key), waits: req.Wait != 0, life: l.Life}
		return p, p.enter(ctx)
	})
}

type place struct {
	grant impls.Grant
	s     *etcdSession
	queue string
	waits bool
	first bool
	life  context.Context // ends when the lock is closed
}

func (p *place) key() string { return p.queue + p.grant.Token }

// enter creates the waiter's key once, even if the client library resends the request after a timeout. It stores the key's
// creation revision as the fencing token, and records whether the key is the first in the queue.
func (p *place) enter(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, waiting.CommandTimeout)
	defer cancel()
	head := clientv3.OpGet(p.queue, clientv3.WithFirstCreate()...)
	answer, err := p.s.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(p.key()), "=", 0)).
		Then(clientv3.OpPut(p.key(), p.grant.Owner, clientv3.WithLease(p.s.lease)), head).
		Else(clientv3.OpGet(p.key()), head).Commit()
	if err != nil {
		return err
	}
	p.grant.Fence = answer.Header.Revision
	if !answer.Succeeded {
		p.grant.Fence = answer.Responses[0].GetResponseRange().Kvs[0].CreateRevision
	}
	heads := answer.Responses[1].GetResponseRange().Kvs
	p.first = len(heads) > 0 && string(heads[0].Key) == p.key()
	return nil
}

// Await waits until the queue has no earlier key. Meanwhile it keeps the waiter's lease alive.
func (p *place) Await(ctx, patient context.Context) error {
	switch {
	case p.first:
		return nil
	case !p.waits:
		return impls.ErrBusy
	}
	before := append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(p.grant.Fence-1))
	for {
		answer, err := p.s.get(ctx, p.queue, before...)
		if err != nil {
			return err
		}
		if len(answer.Kvs) == 0 { // no earlier key is left; the waiter's key may have expired, so check it
			answer, err = p.s.get(ctx, p.key())
			if err == nil && (len(answer.Kvs) == 0 || answer.Kvs[0].CreateRevision != p.grant.Fence) {
				err = lease.ErrOutOfQueue
			}
			return err
		}
		if err := p.awaitGone(ctx, patient, string(answer.Kvs[0].Key), answer.Header.Revision+1); err != nil {
			return err
		}
	}
}

// awaitGone watches an earlier key from the given revision. It returns when the key has been deleted or the watch has ended.
func (p *place) awaitGone(ctx, patient context.Context, key string, from int64) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	events := p.s.Watch(watching, key, clientv3.WithRev(from), clientv3.WithFilterPut())
	for {
		select {
		case <-events: // the key was deleted, or the watch ended
			return nil
		case <-patient.Done():
			return impls.ErrBusy
		case <-p.life.Done():
			return impls.ErrClosed
		case <-time.After(time.Until(p.s.confirmed.Add(p.s.ttl / 3))):
			switch err := p.s.keepAlive(ctx); {
			case errors.Is(err, impls.ErrNotHeld):
				return lease.ErrOutOfQueue
			case err != nil:
				return err
			}
		}
	}
}

// Grant returns the data of the granted lock, and how to renew its lease. It sends no request, because the session's lease
// was attached to the key when the session joined the queue.
func (p *place) Grant(context.Context) (impls.Grant, lease.Renewal, error) {
	return p.grant, lease.Renewal{Sent: p.s.confirmed, Lasts: p.s.ttl, Renew: p.s.keepAlive}, nil
}

func (p *place) Leave(ctx context.Context) error { return p.s.remove(ctx, p.key(), p.grant.Fence) }

// Release deletes the key. Any session can do so, because the key's name and revision are unique.
func (l *etcdLock) Release(ctx context.Context, g impls.Grant) error {
	return l.ReleaseBy(ctx, g, func(ctx context.Context, s *etcdSession) error { return s.remove(ctx, l.queue(g.Key)+g.Token, g.Fence) })
}

// Probe returns the token of the first key in the queue, and the remaining time of the key's lease.
func (l *etcdLock) Probe(ctx context.Context, key string) (token string, left time.Duration, err error) {
	err = l.Ask(ctx, func(ctx context.Context, s *etcdSession) error {
		first, err := s.Get(ctx, l.queue(key), clientv3.WithFirstCreate()...)
		if err != nil || len(first.Kvs) == 0 {
			return err
		}
		lease, err := s.TimeToLive(ctx, clientv3.LeaseID(first.Kvs[0].Lease))
		if err == nil && lease.TTL >= 0 { // otherwise the key was deleted between the two reads
			token, left = strings.TrimPrefix(string(first.Kvs[0].Key), l.queue(key)), time.Duration(lease.TTL)*time.Second
		}
		return err
	})
	return token, left, err
}

// etcdSession is an etcd lease and the connection for its keep-alives. A keep-alive is sent only when a method of
// etcdSession is called.
type etcdSession struct {
	*clientv3.Client
	opened    time.Duration // requested lease
	lease     clientv3.LeaseID
	ttl       time.Duration // granted lease, in whole seconds
	confirmed time.Time     // time of the last answered request; the lease expires ttl later
	fresh     bool          // whether the session has never been used
}

// Config returns the client configuration for the servers and the dialer of an Env.
func Config(env impls.Env) (clientv3.Config, error) {
	servers, err := env.Servers("etcd://host:port or etcd://user:password@host:port")
	if err != nil {
		return clientv3.Config{}, err
	}
	c := clientv3.Config{Logger: zap.NewNop(), DialTimeout: waiting.CommandTimeout, Username: servers[0].User.Username()}
	c.Password, _ = servers[0].User.Password()
	for _, u := range servers {
		if fmt.Sprint(u.User) != fmt.Sprint(servers[0].User) {
			return c, errors.New("the URLs of the servers name several users: want one")
		}
		c.Endpoints = append(c.Endpoints, "http://"+u.Host)
	}
	return c, nil
}

// openETCDSession opens a session, and returns when etcd has granted its lease. The context bounds only this call, not the
// session.
func openETCDSession(ctx context.Context, config clientv3.Config, ttl time.Duration) (*etcdSession, error) {
	ctx, cancel := context.WithTimeout(ctx, waiting.CommandTimeout)
	defer cancel()
	c, err := clientv3.New(config)
	if err != nil {
		return nil, err
	}
	s := &etcdSession{Client: c, opened: ttl, confirmed: time.Now(), fresh: true}
	granted, err := c.Grant(ctx, Seconds(ttl))
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	s.lease, s.ttl = granted.ID, time.Duration(granted.TTL)*time.Second
	return s, nil
}

// Seconds returns a lease duration in whole seconds, rounded up.
func Seconds(ttl time.Duration) int64 { return int64((ttl + time.Second - 1) / time.Second) }

// Dial returns the gRPC option that connects with the dialer of an Env.
func Dial(env impls.Env) grpc.DialOption {
	dial := env.Network()
	return grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return dial(ctx, "tcp", addr) })
}

// Alive reports whether the session can be used. Unless the session is new, Alive sends a keep-alive to find out.
func (s *etcdSession) Alive(ctx context.Context) bool {
	if s.fresh {
		s.fresh = false
		return true
	}
	return s.keepAlive(ctx) == nil
}

func (s *etcdSession) TTL() time.Duration { return s.opened }

// keepAlive renews the lease once, and retries until the lease may have expired. It returns ErrNotHeld if etcd no longer
// has the lease.
func (s *etcdSession) keepAlive(ctx context.Context) error {
	sent := time.Now()
	ctx, cancel := context.WithDeadline(ctx, s.confirmed.Add(s.ttl))
	defer cancel()
	answer, err := s.KeepAliveOnce(ctx, s.lease)
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		return impls.ErrNotHeld
	case err != nil:
		return err
	}
	s.confirmed, s.ttl = sent, time.Duration(answer.TTL)*time.Second
	return nil
}

func (s *etcdSession) get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, waiting.CommandTimeout)
	defer cancel()
	return s.Get(ctx, key, opts...)
}

// End revokes the lease. If etcd does not answer within a second, the lease expires by itself.
func (s *etcdSession) End() {
	ctx, cancel := context.WithTimeout(context.Background(), waiting.WithdrawTimeout)
	defer cancel()
	_, _ = s.Revoke(ctx, s.lease)
	_ = s.Client.Close()
}

// remove deletes a key in one transaction if it was created at the given revision.
func (s *etcdSession) remove(ctx context.Context, key string, revision int64) error {
	answer, err := s.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(key), "=", revision), clientv3.Compare(clientv3.CreateRevision(key), ">", 0)).
		Then(clientv3.OpDelete(key)).Commit()
	if err == nil && !answer.Succeeded {
		return impls.ErrNotHeld
	}
	return err
}
