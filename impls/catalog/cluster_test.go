package catalog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/internal/world/servers"
)

// secondAddresses returns a second address for each server, and a dialer that maps it to the server. Dialing any
// other address fails the test.
func secondAddresses(t *testing.T, g *servers.Group) (urls []string, dial func(context.Context, string, string) (net.Conn, error)) {
	t.Helper()
	real := map[string]string{}
	for i, text := range g.Front() {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		second := fmt.Sprintf("127.0.0.1:%d", i+1) // an address without a server
		real[second] = u.Host
		urls = append(urls, "redis://"+second)
	}
	return urls, func(ctx context.Context, network, addr string) (net.Conn, error) {
		to, known := real[addr]
		if !known {
			t.Errorf("it dials %s, which is not one of its addresses", addr)
			return nil, errors.New("not reached")
		}
		return new(net.Dialer).DialContext(ctx, network, to)
	}
}

// TestClusterIsReachedByGivenAddresses checks that a cluster client dials only the addresses in its Env. The test uses keys
// on every primary, and a key whose primary fails over.
func TestClusterIsReachedByGivenAddresses(t *testing.T) {
	g := deploy(t, servers.Local, servers.Cluster)
	urls, dial := secondAddresses(t, g)
	for _, name := range []string{"set-px-lua", "redisson"} {
		l := open(t, name, impls.Env{Nodes: urls, Dial: dial, Prefix: name})
		for i := range 9 {
			takeAndGive(t, l, fmt.Sprint("k", i))
		}
	}
	l := open(t, "set-px-lua", impls.Env{Nodes: urls, Dial: dial})
	takeAndGive(t, l, "key")
	if err := errors.Join(g.OrderByKey(t.Context(), "key"), g.Nodes[0].Kill(), g.Promote(t.Context(), 1)); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "it finds the new primary", func() bool {
		h, err := l.Acquire(t.Context(), impls.Request{Key: "key", Owner: "a", TTL: time.Second})
		return err == nil && l.Release(t.Context(), h.Grant) == nil
	})
}

func takeAndGive(t *testing.T, l impls.Lock, key string) {
	t.Helper()
	h, err := l.Acquire(t.Context(), impls.Request{Key: key, Owner: "a", TTL: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Acquire(t.Context(), impls.Request{Key: key, Owner: "b", TTL: 10 * time.Second})
	if !errors.Is(err, impls.ErrBusy) {
		t.Errorf("%s is held, and another client got %v", key, err)
	}
	if err := l.Release(t.Context(), h.Grant); err != nil {
		t.Error(err)
	}
}

// deaf is a connection that breaks after it has sent the command, before the reply is read.
type deaf struct {
	net.Conn
	command []byte
	lost    *atomic.Int64
	mu      sync.Mutex
	sent    bool
}

func (d *deaf) Write(b []byte) (int, error) {
	if bytes.Contains(bytes.ToLower(b), d.command) && d.lost.Add(1) == 1 {
		d.mu.Lock()
		d.sent = true
		d.mu.Unlock()
	}
	return d.Conn.Write(b)
}

func (d *deaf) Read(b []byte) (int, error) {
	n, err := d.Conn.Read(b)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sent {
		return 0, io.EOF
	}
	return n, err
}

// TestClusterClientDoesNotResend checks that a SET NX is not resent after its reply was lost. A resent SET NX would be
// refused, because the key is already set.
func TestClusterClientDoesNotResend(t *testing.T) {
	g := deploy(t, servers.Local, servers.Cluster)
	var sent atomic.Int64
	l := open(t, "set-px-lua", impls.Env{Nodes: g.Front(), Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &deaf{Conn: conn, command: []byte("\r\nset\r\n"), lost: &sent}, err
	}})
	_, err := l.Acquire(t.Context(), impls.Request{Key: "key", Owner: "a", TTL: 10 * time.Second})
	if err == nil || errors.Is(err, impls.ErrBusy) {
		t.Errorf("its answer was lost, and the error is %v", err)
	}
	if sent.Load() != 1 {
		t.Errorf("sent %d times", sent.Load())
	}
	if token, _, err := l.(impls.Prober).Probe(t.Context(), "key"); token == "" || err != nil {
		t.Errorf("the server did not execute it: %q, %v", token, err)
	}
}
