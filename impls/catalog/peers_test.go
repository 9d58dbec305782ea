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

// eachPeer runs a test on each third-party lock, on real servers that the tests share.
func eachPeer(t *testing.T, test func(site)) { onEachPeer(t, shared, test) }

// eachPeerAlone runs a test that harms servers: each lock has its own.
func eachPeerAlone(t *testing.T, test func(site)) { onEachPeer(t, started, test) }

func onEachPeer(t *testing.T, start func(*testing.T, servers.Spec) *servers.Group, test func(site)) {
	t.Parallel() // it waits, mostly
	for _, impl := range catalog.All() {
		if !impl.Peer {
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

// connected opens a lock that has reached its servers: some of them give up a first try while they are still dialling.
func (s site) connected(process int) impls.Lock {
	s.Helper()
	l := s.open(process, nil)
	s.free(l, s.soon(l, "connected"))
	return l
}

// soon is a hold, asked for again and again: on a slow machine a try comes to nothing, and rueidislock forgets who waits.
func (s site) soon(l impls.Lock, owner string) impls.Hold {
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

// TestPeersTakeTurns: a try is refused while another holds, a waiter gives up in time, and a release lets the next in.
func TestPeersTakeTurns(t *testing.T) {
	eachPeer(t, func(s site) {
		a, b := s.connected(0), s.connected(1)
		h := s.soon(a, "a")
		if h.Token == "" || h.SentAfter < 0 || s.impl.Fences != (h.Fence > 0) {
			s.Errorf("granted %+v", h.Grant)
		}
		if _, err := b.Acquire(s.Context(), request("b", 0)); !errors.Is(err, impls.ErrBusy) {
			s.Errorf("trying: %v, want busy", err)
		}
		s.givesUp(b)
		var next impls.Hold
		granted := make(chan struct{})
		go func() {
			defer close(granted)
			next = s.soon(b, "b")
		}()
		time.Sleep(50 * time.Millisecond) // so that it waits, as a rule
		s.free(a, h)
		<-granted
		if s.impl.Fences && next.Fence <= h.Fence {
			s.Errorf("fence %d after %d", next.Fence, h.Fence)
		}
		s.free(b, next)
	})
}

// givesUp waits in vain for a key that another holds. Who asks often may have been asking just as its time was up, the more
// so on a slow machine: what it was answered is then not known, and said to be so. It is not always so.
func (s site) givesUp(l impls.Lock) {
	var err error
	for range 20 {
		_, err = l.Acquire(s.Context(), request("b", 100*time.Millisecond))
		if err == nil {
			s.Fatal("waiting: granted what another holds")
		}
		if errors.Is(err, impls.ErrBusy) {
			return
		}
	}
	s.Errorf("waiting 20 times: last %v, want busy once", err)
}

// TestPeersOutliveTheirAsking: a hold does not end with the context that it was asked for with, nor with the patience.
func TestPeersOutliveTheirAsking(t *testing.T) {
	eachPeer(t, func(s site) {
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

// TestPeersRefuseToRelease what is not held: twice, what was never granted, another's by an old grant.
func TestPeersRefuseToRelease(t *testing.T) {
	eachPeer(t, func(s site) {
		a, b := s.connected(0), s.connected(1)
		before := s.soon(a, "a")
		s.free(a, before)
		select {
		case <-before.Lost:
			s.Error("it was given back, and is said to be lost")
		default:
		}
		h := s.soon(b, "b")
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

// TestPeersUseTheNetworkOfTheEnv: what is not reached through it is not reached.
func TestPeersUseTheNetworkOfTheEnv(t *testing.T) {
	eachPeer(t, func(s site) {
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
		s.free(l, s.soon(l, "a"))
		if dialled.Load() == 0 {
			s.Error("it dialled by itself")
		}
	})
}

// TestPeersDoubt: where the server says nothing, an acquire comes to no definite end, and to an end.
func TestPeersDoubt(t *testing.T) {
	eachPeerAlone(t, func(s site) {
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
				s.Errorf("nobody answered, and the acquire came to %v", err)
			}
		case <-time.After(within):
			s.Error("it does not end")
		}
		if err := s.group.Nodes[0].Resume(); err != nil {
			s.Fatal(err)
		}
	})
}

// TestPeersClosedWhileTheyWait: who waits when its lock is closed is not told that another holds.
func TestPeersClosedWhileTheyWait(t *testing.T) {
	eachPeer(t, func(s site) {
		a, b := s.connected(0), s.connected(1)
		h := s.soon(a, "a")
		waited := make(chan error, 1)
		go func() {
			_, err := b.Acquire(s.Context(), request("b", -1))
			waited <- err
		}()
		time.Sleep(100 * time.Millisecond) // so that it waits, as a rule
		if err := b.Close(); err != nil {
			s.Error(err)
		}
		select {
		case err := <-waited:
			if err == nil || errors.Is(err, impls.ErrBusy) {
				s.Errorf("its lock is closed, and the acquire came to %v", err)
			}
		case <-time.After(within):
			s.Error("it waits on")
		}
		s.free(a, h)
	})
}

// TestRueidislockTellsOfALoss: its context ends when its keys are gone, and what gives it back does not say that it did.
func TestRueidislockTellsOfALoss(t *testing.T) {
	t.Parallel() // it waits, mostly
	for _, name := range []string{"rueidislock", "rueidislock-tuned"} {
		t.Run(name, func(t *testing.T) {
			s := site{t, named(t, name), deploy(t, servers.Local, servers.Single)}
			l := s.open(0, nil)
			h := s.soon(l, "a")
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
				t.Error("the loss was never noticed")
			}
			if err := l.Release(t.Context(), h.Grant); err == nil {
				t.Error("it was lost, and its release says that it was given back")
			}
		})
	}
}

// TestOwnHasNoPeers, and all that is tried in virtual time can do with an emulator.
func TestOwnHasNoPeers(t *testing.T) {
	peers := func(all []impls.Impl) (names []string) {
		for _, i := range all {
			if i.Peer {
				names = append(names, i.Name)
			}
		}
		return names
	}
	if got := peers(catalog.Own()); len(got) > 0 {
		t.Errorf("%q are libraries of others", got)
	}
	if got, want := peers(catalog.OnRedis()), []string{"redsync", "redsync-tuned", "redislock", "redislock-tuned"}; !slices.Equal(got, want) {
		t.Errorf("in virtual time there are %q, want %q", got, want)
	}
}

// TestRueidislockForgetsWhoWaits: where the server stands still for longer than an attempt may take, who had asked waits
// for ever, though the lock is free, and is granted to whoever asks anew. That is its defect: the row of the expectations
// that says so is to go when this test fails.
func TestRueidislockForgetsWhoWaits(t *testing.T) {
	t.Parallel() // it waits, mostly
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
	time.Sleep(500 * time.Millisecond) // so that its attempt is given up
	if err := s.group.Nodes[0].Resume(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond) // so that what it set is taken back
	s.free(b, s.soon(b, "b"))
	select {
	case err := <-waited:
		t.Errorf("its wait came to an end: %v", err)
	case <-time.After(time.Second):
	}
	cancel()
	if err := <-waited; !errors.Is(err, context.Canceled) {
		t.Errorf("it was cancelled, and its acquire came to %v", err)
	}
}
