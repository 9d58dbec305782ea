package catalog_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/internal/world/servers"
)

// TestLeasedClosedWhileItWaits checks that Close ends the wait of an acquire and removes the waiter from the queue.
func TestLeasedClosedWhileItWaits(t *testing.T) {
	eachLeased(t, func(s site) {
		a, b := s.open(0, nil), s.open(1, nil)
		h := s.take(a, request("a", 0))
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
		s.free(a, s.take(a, request("a", 5*time.Second)))
	})
}

// onZooKeeper starts a separate ZooKeeper server for the test, and returns the server and the lock zookeeper.
func onZooKeeper(t *testing.T) site {
	t.Parallel() // this test mostly waits, so other tests can run meanwhile
	impl := named(t, "zookeeper")
	return site{t, impl, deployStore(t, impl, servers.Single)}
}

// TestLeasedKeysAreApart checks that the keys "a" and "a/b" are different locks.
func TestLeasedKeysAreApart(t *testing.T) {
	eachLeased(t, func(s site) {
		l := s.open(0, nil)
		for i, keys := range [][2]string{{"a", "a/b"}, {"c/d", "c"}, {"e/f", "e%2Ff"}} {
			for _, key := range keys {
				h := s.take(l, impls.Request{Key: key, Owner: fmt.Sprint(i), TTL: 20 * time.Second})
				if token, _, err := l.(impls.Prober).Probe(s.Context(), key); err != nil || token != h.Token {
					s.Errorf("the store says %q of %s, %v", token, key, err)
				}
			}
		}
	})
}

// TestZooKeeperTryIsBounded checks that a try without a deadline ends if the server stops answering.
func TestZooKeeperTryIsBounded(t *testing.T) {
	s := onZooKeeper(t)
	l, req := s.open(0, nil), impls.Request{Key: "k", Owner: "a", TTL: 30 * time.Second}
	s.free(l, s.take(l, req)) // the lock now has an idle session
	if err := s.group.Nodes[0].Pause(); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() {
		_, err := l.Acquire(context.Background(), req)
		over <- err
	}()
	select {
	case err := <-over:
		if err == nil || errors.Is(err, impls.ErrBusy) {
			t.Errorf("without an answer, the try returned %v", err)
		}
	case <-time.After(within):
		t.Error("the try did not end")
	}
	if err := s.group.Nodes[0].Resume(); err != nil {
		t.Fatal(err)
	}
}

// TestZooKeeperLeavesNoWatch checks that an idle session has no watches.
func TestZooKeeperLeavesNoWatch(t *testing.T) {
	s := onZooKeeper(t)
	l := s.open(0, nil)
	var all sync.WaitGroup
	for w := range 3 {
		all.Go(func() {
			for range 300 {
				s.free(l, s.take(l, request(fmt.Sprint(w), -1)))
			}
		})
	}
	all.Wait()
	if n := s.watches(); n != 0 {
		t.Errorf("%d watches are left", n)
	}
}

// TestZooKeeperShorterSession checks a session that is resumed with a shorter timeout than before. Its hold must be
// reported as lost.
func TestZooKeeperShorterSession(t *testing.T) {
	s := onZooKeeper(t)
	var mu sync.Mutex
	var latest net.Conn // latest connection before the hold; on a busy machine, an earlier attempt may have failed
	resumes := false
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		mu.Lock()
		defer mu.Unlock()
		if err == nil && resumes {
			return &hasty{Conn: c}, nil
		}
		latest = c
		return c, err
	}
	l, err := s.impl.Open(impls.Env{Nodes: s.group.Front(), Prefix: t.Name() + ":", Rand: impls.NewRand(1, 1), Dial: dial})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h := s.take(l, impls.Request{Key: "k", Owner: "a", TTL: time.Minute})
	mu.Lock()
	resumes = true
	err = latest.Close()
	mu.Unlock()
	if err != nil {
		t.Error(err)
	}
	select {
	case <-h.Lost:
	case <-time.After(within):
		t.Errorf("the promise was %v, its session has a second, and no loss was reported", h.Validity)
	}
}

// hasty is a connection that changes the server's answer: the session timeout becomes one second.
type hasty struct {
	net.Conn
	read int
}

func (h *hasty) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	var timeout [4]byte
	binary.BigEndian.PutUint32(timeout[:], 1000)
	for i := range p[:n] {
		if at := h.read + i - 8; at >= 0 && at < len(timeout) { // the timeout follows 4 bytes of length and 4 bytes of version
			p[i] = timeout[at]
		}
	}
	h.read += n
	return n, err
}
