package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const latency = time.Millisecond

// inTest runs f in virtual time on one processor. It then waits until the background goroutines of clients have ended.
func inTest(t *testing.T, nodes int, seed uint64, f func(*testing.T, *network)) {
	t.Helper()
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(nodes, 2, latency, seed)
		f(t, n)
		n.Close()
		time.Sleep(10 * time.Second)
	})
}

func client(t *testing.T, n *network, process, node int) *redis.Client {
	t.Helper()
	opts, err := redis.ParseURL(n.URLs()[node])
	if err != nil {
		t.Fatal(err)
	}
	opts.Dialer = n.Dialer(process)
	opts.Protocol = 2
	opts.DisableIdentity = true
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	opts.MaxRetries, opts.DialerRetries = -1, 1
	opts.ContextTimeoutEnabled = true
	opts.PoolSize = 100
	opts.ReadBufferSize, opts.WriteBufferSize = 1024, 1024
	return redis.NewClient(opts)
}

// contend lets clients in two processes compete for a key that expires. It returns a log of their attempts.
func contend(t *testing.T, seed uint64) []string {
	const clients, ttl, length = 6, 50 * time.Millisecond, 5 * time.Second
	var trace []string
	inTest(t, 1, seed, func(t *testing.T, n *network) {
		start := time.Now()
		processes := []*redis.Client{client(t, n, 0, 0), client(t, n, 1, 0)}
		var mu sync.Mutex
		var all sync.WaitGroup
		for c := range clients {
			all.Go(func() {
				time.Sleep(time.Duration(c))
				pause := rand.New(rand.NewPCG(seed, uint64(c)))
				for time.Since(start) < length {
					ok, err := processes[c%2].SetNX(t.Context(), "key", c, ttl).Result()
					mu.Lock()
					trace = append(trace, fmt.Sprint(time.Since(start), c, ok, err))
					mu.Unlock()
					time.Sleep(time.Duration(1+pause.IntN(20)) * time.Millisecond)
				}
			})
		}
		all.Wait()
		for _, p := range processes {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return trace
}

func TestOneSeedIsOneRun(t *testing.T) {
	for seed := range uint64(5) {
		first := contend(t, seed)
		if diff := firstDifference(first, contend(t, seed)); diff != "" {
			t.Errorf("seed %d: two runs differ: %s", seed, diff)
		}
		if firstDifference(first, contend(t, seed+1000)) == "" {
			t.Errorf("seeds %d and %d give the same run", seed, seed+1000)
		}
	}
}

func firstDifference(a, b []string) string {
	for i := range max(len(a), len(b)) {
		if i == len(a) || i == len(b) || a[i] != b[i] {
			return fmt.Sprintf("%q and %q", a[i:min(i+1, len(a))], b[i:min(i+1, len(b))])
		}
	}
	return ""
}

func TestKeysExpireInVirtualTime(t *testing.T) {
	grants, errs := 0, 0
	trace := contend(t, 1)
	for _, line := range trace {
		if strings.Contains(line, "true") {
			grants++
		}
		if !strings.HasSuffix(line, "<nil>") {
			errs++
		}
	}
	// At most 100 leases of 50 ms fit into 5 s. There are fewer if the key is free between leases.
	if grants < 60 || grants > 100 || errs > 0 {
		t.Errorf("%d grants and %d errors in %d attempts", grants, errs, len(trace))
	}
}

func TestVirtualTimeIsNotRealTime(t *testing.T) {
	started := time.Now()
	inTest(t, 1, 1, func(t *testing.T, n *network) {
		c := client(t, n, 0, 0)
		defer c.Close()
		if err := c.Set(t.Context(), "key", "value", time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour - time.Second)
		if err := c.Get(t.Context(), "key").Err(); err != nil {
			t.Errorf("a second too early: %v", err)
		}
		time.Sleep(time.Second)
		if err := c.Get(t.Context(), "key").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("the key exists after an hour: %v", err)
		}
	})
	if real := time.Since(started); real > time.Minute {
		t.Errorf("an hour took %v", real)
	}
}

func TestNodesAreIndependent(t *testing.T) {
	inTest(t, 3, 1, func(t *testing.T, n *network) {
		for node := range n.URLs() {
			c := client(t, n, 0, node)
			if ok, err := c.SetNX(t.Context(), "key", node, 0).Result(); err != nil || !ok {
				t.Errorf("node %d: %t, %v", node, ok, err)
			}
			c.Close()
		}
	})
}

func TestCommandEndsWithContext(t *testing.T) {
	inTest(t, 1, 1, func(t *testing.T, n *network) {
		c := client(t, n, 0, 0)
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		started := time.Now()
		err := c.BLPop(ctx, 0, "empty").Err()
		if waited := time.Since(started); err == nil || waited < time.Second || waited > time.Second+quantum {
			t.Errorf("%v after %v", err, waited)
		}
	})
}

func TestPoolDetectsDeadServer(t *testing.T) {
	inTest(t, 1, 1, func(t *testing.T, n *network) {
		c := client(t, n, 0, 0)
		defer c.Close()
		if err := c.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		n.Close()
		time.Sleep(time.Second)
		// The client library notices the dead connection and dials a new one.
		if err := c.Ping(t.Context()).Err(); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Error(err)
		}
	})
}

func TestDialRefuses(t *testing.T) {
	inTest(t, 1, 1, func(t *testing.T, n *network) {
		if _, err := n.Dialer(0)(t.Context(), "tcp", "node1:6379"); err == nil {
			t.Error("node1 answered")
		}
		c, err := n.Dialer(0)(t.Context(), "tcp", "node0:6379")
		if err != nil {
			t.Fatal(err)
		}
		if c.RemoteAddr().String() != "node0:6379" || c.LocalAddr().Network() != "sim" {
			t.Errorf("%v to %v", c.LocalAddr(), c.RemoteAddr())
		}
		n.Close()
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("read from a closed network: %v", err)
		}
		c.Close()
	})
}
