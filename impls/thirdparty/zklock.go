package thirdparty

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/lease"
	"lockbench/impls/waiting"
	"lockbench/impls/zookeeper"
)

// ZKLock is the Lock of github.com/go-zookeeper/zk. The library cannot try without waiting, and a wait ends only when its
// connection is closed. Each hold therefore has a separate connection, which is closed if the waiter times out.
//
// Grants have no known validity. The client learns of a loss only when it reconnects.
func ZKLock() impls.Impl {
	return impls.Impl{
		Name: "zk-lock", Store: "zookeeper", Deployment: "single", ThirdParty: true, Session: true, Notifies: true, ReportsLoss: true,
		Doc: "the Lock of go-zookeeper/zk, with a separate connection for each hold; a try is a wait of a tenth of a second",
		Expect: slices.Concat(
			expect.Holds("the lowest number holds, and the server assigns each number once", "mutual-exclusion", "resource-integrity"),
			expect.Holds("a release wakes the next waiter, and the node of a dead client goes with its session", "no-orphan", "progress"),
			expect.In("misuse", expect.Holds("an unlocked lock returns an error", "owner-release")),
			expect.In("long-hold", expect.Holds("the client keeps the session alive", "mutual-exclusion")),
			expect.Under("process-pause", expect.Violated("a paused process cannot notice that its session has ended", "mutual-exclusion", "resource-integrity")),
			expect.Under("session-kill", expect.Violated("the node goes with the session, and the next client is granted before the holder detects that", "mutual-exclusion")),
			expect.Under("holder-stall", expect.Holds("the session lives as long as its process", "mutual-exclusion", "resource-integrity")),
			expect.Under("holder-kill half-open", expect.Holds("the session's heartbeats end, and the server ends the session", "recovery", "no-orphan", "mutual-exclusion", "resource-integrity")),
			expect.Under("holder-abandon", expect.Violated("its session lives as long as its process", "recovery", "no-orphan")),
			expect.Under("slow-network server-pause", expect.Holds("an unknown grant ends with its session", "mutual-exclusion", "resource-integrity", "no-orphan", "progress")),
			expect.Under("server-restart", expect.Holds("sessions and nodes are on disk before they are acknowledged", "mutual-exclusion", "resource-integrity", "no-orphan", "progress"))),
		Open: func(env impls.Env) (impls.Lock, error) {
			addresses, err := zookeeper.Addresses(env)
			if err != nil {
				return nil, err
			}
			l := &zkLocks{env: env, addresses: addresses, holds: newObjects[zkHeld]()}
			l.life, l.end = context.WithCancel(context.Background())
			l.Pool.Open, l.Pool.Drop = l.connect, func(c *zkClient) { l.running.Go(c.End) }
			return l, nil
		},
	}
}

const zkTry = 100 * time.Millisecond

type zkLocks struct {
	lease.Pool[*zkClient]
	env       impls.Env
	addresses []string
	holds     *objects[zkHeld]
	life      context.Context
	end       context.CancelFunc
	running   waiting.Group
}

type zkHeld struct {
	*zk.Lock
	client *zkClient
}

type zkClient struct {
	*zk.Conn
	ttl  time.Duration // requested lease
	over chan struct{} // closed when the client knows that the session has ended
}

func (c *zkClient) Alive(context.Context) bool { return !waiting.Over(c.over) }
func (c *zkClient) TTL() time.Duration         { return c.ttl }
func (c *zkClient) End()                       { c.Close() }

// connect returns a connection that may not be established yet. Requests wait until it is established.
func (l *zkLocks) connect(_ context.Context, ttl time.Duration) (*zkClient, error) {
	by := l.env.Network()
	conn, events, err := zk.Connect(l.addresses, ttl, zk.WithLogger(zookeeper.Silent{}), zk.WithLogInfo(false),
		zk.WithDialer(func(network, addr string, within time.Duration) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(l.life, within)
			defer cancel()
			return by(ctx, network, addr)
		}))
	if err != nil {
		return nil, err
	}
	c := &zkClient{conn, ttl, make(chan struct{})}
	l.running.Go(func() {
		for e := range events { // the library closes this channel when the connection ends
			if e.State == zk.StateExpired && !waiting.Over(c.over) {
				close(c.over)
			}
		}
	})
	return c, nil
}

func (l *zkLocks) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	if err := impls.CheckTTL(req.TTL); err != nil {
		return impls.Hold{}, err
	}
	c, err := l.Take(ctx, req.TTL)
	if err != nil {
		return impls.Hold{}, err
	}
	l.env.Tally.Attempt()
	wait := req.Wait
	if wait == 0 {
		wait = zkTry
	}
	w := newAttempt(l.life, ctx, wait)
	defer w.end()
	h := zkHeld{zk.NewLock(c.Conn, "/"+url.PathEscape(l.env.Prefix+req.Key), zk.WorldACL(zk.PermAll)), c}
	locked := make(chan error, 1)
	go func() { locked <- h.Lock.Lock() }()
	select {
	case err = <-locked:
	case <-w.Done():
		known := c.State() == zk.StateHasSession // a connected client can ask the server to end the session, which cancels the request
		c.Close()
		if err = w.endAbandoned(w.by.Err()); !known && errors.Is(err, impls.ErrBusy) {
			err = errors.New("the wait ended, and the request may be queued until the session ends")
		}
		return impls.Hold{}, err
	}
	if err != nil {
		l.Drop(c)
		return impls.Hold{}, err
	}
	g := impls.Grant{Key: req.Key, Owner: req.Owner, Token: impls.Token(l.env.Rand)}
	l.holds.keep(g.Token, h)
	return impls.Hold{Grant: g, Lost: c.over}, nil
}

// Release releases a hold. It adds a timeout, because the library's release has none.
func (l *zkLocks) Release(ctx context.Context, g impls.Grant) error {
	h, first, err := l.holds.take(g)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, waiting.CommandTimeout)
	defer cancel()
	unlocked := make(chan error, 1)
	go func() { unlocked <- h.Unlock() }()
	select {
	case err = <-unlocked:
	case <-ctx.Done():
		err = ctx.Err()
	}
	err = notHeld(err, zk.ErrNotLocked, zk.ErrNoNode)
	switch {
	case err != nil && !errors.Is(err, impls.ErrNotHeld):
		l.Drop(h.client)
	case first:
		l.Put(h.client)
	}
	return err
}

// Close ends every session.
func (l *zkLocks) Close() error {
	l.end()
	l.Pool.Close()
	l.holds.mu.Lock()
	for _, h := range l.holds.held {
		l.Drop(h.client)
	}
	l.holds.mu.Unlock()
	l.running.Close()
	return nil
}
