package impls

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/go-zookeeper/zk"
)

// zkLock is the Lock of github.com/go-zookeeper/zk. It waits until it is granted: there is no try, and nothing that
// would end a wait but the end of its connection. So each hold has a connection of its own, which waits for the next
// hold after it, and is closed where somebody gives up.
//
// It promises nothing: neither a time nor word of a loss. Its connection tells of the end of its session, which is when
// it is next connected to a server.
func zkLock() Impl {
	return Impl{
		Name: "zk-lock", Store: "zookeeper", Deployment: "single", Peer: true, Session: true, Notifies: true,
		Late: 200 * time.Millisecond, // it ends sessions at its ticks
		Doc:  "the Lock of go-zookeeper/zk, each hold with a connection of its own; a try is a wait of a tenth of a second",
		Expect: together(
			expect(Holds, "the lowest number holds, and the server gives each number once", "mutual-exclusion", "resource-integrity"),
			expect(Holds, "a release wakes who is next, and whoever is gone loses its node with its session", "no-orphan", "progress"),
			in("misuse", expect(Holds, "a lock that was unlocked says so", "owner-release")),
			in("long-hold", expect(Holds, "the client keeps the session alive", "mutual-exclusion")),
			under("process-pause", expect(Breaks, "nothing in a process that stands still can notice that its session is over", "mutual-exclusion", "resource-integrity")),
			under("session-kill", expect(Breaks, "the node went with the session, and the next is granted before the holder's client has heard", "mutual-exclusion")),
			under("holder-stall", expect(Holds, "while its process lives its session does", "mutual-exclusion", "resource-integrity")),
			under("holder-kill half-open", expect(Holds, "nobody keeps the session alive any more, and the server ends it", "recovery", "no-orphan", "mutual-exclusion", "resource-integrity")),
			under("holder-abandon", expect(Breaks, "its session lives for as long as its process", "recovery", "no-orphan")),
			under("slow-network server-pause", expect(Holds, "what is not known to be granted goes with its session", "mutual-exclusion", "resource-integrity", "no-orphan", "progress")),
			under("server-restart", expect(Holds, "sessions and nodes are on disk before they are acknowledged", "mutual-exclusion", "resource-integrity", "no-orphan", "progress"))),
		Open: openZKLock,
	}
}

// zkTry is how long one who is to try waits.
const zkTry = 100 * time.Millisecond

type zkLocks struct {
	env       Env
	addresses []string
	free      perLease[*zkClient]
	holds     *objects[zkHeld]
	life      context.Context
	end       context.CancelFunc
	running   background
}

// zkHeld is one hold, or one that is asked for.
type zkHeld struct {
	*zk.Lock
	client *zkClient
	lease  time.Duration // that was asked for
}

// zkClient is a connection, and its session.
type zkClient struct {
	*zk.Conn
	over chan struct{} // closed when the session is known to have ended
}

var _ Lock = (*zkLocks)(nil)

func openZKLock(env Env) (Lock, error) {
	if err := CheckParams(env.Params); err != nil {
		return nil, err
	}
	addresses, err := zkAddresses(env)
	if err != nil {
		return nil, err
	}
	l := &zkLocks{env: env, addresses: addresses, holds: newObjects[zkHeld]()}
	l.life, l.end = context.WithCancel(context.Background())
	l.free.open, l.free.end = l.connect, func(c *zkClient) { c.Close() }
	return l, nil
}

// connect opens a connection, which is not up yet: what is asked of it waits until it is.
func (l *zkLocks) connect(_ context.Context, ttl time.Duration) (*zkClient, error) {
	by := l.env.Dial
	if by == nil {
		by = new(net.Dialer).DialContext
	}
	conn, events, err := zk.Connect(l.addresses, ttl, zk.WithLogger(quietZK{}), zk.WithLogInfo(false),
		zk.WithDialer(func(network, addr string, within time.Duration) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(l.life, within)
			defer cancel()
			return by(ctx, network, addr)
		}))
	if err != nil {
		return nil, err
	}
	c := &zkClient{conn, make(chan struct{})}
	l.running.Go(func() { c.listen(events) })
	return c, nil
}

// listen hears of the end of the session, and returns when the connection is closed.
func (c *zkClient) listen(events <-chan zk.Event) {
	over := false
	for e := range events {
		if e.State == zk.StateExpired && !over {
			over = true
			close(c.over)
		}
	}
}

// take hands out a connection whose session lives, as far as it knows.
func (l *zkLocks) take(ctx context.Context, ttl time.Duration) (*zkClient, error) {
	for {
		c, err := l.free.sessions(ttl).take(ctx)
		if err != nil {
			return nil, err
		}
		select {
		case <-c.over:
			l.running.Go(c.Close)
		default:
			return c, nil
		}
	}
}

func (l *zkLocks) Acquire(ctx context.Context, req Request) (Hold, error) {
	if err := checkTTL(req.TTL); err != nil {
		return Hold{}, err
	}
	c, err := l.take(ctx, req.TTL)
	if err != nil {
		return Hold{}, err
	}
	l.env.Tally.Attempt()
	wait := req.Wait
	if wait == 0 {
		wait = zkTry
	}
	w := newWaiting(l.life, ctx, wait)
	defer w.end()
	h := zkHeld{zk.NewLock(c.Conn, "/"+url.PathEscape(l.env.Prefix+req.Key), zk.WorldACL(zk.PermAll)), c, req.TTL}
	locked := make(chan error, 1)
	go func() { locked <- h.Lock.Lock() }()
	select {
	case err = <-locked:
	case <-w.Done():
		known := c.State() == zk.StateHasSession // the server hears of the end of the session
		c.Close()
		if err = w.over(w.by.Err()); !known && errors.Is(err, ErrBusy) {
			err = errors.New("gave up waiting, and may be in the queue until the session ends")
		}
		return Hold{}, err
	}
	if err != nil {
		l.running.Go(c.Close)
		return Hold{}, err
	}
	g := Grant{Key: req.Key, Owner: req.Owner, Token: token(l.env.Rand)}
	l.holds.keep(g.Token, h)
	return Hold{Grant: g, Lost: c.over}, nil
}

// Release bounds what the library does not.
func (l *zkLocks) Release(ctx context.Context, g Grant) error {
	h, first, found := l.holds.take(g)
	if !found {
		return fmt.Errorf("%w: no such lock", ErrNotHeld)
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	unlocked := make(chan error, 1)
	go func() { unlocked <- h.Unlock() }()
	var err error
	select {
	case err = <-unlocked:
	case <-ctx.Done():
		err = ctx.Err()
	}
	switch {
	case errors.Is(err, zk.ErrNotLocked), errors.Is(err, zk.ErrNoNode):
		err = fmt.Errorf("%w: %w", ErrNotHeld, err)
	case err != nil:
		l.running.Go(h.client.Close)
		return err
	}
	if first {
		l.free.sessions(h.lease).put(h.client)
	}
	return err
}

// Close ends every session.
func (l *zkLocks) Close() error {
	l.end()
	l.free.close()
	for _, h := range l.holds.all() {
		l.running.Go(h.client.Close)
	}
	l.running.Close()
	return nil
}
