package impls

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// zooKeeper is the lock of ZooKeeper's own recipes: each request is a node with a number that rises, which goes with
// its session, and the lowest holds. Each waits for the node just before its own, so that a release wakes one. The
// node's name has random bits in it: where the answer to its creation is lost, it is looked for on the next
// connection, and nothing is left in the queue that nobody knows of.
//
// What is promised is the session's timeout as the server granted it, which may be longer than what was asked for,
// counted from the sending of the last request that was answered. The fence is the number of the transaction that
// created the node: it rises with the queue, and for as long as the servers keep their data. One that is set up anew
// counts from the beginning, one that is restored from where its copy was made.
//
// What is left: a process that stands still for longer than its session's timeout holds nothing any more when it goes
// on, and does not know. The fence stops it, where what is guarded checks it.
func zooKeeper() Impl {
	return Impl{
		Name: "zookeeper", Store: "zookeeper", Deployment: "single", Renews: true, Session: true, Notifies: true, Fences: true,
		Late:   200 * time.Millisecond, // it ends sessions at its ticks
		Doc:    "ephemeral sequential nodes: the lowest holds, each waits for the one before its own, and the session's end frees",
		Expect: zooKeeperExpect("a release wakes who is next, and whoever is gone loses its node with its session"),
		Open:   func(env Env) (Lock, error) { return openZooKeeper(env, false) },
	}
}

// zooKeeperExpect is what to expect of nodes that go with their session, whoever waits for which.
func zooKeeperExpect(wakes string) []Expectation {
	return together(
		expect(Holds, "the lowest number holds, and the server gives each number once", "lease-exclusion", "mutual-exclusion", "resource-integrity"),
		expect(Holds, wakes, "no-orphan", "progress"),
		expect(Holds, "transactions are numbered in their order, and a node is created before the next one", "fencing"),
		in("misuse", expect(Holds, "a node has a name of its own, and who releases deletes that or nothing", "owner-release")),
		in("long-hold", expect(Holds, "a third into each timeout the server hears of the session", "lease-exclusion", "mutual-exclusion", "renewal")),
		leasedSession())
}

// leasedSession is what to expect under faults of a lock that is a session's, which is kept alive from its process, and
// whose holder looks at its own clock.
func leasedSession() []Expectation {
	return together(
		under("process-pause", together(
			expect(Breaks, "nothing in a process that stands still can notice that its session is over", "mutual-exclusion"),
			expect(Holds, checked, "resource-integrity"),
			expect(Holds, "the next is granted after the session, with a higher token", "lease-exclusion", "fencing"))),
		in("write-fenced", under("process-pause", expect(Breaks, "the next one has read, which raised no mark, and the late one's write is still taken",
			"resource-integrity"))),
		under("holder-stall", together(threeViews(Holds, "while its process lives its session does"), expect(Holds, "a third into each timeout", "renewal"))),
		recovers("holder-kill", "nobody keeps the session alive any more, and the server ends it"),
		recovers("half-open", "the server hears nothing any more, and ends the session, whatever the connection looks like"),
		under("holder-abandon", expect(Breaks, "its session lives for as long as its process", "recovery", "no-orphan")),
		survives("slow-network partition partition-one-way server-pause",
			"what a session is not known to hold goes with it, and a holder that is not heard of stops in time"),
		survives("server-restart", "sessions and what they hold are on disk before they are acknowledged"),
		survives("leader-loss", "a majority has what was acknowledged, and one of it leads next"))
}

type zooKeeperLock struct {
	*bound[*zkSession]
	env  Env
	herd bool // everybody waits for every change
}

var (
	_ Lock   = (*zooKeeperLock)(nil)
	_ Prober = (*zooKeeperLock)(nil)
)

func openZooKeeper(env Env, herd bool) (Lock, error) {
	if err := CheckParams(env.Params); err != nil {
		return nil, err
	}
	addresses, err := zkAddresses(env)
	if err != nil {
		return nil, err
	}
	open := func(ctx context.Context, ttl time.Duration) (*zkSession, error) {
		return openZKSession(ctx, env, addresses, ttl)
	}
	return &zooKeeperLock{newBound(env, open), env, herd}, nil
}

// queue is the node of a key, whose children wait for it, or hold it.
func (l *zooKeeperLock) queue(key string) string { return "/" + url.PathEscape(l.env.Prefix+key) }

func (l *zooKeeperLock) Acquire(ctx context.Context, req Request) (Hold, error) {
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
	name, err := l.enter(ctx, s, req.Key)
	if err != nil {
		l.drop(s)
		return Hold{}, fmt.Errorf("enter the queue: %w", err)
	}
	err = l.awaitTurn(ctx, patient, s, req, name)
	if errors.Is(err, ErrBusy) {
		return Hold{}, l.withdraw(ctx, s, func(ctx context.Context) error { return l.delete(ctx, s, req.Key, name) })
	}
	if err == nil {
		var hold Hold
		if hold, err = l.hold(ctx, s, req, name, start); err == nil {
			return hold, nil
		}
	}
	l.drop(s)
	return Hold{}, err
}

// errOutOfQueue: whoever waits is no longer there, as where its session was ended.
var errOutOfQueue = errors.New("what was in the queue is gone from it")

// enter creates a node at the end of the queue and returns its name. Where the answer was lost the node is looked for:
// what was sent on a connection that is closed does not come about once the next one of its session is open. The next
// one's server may lag, and is brought up to date first: a node that is overlooked would stay in the queue for as long
// as the session waits for other holds.
func (l *zooKeeperLock) enter(ctx context.Context, s *zkSession, key string) (name string, err error) {
	l.env.Tally.Attempt()
	queue, prefix := l.queue(key), token(l.env.Rand)+"-"
	for {
		path, err := askZK(ctx, s, func(c *zk.Conn) (string, error) {
			return c.Create(queue+"/"+prefix, nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
		})
		switch {
		case err == nil:
			return path[len(queue)+1:], nil
		case errors.Is(err, zk.ErrNoNode):
			err = l.createQueue(ctx, s, queue)
		case errors.Is(err, zk.ErrConnectionClosed) && ctx.Err() == nil:
			var names []string
			if err = syncZK(ctx, s, queue); err == nil {
				names, err = l.children(ctx, s, key)
			}
			if i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, prefix) }); i >= 0 {
				return names[i], nil
			}
		}
		if err != nil {
			return "", err
		}
	}
}

// createQueue creates the node of a key, unless somebody else has meanwhile.
func (l *zooKeeperLock) createQueue(ctx context.Context, s *zkSession, queue string) error {
	_, err := askZKAgain(ctx, s, func(c *zk.Conn) (string, error) {
		return c.Create(queue, nil, 0, zk.WorldACL(zk.PermAll))
	})
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// children are the names of those who hold a key or wait for it, in their order.
func (l *zooKeeperLock) children(ctx context.Context, s *zkSession, key string) ([]string, error) {
	names, err := askZKAgain(ctx, s, func(c *zk.Conn) ([]string, error) {
		names, _, err := c.Children(l.queue(key))
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	inOrder(names)
	return names, err
}

// inOrder sorts names by the number at their end, which has ten digits.
func inOrder(names []string) {
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(a[max(0, len(a)-10):], b[max(0, len(b)-10):]) })
}

// awaitTurn returns when the node is the first of its queue. ErrBusy: it is not, and the patience is over.
func (l *zooKeeperLock) awaitTurn(ctx, patient context.Context, s *zkSession, req Request, name string) error {
	for woken := false; ; {
		first, changed, err := l.look(ctx, s, req, name)
		if woken && !first {
			l.env.Tally.Wasted()
		}
		switch {
		case err != nil || first:
			return err
		case req.Wait == 0:
			return ErrBusy
		}
		select {
		case <-changed:
			woken = true
		case <-s.over:
			return errSessionOver
		case <-l.life.Done():
			return errLockClosed
		case <-patient.Done():
			return ErrBusy
		}
	}
}

// look tells whether the node is the first of its queue, and, where it is not and its owner waits, gives what is ready
// when that may have changed.
func (l *zooKeeperLock) look(ctx context.Context, s *zkSession, req Request, name string) (first bool, changed <-chan zk.Event, err error) {
	var names []string
	if l.herd && req.Wait != 0 {
		names, changed, err = l.childrenWatched(ctx, s, req.Key)
	} else {
		names, err = l.children(ctx, s, req.Key)
	}
	if err != nil {
		return false, nil, err
	}
	switch i := slices.Index(names, name); {
	case i < 0:
		return false, nil, errOutOfQueue
	case i == 0 || req.Wait == 0 || l.herd:
		return i == 0, changed, nil
	default:
		changed, err = l.watch(ctx, s, l.queue(req.Key)+"/"+names[i-1])
		return false, changed, err
	}
}

// watch gives what is ready when a node is gone. It is read, and not asked whether it exists: the watch for one that is
// gone already would stay at the server for as long as the session.
func (l *zooKeeperLock) watch(ctx context.Context, s *zkSession, path string) (<-chan zk.Event, error) {
	return askZKAgain(ctx, s, func(c *zk.Conn) (<-chan zk.Event, error) {
		_, _, gone, err := c.GetW(path)
		if errors.Is(err, zk.ErrNoNode) {
			at := make(chan zk.Event)
			close(at)
			return at, nil
		}
		return gone, err
	})
}

func (l *zooKeeperLock) childrenWatched(ctx context.Context, s *zkSession, key string) (names []string, changed <-chan zk.Event, err error) {
	type watched struct {
		names   []string
		changed <-chan zk.Event
	}
	w, err := askZKAgain(ctx, s, func(c *zk.Conn) (watched, error) {
		names, _, changed, err := c.ChildrenW(l.queue(key))
		return watched{names, changed}, err
	})
	inOrder(w.names)
	return w.names, w.changed, err
}

// hold makes the first of a queue a hold: its node is asked for once more, which tells its fence, and from when on the
// session lasts.
func (l *zooKeeperLock) hold(ctx context.Context, s *zkSession, req Request, name string, start time.Time) (Hold, error) {
	path := l.queue(req.Key) + "/" + name
	sent := time.Now()
	stat, err := l.stat(ctx, s, path)
	if errors.Is(err, ErrNotHeld) {
		err = errOutOfQueue
	}
	if err != nil {
		return Hold{}, err
	}
	g := Grant{Key: req.Key, Owner: req.Owner, Token: name, Fence: stat.Czxid}
	return l.keep(s, g, start, sent, func(ctx context.Context) error {
		if err := syncZK(ctx, s, path); err != nil { // a follower answers by itself for a while after it lost its leader
			return err
		}
		_, err := l.stat(ctx, s, path)
		return err
	})
}

// stat asks for a node, by which the server hears of the session. ErrNotHeld: it is gone.
func (l *zooKeeperLock) stat(ctx context.Context, s *zkSession, path string) (*zk.Stat, error) {
	return askZKAgain(ctx, s, func(c *zk.Conn) (*zk.Stat, error) {
		exists, stat, err := c.Exists(path)
		if err == nil && !exists {
			return nil, ErrNotHeld
		}
		return stat, err
	})
}

// delete deletes a node. ErrNotHeld: it was gone, and not by a first try whose answer was lost.
func (l *zooKeeperLock) delete(ctx context.Context, s *zkSession, key, name string) error {
	for again := false; ; again = true {
		_, err := askZK(ctx, s, func(c *zk.Conn) (struct{}, error) {
			return struct{}{}, c.Delete(l.queue(key)+"/"+name, -1)
		})
		switch {
		case connectionBroke(err) && ctx.Err() == nil:
			continue
		case errors.Is(err, zk.ErrNoNode) && again:
			return nil
		case errors.Is(err, zk.ErrNoNode):
			return ErrNotHeld
		}
		return err
	}
}

// Release deletes the node, also from another session: nobody else's has its name.
func (l *zooKeeperLock) Release(ctx context.Context, g Grant) error {
	return l.release(ctx, g, func(ctx context.Context, s *zkSession) error { return l.delete(ctx, s, g.Key, g.Token) })
}

// Probe asks for the first of the queue. How long its session would last without a word nobody else is told.
func (l *zooKeeperLock) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	s, err := l.take(ctx, anyLease)
	if err != nil {
		return "", 0, err
	}
	var names []string
	if err = syncZK(ctx, s, l.queue(key)); err == nil {
		names, err = l.children(ctx, s, key)
	}
	if err != nil {
		l.drop(s)
		return "", 0, err
	}
	l.put(s)
	if len(names) == 0 {
		return "", 0, nil
	}
	return names[0], Unbounded, nil
}

func (l *zooKeeperLock) Close() error {
	l.close()
	return nil
}
