package catalog_test

import (
	"errors"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/internal/world/servers"
)

// onEach runs a test on the emulator, on Redis and on Valkey, if they are installed. The emulator and Redis before version 8.4 lack the
// conditional commands, so the lock uses scripts there.
func onEach(t *testing.T, do func(t *testing.T, g *servers.Group)) {
	bothWays(t, servers.Single, do)
	t.Run("valkey", func(t *testing.T) {
		needProgram(t, "valkey-server", "install valkey-server")
		do(t, deploy(t, servers.Local, servers.Valkey))
	})
}

// TestIFEQRenews checks that a renewal without PX removes the expiry of the key, and one with PX keeps it.
func TestIFEQRenews(t *testing.T) {
	for _, c := range []struct {
		lock    string
		expires bool
	}{{"set-ifeq", true}, {"ifeq-drops-expiry", false}} {
		t.Run(c.lock, func(t *testing.T) {
			onEach(t, func(t *testing.T, g *servers.Group) {
				renewed := make(chan error, 100)
				a := open(t, c.lock, impls.Env{Nodes: g.Front(), Renewed: func(_ impls.Grant, _ time.Duration, err error) { renewed <- err }})
				mustAcquire(t, a, "a", time.Second, 0)
				if err := <-renewed; err != nil {
					t.Fatal(err)
				}
				left, err := raw(t, g.URLs()[0]).PTTL(t.Context(), "k").Result()
				if expires := left > 0; expires != c.expires || err != nil {
					t.Errorf("after a renewal the key expires: %t (in %v), want %t, %v", expires, left, c.expires, err)
				}
			})
		})
	}
}

// TestIFEQComparesToken checks that a late release and a late renewal leave another client's key.
func TestIFEQComparesToken(t *testing.T) {
	onEach(t, func(t *testing.T, g *servers.Group) {
		a := open(t, "set-ifeq", impls.Env{Nodes: g.Front()})
		c := raw(t, g.URLs()[0])
		h := mustAcquire(t, a, "a", shortTTL, 0)
		if err := c.Set(t.Context(), "k", "another token", time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-h.Lost:
		case <-time.After(10 * time.Second):
			t.Error("the key has another token, and no loss was reported")
		}
		if err := a.Release(t.Context(), h.Grant); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("the release of a lost hold: %v", err)
		}
		if left, err := c.PTTL(t.Context(), "k").Result(); left < 30*time.Second || err != nil || c.Get(t.Context(), "k").Val() != "another token" {
			t.Errorf("of the other client's lease %v is left, %v", left, err)
		}
		c.Del(t.Context(), "k")
		mustRelease(t, a, mustAcquire(t, a, "a", shortTTL, 0))
		if c.Exists(t.Context(), "k").Val() != 0 {
			t.Error("the key is there after its release")
		}
	})
}
