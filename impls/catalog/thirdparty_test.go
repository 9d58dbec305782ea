package catalog_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/world/servers"
)

// eachThirdParty runs a test on each third-party lock, on real servers that the tests share.
func eachThirdParty(t *testing.T, test func(site)) { onEachThirdParty(t, shared, test) }

// eachThirdPartyAlone runs a test on each third-party lock. Each lock has separate servers, so the test may inject faults
// into them.
func eachThirdPartyAlone(t *testing.T, test func(site)) { onEachThirdParty(t, started, test) }

func onEachThirdParty(t *testing.T, start func(*testing.T, servers.Spec) *servers.Group, test func(site)) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	for _, impl := range catalog.All() {
		if !impl.ThirdParty {
			continue
		}
		t.Run(impl.Name, func(t *testing.T) {
			t.Parallel()
			if impl.Store == servers.Redis {
				needRedis(t)
			}
			test(site{t, impl, start(t, specOf(t, impl, impl.Deployment))})
		})
	}
}

// connected opens a lock and waits until its client has connected. Without this, some libraries abandon a try because
// dialing takes too long.
func (s site) connected(process int) impls.Lock {
	s.Helper()
	l := s.open(process, nil)
	s.free(l, s.tryUntilGranted(l, "connected"))
	return l
}

// tryUntilGranted repeats a try until it is granted. On a slow machine a single try may fail, and a waiter of
// rueidislock may wait forever.
func (s site) tryUntilGranted(l impls.Lock, owner string) impls.Hold {
	s.Helper()
	for end := time.Now().Add(within); ; {
		h, err := l.Acquire(s.Context(), request(owner, time.Second))
		if err == nil {
			return h
		}
		if time.Now().After(end) {
			s.Fatal(err)
		}
	}
}

// TestThirdPartyTakesTurns checks that a try is refused and that a waiter times out while another client holds the lock.
// After a release, the next waiter must be granted.
func TestThirdPartyTakesTurns(t *testing.T) {
	eachThirdParty(t, func(s site) {
		a, b := s.connected(0), s.connected(1)
		h := s.tryUntilGranted(a, "a")
		if h.Token == "" || h.SentAfter < 0 || s.impl.Fences != (h.Fence > 0) {
			s.Errorf("granted %+v", h.Grant)
		}
		if _, err := b.Acquire(s.Context(), request("b", 0)); !errors.Is(err, impls.ErrBusy) {
			s.Errorf("trying: %v, want busy", err)
		}
		s.timesOut(b)
		var next impls.Hold
		granted := make(chan struct{})
		go func() {
			defer close(granted)
			next = s.tryUntilGranted(b, "b")
		}()
		time.Sleep(50 * time.Millisecond) // gives the client time to start waiting
		s.free(a, h)
		<-granted
		if s.impl.Fences && next.Fence <= h.Fence {
			s.Errorf("fence %d after %d", next.Fence, h.Fence)
		}
		s.free(b, next)
	})
}

// timesOut checks that a waiter times out while another client holds the key. If the last request is unanswered at the
// timeout, the outcome is unknown, and timesOut waits again. One of 20 waits must return ErrBusy.
func (s site) timesOut(l impls.Lock) {
	var err error
	for range 20 {
		_, err = l.Acquire(s.Context(), request("b", 100*time.Millisecond))
		if err == nil {
			s.Fatal("granted while another client holds")
		}
		if errors.Is(err, impls.ErrBusy) {
			return
		}
	}
	s.Errorf("waiting 20 times: last %v, want busy once", err)
}

// TestThirdPartyOutlivesItsAcquire checks that a hold continues after the acquire's context and timeout have ended.
func TestThirdPartyOutlivesItsAcquire(t *testing.T) {
	eachThirdParty(t, func(s site) {
		a, b := s.connected(0), s.connected(1)
		ctx, cancel := context.WithCancel(s.Context())
		h, err := a.Acquire(ctx, request("a", time.Second))
		cancel()
		if err != nil {
			s.Fatal(err)
		}
		time.Sleep(1100 * time.Millisecond)
		select {
		case <-h.Lost:
			s.Error("it was lost")
		default:
		}
		if _, err := b.Acquire(s.Context(), request("b", 0)); !errors.Is(err, impls.ErrBusy) {
			s.Errorf("another: %v, want busy", err)
		}
		s.free(a, h)
	})
}

// TestThirdPartyRefusesToRelease checks that Release returns ErrNotHeld for a grant that was already released, and for a token
// that was never granted. Neither release may free the hold of another client.
func TestThirdPartyRefusesToRelease(t *testing.T) {
	eachThirdParty(t, func(s site) {
		a, b := s.connected(0), s.connected(1)
		before := s.tryUntilGranted(a, "a")
		s.free(a, before)
		select {
		case <-before.Lost:
			s.Error("a released hold was reported lost")
		default:
		}
		h := s.tryUntilGranted(b, "b")
		for _, g := range []impls.Grant{before.Grant, {Key: "k", Owner: "a", Token: "never"}} {
			for _, l := range []impls.Lock{a, b} {
				if err := l.Release(s.Context(), g); !errors.Is(err, impls.ErrNotHeld) {
					s.Errorf("release of %+v: %v", g, err)
				}
			}
		}
		if _, err := a.Acquire(s.Context(), request("a", 0)); !errors.Is(err, impls.ErrBusy) {
			s.Errorf("another: %v, want busy", err)
		}
		s.free(b, h)
		if err := b.Release(s.Context(), h.Grant); !errors.Is(err, impls.ErrNotHeld) {
			s.Errorf("a second release: %v", err)
		}
	})
}

// TestThirdPartyUsesTheNetworkOfTheEnv checks that a lock opens all connections with the dialer of its Env.
func TestThirdPartyUsesTheNetworkOfTheEnv(t *testing.T) {
	eachThirdParty(t, func(s site) {
		var dialled atomic.Int64
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			dialled.Add(1)
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
		l, err := s.impl.Open(impls.Env{Nodes: s.group.Front(), Prefix: s.Name() + ":", Rand: impls.NewRand(1, 1), Dial: dial})
		if err != nil {
			s.Fatal(err)
		}
		defer l.Close()
		s.free(l, s.tryUntilGranted(l, "a"))
		if dialled.Load() == 0 {
			s.Error("it dialled by itself")
		}
	})
}

// TestThirdPartyUnanswered checks that an acquire returns an indeterminate error if the server never answers.
func TestThirdPartyUnanswered(t *testing.T) {
	eachThirdPartyAlone(t, func(s site) {
		l := s.connected(0)
		if err := s.group.Nodes[0].Pause(); err != nil {
			s.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(s.Context(), 300*time.Millisecond)
		defer cancel()
		over := make(chan error, 1)
		go func() {
			_, err := l.Acquire(ctx, request("a", -1))
			over <- err
		}()
		select {
		case err := <-over:
			if err == nil || errors.Is(err, impls.ErrBusy) {
				s.Errorf("without an answer, the acquire returned %v", err)
			}
		case <-time.After(within):
			s.Error("it does not end")
		}
		if err := s.group.Nodes[0].Resume(); err != nil {
			s.Fatal(err)
		}
	})
}

// TestThirdPartyClosedWhileItWaits checks that Acquire does not return ErrBusy if Close is called during the wait.
func TestThirdPartyClosedWhileItWaits(t *testing.T) {
	eachThirdParty(t, func(s site) {
		a, b := s.connected(0), s.connected(1)
		h := s.tryUntilGranted(a, "a")
		waited := make(chan error, 1)
		go func() {
			_, err := b.Acquire(s.Context(), request("b", -1))
			waited <- err
		}()
		time.Sleep(100 * time.Millisecond) // gives the client time to start waiting
		if err := b.Close(); err != nil {
			s.Error(err)
		}
		select {
		case err := <-waited:
			if err == nil || errors.Is(err, impls.ErrBusy) {
				s.Errorf("after Close, the acquire returned %v", err)
			}
		case <-time.After(within):
			s.Error("it waits on")
		}
		s.free(a, h)
	})
}

// TestRueidislockReportsLoss checks that a hold's context ends when the keys of the hold are deleted. A later release must
// not report success.
func TestRueidislockReportsLoss(t *testing.T) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	for _, name := range []string{"rueidislock", "rueidislock-tuned"} {
		t.Run(name, func(t *testing.T) {
			s := site{t, named(t, name), deploy(t, servers.Local, servers.Single)}
			l := s.open(0, nil)
			h := s.tryUntilGranted(l, "a")
			to, err := redis.ParseURL(s.group.Front()[0])
			if err != nil {
				t.Fatal(err)
			}
			c := redis.NewClient(to)
			defer c.Close()
			if err := c.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			select {
			case <-h.Lost:
			case <-time.After(within):
				t.Error("the loss was not reported")
			}
			if err := l.Release(t.Context(), h.Grant); err == nil {
				t.Error("the release of a lost hold reported success")
			}
		})
	}
}

// TestOwnHasNoThirdParty checks that Own returns no third-party locks, and that OnRedis returns only those of redsync and
// redislock.
func TestOwnHasNoThirdParty(t *testing.T) {
	peers := func(all []impls.Impl) (names []string) {
		for _, i := range all {
			if i.ThirdParty {
				names = append(names, i.Name)
			}
		}
		return names
	}
	if got := peers(catalog.Own()); len(got) > 0 {
		t.Errorf("%q are third-party libraries", got)
	}
	if got, want := peers(catalog.OnRedis()), []string{"redsync", "redsync-tuned", "redislock", "redislock-tuned"}; !slices.Equal(got, want) {
		t.Errorf("in virtual time there are %q, want %q", got, want)
	}
}

// TestRueidislockForgetsWaiters reproduces a defect of rueidislock: after a pause of the server, a waiter waits forever
// although the lock is free. The pause must be longer than the library's timeout for an attempt.
//
// If this test fails, remove the expectation of the defect.
func TestRueidislockForgetsWaiters(t *testing.T) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	s := site{t, named(t, "rueidislock-tuned"), deploy(t, servers.Local, servers.Single)}
	a, b := s.connected(0), s.connected(1)
	if err := s.group.Nodes[0].Pause(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() {
		_, err := a.Acquire(ctx, request("a", -1))
		waited <- err
	}()
	time.Sleep(500 * time.Millisecond) // gives the library time to abandon the waiter's attempt
	if err := s.group.Nodes[0].Resume(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond) // gives the library time to delete the waiter's key
	s.free(b, s.tryUntilGranted(b, "b"))
	select {
	case err := <-waited:
		t.Errorf("its wait ended: %v", err)
	case <-time.After(time.Second):
	}
	cancel()
	if err := <-waited; !errors.Is(err, context.Canceled) {
		t.Errorf("it was cancelled, and its acquire returned %v", err)
	}
}
