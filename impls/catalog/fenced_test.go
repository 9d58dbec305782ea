package catalog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/impls"
	redislocks "lockbench/impls/redis"
	"lockbench/internal/world/servers"
)

const shortTTL = 300 * time.Millisecond

func mustAcquire(t *testing.T, l impls.Lock, owner string, ttl, wait time.Duration) impls.Hold {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	h, err := l.Acquire(ctx, impls.Request{Key: "k", Owner: owner, TTL: ttl, Wait: wait})
	if err != nil {
		t.Fatalf("%s: %v", owner, err)
	}
	return h
}

func mustRelease(t *testing.T, l impls.Lock, h impls.Hold) {
	t.Helper()
	if err := l.Release(t.Context(), h.Grant); err != nil {
		t.Fatalf("%s: %v", h.Owner, err)
	}
}

// queue is the key of the list of waiters for the key "k".
const queue = "queue:k"

// inQueue waits until n waiters are queued.
func inQueue(t *testing.T, g *servers.Group, n int64) {
	t.Helper()
	c := raw(t, g.URLs()[0])
	waitUntil(t, fmt.Sprintf("%d in the queue", n), func() bool { return c.LLen(t.Context(), queue).Val() == n })
}

// subscribed lets the process of a lock "fenced" subscribe, and returns the name of its channel.
func subscribed(t *testing.T, l impls.Lock, g *servers.Group) (channel string) {
	t.Helper()
	first := mustAcquire(t, l, "first", time.Minute, 0)
	waits := asynchronously(t.Context(), l, "second", time.Minute) // an acquire that waits subscribes
	c := raw(t, g.URLs()[0])
	waitUntil(t, "subscribed", func() bool {
		channels := c.PubSubChannels(t.Context(), "granted:*").Val()
		if len(channels) > 0 {
			channel = channels[0]
		}
		return len(channels) > 0
	})
	mustRelease(t, l, first)
	mustRelease(t, l, holdOf(t, waits))
	return channel
}

// setHold stores a hold of the key "k", with a lease of one minute, in the format of the lock "fenced".
func setHold(t *testing.T, g *servers.Group, token, owner string) {
	t.Helper()
	if err := raw(t, g.URLs()[0]).Set(t.Context(), "k", token+" 1 "+owner, time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
}

func waiting(token, process, owner string) string {
	return fmt.Sprintf("%s %s %d %s", token, process, 5000, owner)
}

// id returns a token or process id that consists of 32 equal digits.
func id(digit string) string { return strings.Repeat(digit, 32) }

// asynchronously calls Acquire in a goroutine. The returned channel receives the hold or the error.
func asynchronously(ctx context.Context, l impls.Lock, owner string, ttl time.Duration) <-chan any {
	result := make(chan any, 1)
	go func() {
		h, err := l.Acquire(ctx, impls.Request{Key: "k", Owner: owner, TTL: ttl, Wait: -1})
		if err != nil {
			result <- err
		} else {
			result <- h
		}
	}()
	return result
}

func holdOf(t *testing.T, result <-chan any) impls.Hold {
	t.Helper()
	select {
	case r := <-result:
		if h, ok := r.(impls.Hold); ok {
			return h
		}
		t.Fatal(r)
	case <-time.After(20 * time.Second):
		t.Fatal("never granted")
	}
	return impls.Hold{}
}

func TestFences(t *testing.T) {
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		a := open(t, "fenced", impls.Env{Nodes: g.Front()})
		dies := open(t, "fenced", impls.Env{Nodes: g.Front(), Process: 1})
		first := mustAcquire(t, a, "a", 10*time.Second, 0)
		inner := mustAcquire(t, a, "a", 10*time.Second, -1)
		if inner.Fence != first.Fence || inner.Token != first.Token || first.Depth != 1 || inner.Depth != 2 {
			t.Errorf("re-entry changed the hold: %+v, then %+v", first.Grant, inner.Grant)
		}
		mustRelease(t, a, inner)
		if token, _, err := a.(impls.Prober).Probe(t.Context(), "k"); token != first.Token || err != nil {
			t.Errorf("after the inner release the store says %q, %v", token, err)
		}
		mustRelease(t, a, first)
		second := mustAcquire(t, dies, "b", shortTTL, 0)
		dies.Close() // the hold expires without a release
		third := mustAcquire(t, a, "c", shortTTL, -1)
		if !(first.Fence < second.Fence && second.Fence < third.Fence) {
			t.Errorf("fences %d, %d, %d", first.Fence, second.Fence, third.Fence)
		}
	})
}

func TestFencedReleaseErrors(t *testing.T) {
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		a := open(t, "fenced", impls.Env{Nodes: g.Front()})
		h := mustAcquire(t, a, "a", 10*time.Second, 0)
		mustRelease(t, a, h)
		if err := a.Release(t.Context(), h.Grant); !errors.Is(err, redislocks.ErrExpired) || !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("a second release: %v", err)
		}
		mustAcquire(t, a, "b", 10*time.Second, 0)
		if err := a.Release(t.Context(), h.Grant); !errors.Is(err, redislocks.ErrHeldByAnother) || !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("a release of another client's hold: %v", err)
		}
		if _, err := a.Acquire(t.Context(), impls.Request{Key: "k", Owner: "a", TTL: time.Millisecond - 1}); err == nil || errors.Is(err, impls.ErrBusy) {
			t.Errorf("a lease under 1 ms: %v", err)
		}
	})
}

func TestFencedRenews(t *testing.T) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		var renewals atomic.Int64
		a := open(t, "fenced", impls.Env{Nodes: g.Front(), Renewed: func(g impls.Grant, _ time.Duration, err error) {
			if err == nil && g.Validity == time.Second {
				renewals.Add(1)
			}
		}})
		h := mustAcquire(t, a, "a", time.Second, 0)
		time.Sleep(2500 * time.Millisecond)
		select {
		case <-h.Lost:
			t.Error("lost although its server was running")
		default:
		}
		mustRelease(t, a, h)
		n := renewals.Load()
		time.Sleep(700 * time.Millisecond)
		if n < 2 || renewals.Load() != n {
			t.Errorf("%d renewals until the release, %d after", n, renewals.Load()-n)
		}
	})
}

func TestFencedLoss(t *testing.T) {
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		a := open(t, "fenced", impls.Env{Nodes: g.Front()})
		lost := func(h impls.Hold, why string) {
			t.Helper()
			select {
			case <-h.Lost:
			case <-time.After(20 * time.Second):
				t.Fatal(why + ", and no loss was reported")
			}
		}
		h := mustAcquire(t, a, "a", shortTTL, 0)
		raw(t, g.URLs()[0]).Del(t.Context(), "k")
		lost(h, "the key was deleted")
		if err := a.Release(t.Context(), h.Grant); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("the release of a lost hold: %v", err)
		}
		h = mustAcquire(t, a, "a", shortTTL, 0)
		setHold(t, g, id("9"), "b")
		lost(h, "the key has another token")
		if token, left, err := a.(impls.Prober).Probe(t.Context(), "k"); token != id("9") || left < time.Second || err != nil {
			t.Errorf("the other client's hold is %q for %v, %v", token, left, err)
		}
		raw(t, g.URLs()[0]).Del(t.Context(), "k")
		start := time.Now()
		h = mustAcquire(t, a, "a", time.Second, 0)
		if err := g.Nodes[0].Kill(); err != nil {
			t.Fatal(err)
		}
		lost(h, "the server is dead and the lease expired")
		if after := time.Since(start); after < time.Second/2 {
			t.Errorf("lost %v into a lease of 1s: a server that does not answer is not yet a loss", after)
		}
	})
}

func TestFencedCancelledWaiter(t *testing.T) {
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		a := open(t, "fenced", impls.Env{Nodes: g.Front()})
		b := open(t, "fenced", impls.Env{Nodes: g.Front(), Process: 1})
		h := mustAcquire(t, a, "a", 10*time.Second, 0)
		ctx, cancel := context.WithCancel(t.Context())
		goes := asynchronously(ctx, b, "goes", 10*time.Second)
		inQueue(t, g, 1)
		stays := asynchronously(t.Context(), b, "stays", 10*time.Second)
		inQueue(t, g, 2)
		cancel()
		if err := <-goes; err != impls.ErrBusy {
			t.Errorf("the cancelled waiter: %v", err)
		}
		inQueue(t, g, 1)
		mustRelease(t, a, h)
		mustRelease(t, b, holdOf(t, stays))
		inQueue(t, g, 0)
	})
}

// TestFencedCancelledDuringHandOver checks that a waiter releases the lock if it is cancelled during a hand-off.
func TestFencedCancelledDuringHandOver(t *testing.T) {
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		a := open(t, "fenced", impls.Env{Nodes: g.Front()})
		b := open(t, "fenced", impls.Env{Nodes: g.Front(), Process: 1})
		start := time.Now()
		for i := range 100 {
			h := mustAcquire(t, a, "a", 60*time.Second, -1)
			ctx, cancel := context.WithCancel(t.Context())
			waits := asynchronously(ctx, b, "b", 60*time.Second)
			inQueue(t, g, 1)
			go func() {
				time.Sleep(time.Duration(i) * 5 * time.Microsecond)
				cancel()
			}()
			mustRelease(t, a, h)
			if h, ok := (<-waits).(impls.Hold); ok {
				mustRelease(t, b, h)
			}
			cancel()
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("it took %v: a grant was not released", took)
		}
	})
}

// TestFencedDeadWaiters checks that a release skips dead waiters. A frozen waiter must delay the next waiter by less
// than half of a lease.
func TestFencedDeadWaiters(t *testing.T) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		const ttl = 20 * time.Second
		a := open(t, "fenced", impls.Env{Nodes: g.Front()})
		dies := open(t, "fenced", impls.Env{Nodes: g.Front(), Process: 1})
		h := mustAcquire(t, a, "a", ttl, 0)
		gone := asynchronously(t.Context(), dies, "gone", ttl)
		inQueue(t, g, 1)
		dies.Close()
		<-gone
		c := raw(t, g.URLs()[0])
		frozen := c.Subscribe(t.Context(), "granted:"+id("f"))
		defer frozen.Close()
		if _, err := frozen.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		entries := []any{waiting(id("1"), id("d"), "gone"), "of nobody", waiting(id("2"), id("e"), "gone"), waiting(id("3"), id("f"), "frozen")}
		if err := c.RPush(t.Context(), queue, entries...).Err(); err != nil {
			t.Fatal(err)
		}
		b := open(t, "fenced", impls.Env{Nodes: g.Front(), Process: 2})
		waits := asynchronously(t.Context(), b, "b", ttl)
		time.Sleep(50 * time.Millisecond)
		start := time.Now()
		mustRelease(t, a, h)
		if token, _, err := b.(impls.Prober).Probe(t.Context(), "k"); token != id("3") {
			t.Errorf("%q was granted, %v; the first waiter that listens is %q", token, err, id("3"))
		}
		mustRelease(t, b, holdOf(t, waits))
		if took := time.Since(start); took > ttl/2 {
			t.Errorf("the next waiter was delayed for %v by a frozen one, with a lease of %v", took, ttl)
		}
	})
}

// TestFencedLostNotice checks that a waiter learns of its grant from the server if the grant message was lost.
func TestFencedLostNotice(t *testing.T) {
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		a := open(t, "fenced", impls.Env{Nodes: g.Front()})
		b := open(t, "fenced", impls.Env{Nodes: g.Front(), Process: 1})
		first := mustAcquire(t, a, "a", 10*time.Second, 0)
		waits := asynchronously(t.Context(), b, "b", 10*time.Second)
		inQueue(t, g, 1)
		c := raw(t, g.URLs()[0])
		entry := c.RPop(t.Context(), queue).Val()
		token, _, _ := strings.Cut(entry, " ")
		setHold(t, g, token, "b")
		if h := holdOf(t, waits); h.Fence <= first.Fence || h.Token != token || h.Validity != 10*time.Second {
			t.Errorf("granted %+v", h.Grant)
		}
	})
}

func TestFencedManyWaiters(t *testing.T) {
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		locks := []impls.Lock{open(t, "fenced", impls.Env{Nodes: g.Front()}), open(t, "fenced", impls.Env{Nodes: g.URLs(), Process: 1})}
		var inside, last atomic.Int64
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				l := locks[i%2]
				h, err := l.Acquire(ctx, impls.Request{Key: "k", Owner: fmt.Sprint(i), TTL: 10 * time.Second, Wait: -1})
				if err != nil {
					t.Errorf("waiter %d: %v", i, err)
					return
				}
				if n, before := inside.Add(1), last.Swap(h.Fence); n != 1 || before >= h.Fence {
					t.Errorf("%d holders at once, fence %d after %d", n, h.Fence, before)
				}
				time.Sleep(time.Millisecond)
				inside.Add(-1)
				if err := l.Release(ctx, h.Grant); err != nil {
					t.Errorf("waiter %d: %v", i, err)
				}
			})
		}
		all.Wait()
		inQueue(t, g, 0)
	})
}

// TestTokensAfterLossOfMemory checks fencing tokens after the server has lost its data. Tokens from the server's clock
// must still increase. Tokens from a counter start at 1 again. The test checks the tokens of an acquire and of a
// hand-off.
func TestTokensAfterLossOfMemory(t *testing.T) {
	for _, c := range []struct {
		lock  string
		rises bool
	}{{"fenced", true}, {"fenced-counter", false}} {
		t.Run(c.lock, func(t *testing.T) {
			bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
				a := open(t, c.lock, impls.Env{Nodes: g.Front()})
				b := open(t, c.lock, impls.Env{Nodes: g.Front(), Process: 1})
				server := raw(t, g.URLs()[0])
				last := int64(0)
				third := func() impls.Hold { // acquires three times and returns the third hold; the fencing tokens must increase
					var h impls.Hold
					for i := range 3 {
						h = mustAcquire(t, a, "a", 10*time.Second, 0)
						if h.Fence <= last {
							t.Errorf("without a loss of memory, token %d follows %d", h.Fence, last)
						}
						if last = h.Fence; i < 2 {
							mustRelease(t, a, h)
						}
					}
					return h
				}
				third()
				if err := server.FlushAll(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				next := mustAcquire(t, b, "b", 10*time.Second, 0)
				if next.Fence > last != c.rises {
					t.Errorf("an acquire minted %d after %d", next.Fence, last)
				}
				mustRelease(t, b, next)
				last = next.Fence
				h := third()
				waits := asynchronously(t.Context(), b, "b", 10*time.Second)
				inQueue(t, g, 1)
				if err := server.Del(t.Context(), "fences").Err(); err != nil { // as if the server had evicted it
					t.Fatal(err)
				}
				mustRelease(t, a, h)
				if next = holdOf(t, waits); next.Fence > last != c.rises {
					t.Errorf("a release minted %d after %d", next.Fence, last)
				}
			})
		})
	}
}

// TestFencesOfNewConnections checks the first commands of new connections to a server that lacks the last fencing tokens, as after a
// failover. A token must be higher than all earlier ones, whether it is drawn by a plain command or by a script.
func TestFencesOfNewConnections(t *testing.T) {
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		var conns []net.Conn
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			conns = append(conns, c)
			return c, err
		}
		a := open(t, "fenced", impls.Env{Nodes: g.Front(), Dial: dial})
		b := open(t, "fenced", impls.Env{Nodes: g.Front(), Process: 1})
		server := raw(t, g.URLs()[0])
		early := mustAcquire(t, a, "a", 10*time.Second, 0)
		mustRelease(t, a, early)
		for _, path := range []string{"plain commands", "a script"} {
			h := mustAcquire(t, b, "b", 10*time.Second, 0)
			if path == "a script" {
				if _, err := a.Acquire(t.Context(), impls.Request{Key: "k", Owner: "a", TTL: time.Second}); !errors.Is(err, impls.ErrBusy) {
					t.Fatal(err)
				}
			}
			mustRelease(t, b, h)
			if err := server.Set(t.Context(), "fences", early.Fence, 0).Err(); err != nil {
				t.Fatal(err)
			}
			for _, c := range conns {
				c.Close()
			}
			next := mustAcquire(t, a, "a", 10*time.Second, 0)
			if next.Fence <= h.Fence {
				t.Errorf("after token %d, %s drew %d", h.Fence, path, next.Fence)
			}
			mustRelease(t, a, next)
		}
	})
}

// TestTokenOfReleasedHold checks a nested acquire on a server that has lost the release of the outer hold. The nested
// grant must have a new fencing token, because another client may have held the lock since the release.
func TestTokenOfReleasedHold(t *testing.T) {
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		a := open(t, "fenced", impls.Env{Nodes: g.Front()})
		b := open(t, "fenced", impls.Env{Nodes: g.Front(), Process: 1})
		first := mustAcquire(t, a, "a", 10*time.Second, 0)
		mustRelease(t, a, first)
		second := mustAcquire(t, b, "b", 10*time.Second, 0)
		setHold(t, g, first.Token, "a")
		if third := mustAcquire(t, a, "a", 10*time.Second, 0); third.Fence <= second.Fence {
			t.Errorf("after token %d, the hold with token %d was granted again with token %d", second.Fence, first.Fence, third.Fence)
		}
	})
}

// TestFencedReleaseAfterExpiry checks that the release of an expired hold returns ErrNotHeld, even while the store still
// has the token.
func TestFencedReleaseAfterExpiry(t *testing.T) {
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		a := open(t, "fenced", impls.Env{Nodes: g.Front()})
		dies := open(t, "fenced", impls.Env{Nodes: g.Front(), Process: 1})
		h := mustAcquire(t, dies, "a", 20*time.Millisecond, 0)
		dies.Close()
		waitUntil(t, "the lease expired", func() bool {
			token, _, err := a.(impls.Prober).Probe(t.Context(), "k")
			return token == "" && err == nil
		})
		if err := a.Release(t.Context(), h.Grant); !errors.Is(err, redislocks.ErrExpired) {
			t.Errorf("a release of an expired hold: %v", err)
		}
		if next := mustAcquire(t, a, "b", 10*time.Second, 0); next.Fence <= h.Fence || next.Depth != 1 {
			t.Errorf("after %+v came %+v", h.Grant, next.Grant)
		}
	})
}

// TestFreeFencedLockHasItsFence checks that the server stores nothing of a free lock, and only the last fencing token of all.
func TestFreeFencedLockHasItsFence(t *testing.T) {
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		a := open(t, "fenced-counter", impls.Env{Nodes: g.Front()})
		c := raw(t, g.URLs()[0])
		for want := range int64(3) {
			h := mustAcquire(t, a, "a", 10*time.Second, 0)
			mustRelease(t, a, h)
			left, last := c.Keys(t.Context(), "*").Val(), c.Get(t.Context(), "fences").Val()
			if h.Fence != want+1 || !slices.Equal(left, []string{"fences"}) || last != fmt.Sprint(h.Fence) {
				t.Errorf("granted %d; the keys %q are left, and the last fencing token is %s", h.Fence, left, last)
			}
			if token, left, err := a.(impls.Prober).Probe(t.Context(), "k"); token != "" || left != 0 || err != nil {
				t.Errorf("the lock is free, and the probe returned %q, %v, %v", token, left, err)
			}
		}
	})
}

// TestFencedRenewalKeepsLongerLease checks that the renewals of a hold do not shorten the lease of a nested hold.
func TestFencedRenewalKeepsLongerLease(t *testing.T) {
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		a := open(t, "fenced", impls.Env{Nodes: g.Front()})
		outer := mustAcquire(t, a, "a", 300*time.Millisecond, 0)
		inner := mustAcquire(t, a, "a", time.Minute, 0)
		time.Sleep(250 * time.Millisecond) // a renewal is sent every 100 ms
		if _, left, err := a.(impls.Prober).Probe(t.Context(), "k"); err != nil || left < 30*time.Second {
			t.Errorf("after renewals, %v of the nested hold's lease is left, %v", left, err)
		}
		mustRelease(t, a, inner)
		mustRelease(t, a, outer)
	})
}

// TestFencedQueuesOnce checks that a waiter that repeats its request is in the queue only once. This must hold even after
// the waiter was removed from the queue.
func TestFencedQueuesOnce(t *testing.T) {
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		a := open(t, "fenced", impls.Env{Nodes: g.Front()})
		b := open(t, "fenced", impls.Env{Nodes: g.Front(), Process: 1})
		c := raw(t, g.URLs()[0])
		h := mustAcquire(t, a, "a", 10*time.Second, 0)
		waits := asynchronously(t.Context(), b, "b", 4*time.Second) // the waiter repeats its request every 500 ms
		inQueue(t, g, 1)
		other := asynchronously(t.Context(), b, "other", 4*time.Second)
		inQueue(t, g, 2)
		first := c.LRange(t.Context(), queue, 0, -1).Val()
		for range 2 { // in each round both waiters repeat their requests
			c.LRem(t.Context(), queue, 0, first[1])
			waitUntil(t, "queued again", func() bool { return slices.Contains(c.LRange(t.Context(), queue, 1, -1).Val(), first[1]) })
		}
		if now := c.LRange(t.Context(), queue, 0, -1).Val(); !slices.Equal(now, first) {
			t.Errorf("the queue was %q and then %q", first, now)
		}
		mustRelease(t, a, h)
		mustRelease(t, b, holdOf(t, waits))
		mustRelease(t, b, holdOf(t, other))
		inQueue(t, g, 0)
	})
}

// TestFencedUnexpected checks that a process releases a grant for a waiter that has stopped waiting. The next waiter then
// does not wait until the grant expires.
func TestFencedUnexpected(t *testing.T) {
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		a := open(t, "fenced", impls.Env{Nodes: g.Front()})
		b := open(t, "fenced", impls.Env{Nodes: g.Front(), Process: 1})
		c := raw(t, g.URLs()[0])
		_, process, _ := strings.Cut(subscribed(t, b, g), ":")
		h := mustAcquire(t, a, "a", 60*time.Second, 0)
		waits := asynchronously(t.Context(), b, "b", 60*time.Second)
		inQueue(t, g, 1)
		entry := c.LPop(t.Context(), queue).Val()
		c.LPush(t.Context(), queue, waiting(id("9"), process, "went"), entry)
		start := time.Now()
		mustRelease(t, a, h)
		mustRelease(t, b, holdOf(t, waits))
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("the next waited %v for a waiter that had gone: as long as a hand-over lasts", took)
		}
	})
}

// TestFencedMessageOfLostHold checks that a late grant message of a hold that was lost, and not released yet, does not release it: its
// owner may have entered it again.
func TestFencedMessageOfLostHold(t *testing.T) {
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		a := open(t, "fenced", impls.Env{Nodes: g.Front()})
		channel := subscribed(t, a, g)
		c := raw(t, g.URLs()[0])
		h := mustAcquire(t, a, "a", shortTTL, 0)
		c.Del(t.Context(), "k")
		select {
		case <-h.Lost:
		case <-time.After(20 * time.Second):
			t.Fatal("the key was deleted, and no loss was reported")
		}
		setHold(t, g, h.Token, "a")
		c.Publish(t.Context(), channel, fmt.Sprintf("%s %d k", h.Token, h.Fence))
		time.Sleep(200 * time.Millisecond) // a release by the process would come at once
		if token, _, err := a.(impls.Prober).Probe(t.Context(), "k"); token != h.Token || err != nil {
			t.Errorf("after the message the store says %q, %v", token, err)
		}
		mustRelease(t, a, h)
	})
}

// TestFencedStaleMessage checks that a waiter ignores a late message of a hand-off whose lease has ended. The message has the
// waiter's token, but no higher fencing token than the current hold.
func TestFencedStaleMessage(t *testing.T) {
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		a := open(t, "fenced", impls.Env{Nodes: g.Front()})
		var tally impls.Tally
		b := open(t, "fenced", impls.Env{Nodes: g.Front(), Process: 1, Tally: &tally})
		c := raw(t, g.URLs()[0])
		channel := subscribed(t, b, g)
		h := mustAcquire(t, a, "a", time.Minute, 0)
		waits := asynchronously(t.Context(), b, "b", 4*time.Second)
		inQueue(t, g, 1)
		queued, _ := tally.Counts()
		waitUntil(t, "the second request was answered, and a third one sent", func() bool { // the answer has the last fencing token
			requests, _ := tally.Counts()
			return requests >= queued+2
		})
		token, _, _ := strings.Cut(c.LIndex(t.Context(), queue, 0).Val(), " ")
		c.Publish(t.Context(), channel, fmt.Sprintf("%s %d k", token, h.Fence))
		select {
		case got := <-waits:
			t.Fatalf("%+v, though another client holds the lock", got)
		case <-time.After(300 * time.Millisecond):
		}
		mustRelease(t, a, h)
		mustRelease(t, b, holdOf(t, waits))
	})
}

// TestFencedLostAnswer checks a release whose reply is lost. The release must succeed and hand the lock over only once.
func TestFencedLostAnswer(t *testing.T) {
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		var sent atomic.Int64
		a := open(t, "fenced", impls.Env{Nodes: g.Front(), Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return &deaf{Conn: conn, command: []byte("\r\ngranted:\r\n"), lost: &sent}, err
		}})
		b := open(t, "fenced", impls.Env{Nodes: g.Front(), Process: 1})
		h := mustAcquire(t, a, "a", 10*time.Second, 0)
		waits := asynchronously(t.Context(), b, "b", 10*time.Second)
		inQueue(t, g, 1)
		mustRelease(t, a, h)
		if sent.Load() < 2 {
			t.Errorf("it asked %d times", sent.Load())
		}
		mustRelease(t, b, holdOf(t, waits))
		inQueue(t, g, 0)
	})
}

// unconfirmed is a connection that receives nothing after a request for a subscription.
type unconfirmed struct {
	net.Conn
	subscribed atomic.Bool
}

func (u *unconfirmed) Write(b []byte) (int, error) {
	if bytes.Contains(bytes.ToLower(b), []byte("\r\nsubscribe\r\n")) {
		u.subscribed.Store(true)
	}
	return u.Conn.Write(b)
}

func (u *unconfirmed) Read(b []byte) (int, error) {
	for {
		if n, err := u.Conn.Read(b); err != nil || !u.subscribed.Load() {
			return n, err
		}
	}
}

// TestFencedWithoutSubscription checks that an acquire requests the lock within its timeout, although its process is not
// subscribed yet.
func TestFencedWithoutSubscription(t *testing.T) {
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		a := open(t, "fenced", impls.Env{Nodes: g.Front(), Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return &unconfirmed{Conn: conn}, err
		}})
		mustRelease(t, a, mustAcquire(t, a, "a", 10*time.Second, 500*time.Millisecond))
	})
}

// TestFencedKeyOfAnotherType checks every operation on a key with a string or a list that the lock did not write. Each
// operation must return an indeterminate error and change nothing.
func TestFencedKeyOfAnotherType(t *testing.T) {
	bothWays(t, servers.Single, func(t *testing.T, g *servers.Group) {
		a := open(t, "fenced", impls.Env{Nodes: g.Front()})
		c := raw(t, g.URLs()[0])
		definite := func(err error) bool {
			return err == nil || errors.Is(err, impls.ErrBusy) || errors.Is(err, impls.ErrNotHeld)
		}
		for _, kind := range []string{"string", "list"} {
			c.Del(t.Context(), "k")
			if kind == "list" {
				c.RPush(t.Context(), "k", "x", "y", "z")
			} else {
				c.Set(t.Context(), "k", "x", 0)
			}
			before := c.Dump(t.Context(), "k").Val()
			if h, err := a.Acquire(t.Context(), impls.Request{Key: "k", Owner: "a", TTL: time.Second}); definite(err) {
				t.Errorf("of a %s it was granted %+v, %v", kind, h.Grant, err)
			}
			if err := a.Release(t.Context(), impls.Grant{Key: "k", Token: id("a"), Depth: 1}); definite(err) {
				t.Errorf("the release of a %s: %v", kind, err)
			}
			if c.Dump(t.Context(), "k").Val() != before {
				t.Errorf("the %s was changed", kind)
			}
		}
	})
}

// TestFencedWithoutPermissionToPublish checks a release if the server does not allow the notification of the next waiter.
// The release must have no effect.
func TestFencedWithoutPermissionToPublish(t *testing.T) {
	g := deploy(t, servers.Local, servers.Single)
	a := open(t, "fenced", impls.Env{Nodes: g.Front()})
	c := raw(t, g.URLs()[0])
	h := mustAcquire(t, a, "a", 60*time.Second, 0)
	c.RPush(t.Context(), queue, waiting(id("1"), id("d"), "b"), waiting(id("2"), id("e"), "c"))
	before := append(c.LRange(t.Context(), queue, 0, -1).Val(), c.Get(t.Context(), "k").Val())
	may := func(rule string) {
		if err := c.Do(t.Context(), "ACL", "SETUSER", "default", rule).Err(); err != nil {
			t.Fatal(err)
		}
	}
	may("-publish")
	other := open(t, "fenced", impls.Env{Nodes: g.Front(), Process: 1}) // this client does not have the hold, so it does not repeat a failed release
	if err := other.Release(t.Context(), h.Grant); err == nil || errors.Is(err, impls.ErrNotHeld) {
		t.Errorf("it was released: %v", err)
	}
	if after := append(c.LRange(t.Context(), queue, 0, -1).Val(), c.Get(t.Context(), "k").Val()); !slices.Equal(before, after) {
		t.Errorf("left of %q is %q", before, after)
	}
	may("+publish")
	mustRelease(t, a, h)
}
