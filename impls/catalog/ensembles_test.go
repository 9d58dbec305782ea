package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
)

// leased lists the locks whose holds end with a session that has a lease.
var leased = []string{"zookeeper", "zookeeper-herd", "etcd"}

// notBriefly skips the test if -short is set, unless the store is Redis. The other stores take long to start.
func notBriefly(t *testing.T, store string) {
	t.Helper()
	if testing.Short() && store != servers.Redis {
		t.Skip("-short: " + store + " takes long to come up")
	}
}

// needStore skips the test if the store's servers are not installed. If LOCKBENCH_REQUIRE lists the store, the test fails
// instead.
func needStore(t *testing.T, store string) {
	t.Helper()
	notBriefly(t, store)
	if err := stores.Missing(store); err != nil {
		if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), store) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// specOf returns the specification of local servers for a lock's store and deployment.
func specOf(t *testing.T, impl impls.Impl, deployment string) servers.Spec {
	t.Helper()
	needStore(t, impl.Store)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return servers.Spec{How: servers.Local, Store: impl.Store, Deployment: deployment, Self: self}
}

// deployStore starts servers of a lock's store. The servers stop at the end of the test.
func deployStore(t *testing.T, impl impls.Impl, deployment string) *servers.Group {
	t.Helper()
	return started(t, specOf(t, impl, deployment))
}

// site holds what a test of one lock needs: the testing.T, the lock, and the servers of the lock.
type site struct {
	*testing.T
	impl  impls.Impl
	group *servers.Group
}

// eachLeased runs a test on each leased lock. The tests share one server of each store.
func eachLeased(t *testing.T, test func(site)) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	for _, name := range leased {
		t.Run(name, func(t *testing.T) {
			impl := named(t, name)
			test(site{t, impl, shared(t, specOf(t, impl, servers.Single))})
		})
	}
}

// eachLeasedAlone runs a test on each leased lock. Each lock has separate servers, so the test may inject faults into them.
func eachLeasedAlone(t *testing.T, deployment string, test func(site)) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	for _, name := range leased {
		t.Run(name, func(t *testing.T) {
			impl := named(t, name)
			test(site{t, impl, deployStore(t, impl, deployment)})
		})
	}
}

// open opens the lock for the process with the given number.
func (s site) open(process int, renewed func(impls.Grant, time.Duration, error)) impls.Lock {
	s.Helper()
	l, err := s.impl.Open(impls.Env{Nodes: s.group.Front(), Prefix: s.Name() + ":", Process: process,
		Rand: impls.NewRand(1, uint64(process)), Renewed: renewed})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { l.Close() })
	return l
}

// The constant within is the timeout of each wait in a test.
const within = 30 * time.Second

func (s site) take(l impls.Lock, req impls.Request) impls.Hold {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), within)
	defer cancel()
	h, err := l.Acquire(ctx, req)
	if err != nil {
		s.Fatal(err)
	}
	return h
}

func (s site) free(l impls.Lock, h impls.Hold) {
	s.Helper()
	if err := l.Release(s.Context(), h.Grant); err != nil {
		s.Error(err)
	}
}

// TestLeasedTakesTurns checks that a try is refused while another client holds the lock, and that a waiter times out. After
// a release, the waiter must be granted with a higher fencing token. Probe must return the token of the current hold.
func TestLeasedTakesTurns(t *testing.T) {
	eachLeased(t, func(s site) {
		a, b := s.open(0, nil), s.open(1, nil)
		h := s.take(a, request("a", 0))
		if h.Fence <= 0 || h.Validity < 10*time.Second || h.Token == "" || h.SentAfter < 0 || h.Lost == nil {
			s.Errorf("granted %+v", h)
		}
		for _, wait := range []time.Duration{0, 100 * time.Millisecond} {
			if _, err := b.Acquire(s.Context(), request("b", wait)); !errors.Is(err, impls.ErrBusy) {
				s.Errorf("with a wait of %v: %v", wait, err)
			}
		}
		if token, _, err := b.(impls.Prober).Probe(s.Context(), "k"); err != nil || token != h.Token {
			s.Errorf("the store says %q, %v; granted was %q", token, err, h.Token)
		}
		var next impls.Hold
		var all sync.WaitGroup
		all.Go(func() { next = s.take(b, request("b", -1)) })
		time.Sleep(50 * time.Millisecond) // gives the client time to start waiting
		s.free(a, h)
		all.Wait()
		if next.Fence <= h.Fence {
			s.Errorf("fence %d after %d", next.Fence, h.Fence)
		}
		s.free(b, next)
		if token, _, err := a.(impls.Prober).Probe(s.Context(), "k"); err != nil || token != "" {
			s.Errorf("after all was released the store says %q, %v", token, err)
		}
	})
}

// TestLeasedRefusesToRelease checks that Release returns ErrNotHeld for a grant that was already released, and for a token
// that was never granted. Neither release may free the hold of another client.
func TestLeasedRefusesToRelease(t *testing.T) {
	eachLeased(t, func(s site) {
		a, b := s.open(0, nil), s.open(1, nil)
		before := s.take(a, request("a", 0))
		s.free(a, before)
		h := s.take(b, request("b", 0))
		for _, g := range []impls.Grant{before.Grant, {Key: "k", Owner: "a", Token: "never"}} {
			for _, l := range []impls.Lock{a, b} {
				if err := l.Release(s.Context(), g); !errors.Is(err, impls.ErrNotHeld) {
					s.Errorf("release of %+v: %v", g, err)
				}
			}
		}
		if token, _, err := a.(impls.Prober).Probe(s.Context(), "k"); err != nil || token != h.Token {
			s.Errorf("the store says %q, %v", token, err)
		}
		s.free(b, h)
		if err := b.Release(s.Context(), h.Grant); !errors.Is(err, impls.ErrNotHeld) {
			s.Errorf("a second release: %v", err)
		}
	})
}

// TestLeasedRenewsItself checks that a hold is renewed beyond its first lease, and that each renewal is reported. The hold
// must end when its lock is closed.
func TestLeasedRenewsItself(t *testing.T) {
	eachLeased(t, func(s site) {
		var r told
		a, b := s.open(0, r.renewed), s.open(1, nil)
		h := s.take(a, impls.Request{Key: "k", Owner: "a", TTL: time.Second})
		time.Sleep(h.Validity * 2)
		select {
		case <-h.Lost:
			s.Skip("a heartbeat was late: the machine is too busy to tell")
		default:
		}
		sent, last, err := r.all()
		if len(sent) < 2 || err != nil || last.Token != h.Token || last.Validity != h.Validity {
			s.Errorf("renewals sent at %v of %+v, %v", sent, last, err)
		}
		if _, err := b.Acquire(s.Context(), request("b", 0)); !errors.Is(err, impls.ErrBusy) {
			s.Errorf("after twice the lease: %v", err)
		}
		if err := a.Close(); err != nil {
			s.Error(err)
		}
		s.free(b, s.take(b, request("b", -1)))
	})
}

// TestLeasedReportsLoss checks that a holder without a connection to the server reports the loss of its hold. The report is
// due when the lease has expired by the holder's clock.
func TestLeasedReportsLoss(t *testing.T) {
	eachLeasedAlone(t, servers.Single, func(s site) {
		a := s.open(0, nil)
		h := s.take(a, impls.Request{Key: "k", Owner: "a", TTL: time.Second})
		if err := s.group.Nodes[0].Pause(); err != nil {
			s.Fatal(err)
		}
		select {
		case <-h.Lost:
		case <-time.After(within):
			s.Error("the loss was not reported")
		}
		if err := s.group.Nodes[0].Resume(); err != nil {
			s.Fatal(err)
		}
		if err := a.Release(s.Context(), h.Grant); err != nil && !errors.Is(err, impls.ErrNotHeld) {
			s.Errorf("release of a lost hold: %v", err)
		}
		s.free(a, s.take(a, request("a", -1)))
	})
}

// TestLeasedOutlivesARestart checks that holds and their sessions survive a restart of the server.
func TestLeasedOutlivesARestart(t *testing.T) {
	eachLeasedAlone(t, servers.Single, func(s site) {
		a, b := s.open(0, nil), s.open(1, nil)
		h := s.take(a, impls.Request{Key: "k", Owner: "a", TTL: 20 * time.Second})
		if err := s.group.Nodes[0].Restart(s.Context()); err != nil {
			s.Fatal(err)
		}
		if token, _, err := b.(impls.Prober).Probe(s.Context(), "k"); err != nil || token != h.Token {
			s.Errorf("after a restart the store says %q, %v", token, err)
		}
		s.free(a, h)
		next := s.take(b, request("b", -1))
		if next.Fence <= h.Fence {
			s.Errorf("fence %d after %d", next.Fence, h.Fence)
		}
		s.free(b, next)
	})
}

// TestZooKeeperSilentServer checks that a hold survives a server that accepts connections and never answers. A server
// behaves in this way while it starts.
func TestZooKeeperSilentServer(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	impl := named(t, "zookeeper")
	s := site{t, impl, shared(t, specOf(t, impl, servers.Single))}
	var mu sync.Mutex
	var dialled []net.Conn
	env := impls.Env{Nodes: s.group.Front(), Prefix: "mute:", Rand: impls.NewRand(1, 0)}
	env.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		if len(dialled) == 1 {
			addr = mute.Addr().String()
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			dialled = append(dialled, conn)
		}
		return conn, err
	}
	l, err := s.impl.Open(env)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h := s.take(l, impls.Request{Key: "k", Owner: "a", TTL: 6 * time.Second})
	mu.Lock()
	dialled[0].Close()
	mu.Unlock()
	s.waitUntil("it was dialled", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(dialled) > 1
	})
	s.free(l, h)
	mu.Lock()
	defer mu.Unlock()
	if len(dialled) < 3 {
		t.Errorf("dialled %d times, want the mute one to be the second of three", len(dialled))
	}
}

// TestLeasedOutlivesItsLeader checks that holds survive the loss of the leader.
func TestLeasedOutlivesItsLeader(t *testing.T) {
	eachLeasedAlone(t, servers.Three, func(s site) {
		a, b := s.open(0, nil), s.open(1, nil)
		h := s.take(a, impls.Request{Key: "k", Owner: "a", TTL: 20 * time.Second})
		if err := s.group.KillLeader(s.Context()); err != nil {
			s.Fatal(err)
		}
		if token, _, err := b.(impls.Prober).Probe(s.Context(), "k"); err != nil || token != h.Token {
			s.Errorf("after the loss of the leader the store says %q, %v", token, err)
		}
		s.free(a, h)
		next := s.take(b, impls.Request{Key: "k", Owner: "b", TTL: 20 * time.Second, Wait: -1})
		if next.Fence <= h.Fence {
			s.Errorf("fence %d after %d", next.Fence, h.Fence)
		}
		s.free(b, next)
	})
}

// TestHerd checks how many waiters a release wakes: one for zookeeper, and every waiter for zookeeper-herd.
func TestHerd(t *testing.T) {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	const waiters = 8
	for name, enough := range map[string]func(woken float64) bool{
		"zookeeper":      func(woken float64) bool { return woken == waiters },
		"zookeeper-herd": func(woken float64) bool { return woken > 2*waiters },
	} {
		t.Run(name, func(t *testing.T) {
			impl := named(t, name)
			s := site{t, impl, deployStore(t, impl, servers.Single)}
			l := s.open(0, nil)
			h := s.take(l, request("first", 0))
			var all sync.WaitGroup
			for w := range waiters {
				all.Go(func() {
					h := s.take(l, request(fmt.Sprint(w), -1))
					time.Sleep(20 * time.Millisecond) // gives the remaining waiters time to set their watches again
					s.free(l, h)
				})
			}
			s.waitUntil("all wait", func() bool { return s.watches() == waiters })
			before := s.woken()
			s.free(l, h)
			all.Wait()
			if got := s.woken() - before; !enough(got) {
				t.Errorf("%v were woken by %d releases, with %d waiting at first", got, waiters+1, waiters)
			}
		})
	}
}

// woken returns the number of watches that have fired.
func (s site) woken() float64 {
	s.Helper()
	c := s.counters()
	return c["woken.deleted"] + c["woken.children"]
}

// watches returns the number of watches set at a ZooKeeper server.
func (s site) watches() int {
	s.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.group.Nodes[0].URL(), "zookeeper://"))
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		s.Fatal(err)
	}
	if _, err := io.WriteString(conn, "mntr"); err != nil {
		s.Fatal(err)
	}
	said, err := io.ReadAll(conn)
	if err != nil {
		s.Fatal(err)
	}
	_, count, _ := strings.Cut(string(said), "zk_watch_count\t")
	count, _, _ = strings.Cut(count, "\n")
	n, err := strconv.Atoi(count)
	if err != nil {
		s.Fatal(err)
	}
	return n
}

func (s site) counters() map[string]float64 {
	s.Helper()
	c, err := s.group.Nodes[0].Counters(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return c
}

func (s site) waitUntil(what string, is func() bool) {
	s.Helper()
	for end := time.Now().Add(within); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("timed out waiting for: %s", what)
		}
	}
}
