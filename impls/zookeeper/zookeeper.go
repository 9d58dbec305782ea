// Package zookeeper has the locks on ZooKeeper: a queue of sequential nodes that belong to a session.
package zookeeper

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/lease"
)

// Queue is the lock of ZooKeeper's own recipes. A node's name has random bits: if the answer to its creation is lost, it is
// looked for on the next connection.
//
// The promise is the session's timeout as the server granted it, counted from the sending of the last request that was
// answered. The fence is the number of the transaction that created the node: it rises for as long as the servers keep their
// data.
//
// A process that is paused beyond its timeout does not know that it lost the lock. Only the fence stops it, if it is checked.
func Queue() impls.Impl {
	return impls.Impl{
		Name: "zookeeper", Store: "zookeeper", Deployment: "single", Renews: true, Session: true, Notifies: true, Fences: true,
		Late:   200 * time.Millisecond, // it ends sessions at its ticks
		Doc:    "ephemeral sequential nodes: the lowest holds, each waits for the one before its own, and the session's end frees",
		Expect: zooKeeperExpect("a release wakes who is next, and whoever is gone loses its node with its session"),
		Open:   func(env impls.Env) (impls.Lock, error) { return openZooKeeper(env, false) },
	}
}

// zooKeeperExpect expects of nodes that go with their session; wakes says who is woken by a release.
func zooKeeperExpect(wakes string) []impls.Expectation {
	return slices.Concat(
		expect.Excludes("the lowest number holds, and the server gives each number once"),
		expect.Holds(wakes, "no-orphan", "progress"),
		expect.Holds("transactions are numbered in their order, and a node is created before the next one", "fencing"),
		expect.In("misuse", expect.Holds("a node has a name of its own, and who releases deletes that or nothing", "owner-release")),
		expect.In("long-hold", expect.Holds("a third into each timeout the server hears of the session", "lease-exclusion", "mutual-exclusion", "renewal")),
		expect.LeasedSession())
}

type zooKeeperLock struct {
	*lease.Sessions[*zkSession]
	herd bool // all waiters watch the whole queue
}

var _ impls.Prober = (*zooKeeperLock)(nil)

func openZooKeeper(env impls.Env, herd bool) (impls.Lock, error) {
	addresses, err := Addresses(env)
	if err != nil {
		return nil, err
	}
	return &zooKeeperLock{lease.NewSessions(env, func(ctx context.Context, ttl time.Duration) (*zkSession, error) {
		return openZKSession(ctx, env, addresses, ttl)
	}), herd}, nil
}

func (l *zooKeeperLock) queue(key string) string { return "/" + url.PathEscape(l.Env.Prefix+key) }

func (l *zooKeeperLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	return l.Queue(ctx, req, func(ctx context.Context, s *zkSession) (lease.Place, error) {
		p := &place{l, s, req, l.queue(req.Key), ""}
		return p, p.enter(ctx, impls.Token(l.Env.Rand)+"-")
	})
}

// place is a node in a queue.
type place struct {
	lock  *zooKeeperLock
	s     *zkSession
	req   impls.Request
	queue string
	name  string
}

// enter creates a node at the end of the queue. If the answer was lost the node is looked for: what was sent on a closed
// connection does not take effect once the session's next one is open. That one's server may lag, and is synced first: a node
// that is overlooked would stay in the queue.
func (p *place) enter(ctx context.Context, prefix string) error {
	for {
		path, err := askZK(ctx, p.s, func(c *zk.Conn) (string, error) {
			return c.Create(p.queue+"/"+prefix, nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
		})
		switch {
		case err == nil:
			p.name = path[len(p.queue)+1:]
			return nil
		case errors.Is(err, zk.ErrNoNode):
			_, err = askZKAgain(ctx, p.s, func(c *zk.Conn) (string, error) { return c.Create(p.queue, nil, 0, zk.WorldACL(zk.PermAll)) })
			if errors.Is(err, zk.ErrNodeExists) { // by now
				err = nil
			}
		case errors.Is(err, zk.ErrConnectionClosed) && ctx.Err() == nil:
			var names []string
			if err = syncZK(ctx, p.s, p.queue); err == nil {
				names, _, err = children(ctx, p.s, p.queue, false)
			}
			if i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, prefix) }); i >= 0 {
				p.name = names[i]
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
}

// children returns the names in a queue, ordered by the ten digits at their ends, and, if watched, a channel that is ready
// when they change.
func children(ctx context.Context, s *zkSession, queue string, watched bool) ([]string, <-chan zk.Event, error) {
	type listing struct {
		names   []string
		changed <-chan zk.Event
	}
	l, err := askZKAgain(ctx, s, func(c *zk.Conn) (l listing, err error) {
		if watched {
			l.names, _, l.changed, err = c.ChildrenW(queue)
		} else {
			l.names, _, err = c.Children(queue)
		}
		return l, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil, nil
	}
	slices.SortFunc(l.names, func(a, b string) int { return strings.Compare(a[max(0, len(a)-10):], b[max(0, len(b)-10):]) })
	return l.names, l.changed, err
}

// Await watches the node just before its own, or all of them in a herd.
func (p *place) Await(ctx, patient context.Context) error {
	for woken := false; ; {
		first, changed, err := p.look(ctx)
		if woken && !first {
			p.lock.Env.Tally.Wasted()
		}
		switch {
		case err != nil || first:
			return err
		case p.req.Wait == 0:
			return impls.ErrBusy
		}
		select {
		case <-changed:
			woken = true
		case <-p.s.over:
			return errSessionOver
		case <-p.lock.Life.Done():
			return impls.ErrClosed
		case <-patient.Done():
			return impls.ErrBusy
		}
	}
}

// look reports whether the node is the first of its queue. If not, and its owner waits, changed is ready when that may have
// changed.
func (p *place) look(ctx context.Context) (first bool, changed <-chan zk.Event, err error) {
	herd := p.lock.herd && p.req.Wait != 0
	names, changed, err := children(ctx, p.s, p.queue, herd)
	if err != nil {
		return false, nil, err
	}
	switch i := slices.Index(names, p.name); {
	case i < 0:
		return false, nil, lease.ErrOutOfQueue
	case i == 0 || herd || p.req.Wait == 0:
		return i == 0, changed, nil
	default:
		// The node is read, and not asked whether it exists: the watch for one that is gone already would stay at the
		// server for as long as the session.
		changed, err = askZKAgain(ctx, p.s, func(c *zk.Conn) (<-chan zk.Event, error) {
			_, _, gone, err := c.GetW(p.queue + "/" + names[i-1])
			if errors.Is(err, zk.ErrNoNode) {
				at := make(chan zk.Event)
				close(at)
				return at, nil
			}
			return gone, err
		})
		return false, changed, err
	}
}

// Grant asks for the node once more, which tells its fence, and when the session lasts from.
func (p *place) Grant(ctx context.Context) (impls.Grant, lease.Renewal, error) {
	path := p.queue + "/" + p.name
	sent := time.Now()
	node, err := stat(ctx, p.s, path)
	switch {
	case errors.Is(err, impls.ErrNotHeld):
		return impls.Grant{}, lease.Renewal{}, lease.ErrOutOfQueue
	case err != nil:
		return impls.Grant{}, lease.Renewal{}, err
	}
	renew := func(ctx context.Context) error {
		if err := syncZK(ctx, p.s, path); err != nil { // a follower answers by itself for a while after it lost its leader
			return err
		}
		_, err := stat(ctx, p.s, path)
		return err
	}
	return impls.Grant{Key: p.req.Key, Owner: p.req.Owner, Token: p.name, Fence: node.Czxid},
		lease.Renewal{Sent: sent, Lasts: p.s.lasts(), Renew: renew, Gone: p.s.over}, nil
}

// stat asks for a node, by which the server hears of the session. ErrNotHeld: it is gone.
func stat(ctx context.Context, s *zkSession, path string) (*zk.Stat, error) {
	return askZKAgain(ctx, s, func(c *zk.Conn) (*zk.Stat, error) {
		exists, stat, err := c.Exists(path)
		if err == nil && !exists {
			return nil, impls.ErrNotHeld
		}
		return stat, err
	})
}

func (p *place) Leave(ctx context.Context) error { return remove(ctx, p.s, p.queue+"/"+p.name) }

// remove deletes a node. ErrNotHeld: it was gone, and not by a first try whose answer was lost.
func remove(ctx context.Context, s *zkSession, path string) error {
	for again := false; ; again = true {
		_, err := askZK(ctx, s, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.Delete(path, -1) })
		switch {
		case connectionBroke(err) && ctx.Err() == nil:
			continue
		case errors.Is(err, zk.ErrNoNode) && again:
			return nil
		case errors.Is(err, zk.ErrNoNode):
			return impls.ErrNotHeld
		}
		return err
	}
}

// Release deletes the node, from another session if need be: nobody else's node has its name.
func (l *zooKeeperLock) Release(ctx context.Context, g impls.Grant) error {
	return l.ReleaseBy(ctx, g, func(ctx context.Context, s *zkSession) error { return remove(ctx, s, l.queue(g.Key)+"/"+g.Token) })
}

// Probe asks for the first of the queue. The server does not tell how long its session lasts.
func (l *zooKeeperLock) Probe(ctx context.Context, key string) (token string, left time.Duration, err error) {
	err = l.Ask(ctx, func(ctx context.Context, s *zkSession) error {
		if err := syncZK(ctx, s, l.queue(key)); err != nil {
			return err
		}
		names, _, err := children(ctx, s, l.queue(key), false)
		if len(names) > 0 {
			token, left = names[0], impls.Unbounded
		}
		return err
	})
	return token, left, err
}
