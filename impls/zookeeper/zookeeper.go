// Package zookeeper implements locks on ZooKeeper. Each lock is a queue of ephemeral sequential nodes. Each exported function
// returns the impls.Impl of one lock.
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

// Queue returns the lock recipe of the ZooKeeper documentation: a queue of sequential nodes. Node names contain random bits. If
// the reply to a create request is lost, the client searches for the node name on the next connection. The lease is the session
// timeout that the server granted, counted from the last answered request. The fencing token is the id of the transaction that
// created the node. These ids increase as long as the servers keep their data. A process that is paused for longer than the
// timeout does not notice that it lost the lock. Then only a resource that checks fencing tokens prevents stale writes.
func Queue() impls.Impl {
	return impls.Impl{
		Name: "zookeeper", Store: "zookeeper", Deployment: "single", Renews: true, Session: true, Notifies: true, Fences: true, ReportsLoss: true,
		Doc:    "ephemeral sequential nodes: the lowest holds, each waits for the preceding one, and the end of a session deletes its node",
		Expect: zooKeeperExpect("a release wakes the next waiter, and the node of a dead client goes with its session"),
		Open:   func(env impls.Env) (impls.Lock, error) { return openZooKeeper(env, false) },
	}
}

// zooKeeperExpect returns the expectations of the ZooKeeper locks. The parameter wakes is the reason why waiters make progress:
// it says which waiters a release wakes.
func zooKeeperExpect(wakes string) []impls.Expectation {
	return slices.Concat(
		expect.Excludes("the lowest number holds, and the server assigns each number once"),
		expect.Holds(wakes, "no-orphan", "progress"),
		expect.Holds("transactions are numbered in their order, and a node is created before the next one", "fencing"),
		expect.In("misuse", expect.Holds("node names are unique, and a release deletes only its own node", "owner-release")),
		expect.In("long-hold", expect.Holds("the session sends a heartbeat at a third of each timeout", "lease-exclusion", "mutual-exclusion", "renewal")),
		expect.Answers(), expect.Prompt(), expect.Tells(), expect.LeasedSession())
}

type zooKeeperLock struct {
	*lease.Sessions[*zkSession]
	herd bool // whether each waiter watches the whole queue
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

type place struct {
	lock  *zooKeeperLock
	s     *zkSession
	req   impls.Request
	queue string
	name  string
}

// enter creates a node at the end of the queue. If the reply is lost, enter searches for the node on the session's next
// connection. By then, the old request can no longer take effect. Before the search, enter syncs the server, which may lag
// behind. An overlooked node would block the queue.
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
			if errors.Is(err, zk.ErrNodeExists) { // another client has created the queue before
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

// children returns the node names in a queue, sorted by their last ten digits. If watched is true, it also returns a channel that
// becomes readable when the nodes change.
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

// Await waits until the node is the first in its queue.
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

// look reports whether the node is the first in its queue. If not, the returned channel delivers an event or is closed when
// the node may have become the first.
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
		// Unlike ExistsW, GetW sets no watch if the node is already deleted. The server would keep such a watch until the
		// session ends.
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

// Grant reads the node and returns the grant. The fencing token is the id of the transaction that created the node. The lease
// starts when the read request was sent.
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
		if err := syncZK(ctx, p.s, path); err != nil { // a follower answers reads for a while after the leader is lost, but sync then fails
			return err
		}
		_, err := stat(ctx, p.s, path)
		return err
	}
	return impls.Grant{Key: p.req.Key, Owner: p.req.Owner, Token: p.name, Fence: node.Czxid},
		lease.Renewal{Sent: sent, Lasts: p.s.lasts(), Renew: renew, Gone: p.s.over}, nil
}

// stat returns the metadata of a node. The request also renews the session. stat returns ErrNotHeld if the node does
// not exist.
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

// remove deletes a node, and tries again if the connection breaks. It returns ErrNotHeld if the node did not exist at the first
// attempt. At a later attempt a missing node is not an error: the first request may have deleted the node.
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

// Release deletes the node. It may use another session, because node names are unique.
func (l *zooKeeperLock) Release(ctx context.Context, g impls.Grant) error {
	return l.ReleaseBy(ctx, g, func(ctx context.Context, s *zkSession) error { return remove(ctx, s, l.queue(g.Key)+"/"+g.Token) })
}

// Probe reads the first node of the queue. It reports no remaining lease, because the server does not report the remaining
// session timeout.
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
