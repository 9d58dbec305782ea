package catalog_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/world/servers"
)

// secretOfEtcd is a password with characters that a URL must escape.
const secretOfEtcd = "s3 same/@"

// lockedEtcd starts an etcd server that accepts only the user root, and returns its address.
func lockedEtcd(t *testing.T, impl impls.Impl) string {
	t.Helper()
	host := strings.TrimPrefix(deployStore(t, impl, servers.Single).Front()[0], "etcd://")
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + host}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	for _, step := range []func() error{
		func() error { _, err := c.UserAdd(ctx, "root", secretOfEtcd); return err },
		func() error { _, err := c.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := c.AuthEnable(ctx); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return host
}

// TestEtcdUser checks that a wrong user or password is refused, and that no error contains the password.
func TestEtcdUser(t *testing.T) {
	impl := catalog.All()[slices.IndexFunc(catalog.All(), func(i impls.Impl) bool { return i.Name == "etcd" })]
	host := lockedEtcd(t, impl)
	for before, granted := range map[string]bool{"": false, "root:s3other@": false, "root:s3%20same%2F%40@": true} {
		l, err := impl.Open(impls.Env{Nodes: []string{"etcd://" + before + host}, Rand: impls.NewRand(1, 1)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), within)
		h, err := l.Acquire(ctx, impls.Request{Key: "key", Owner: "me", TTL: 10 * time.Second})
		if (err == nil) != granted || strings.Contains(fmt.Sprint(err), "s3") {
			t.Errorf("as %q: %v, want it granted: %t", before, err, granted)
		}
		if err == nil {
			err = l.Release(ctx, h.Grant)
			if _, _, again := l.(impls.Prober).Probe(ctx, "key"); err != nil || again != nil {
				t.Errorf("release: %v, probe: %v", err, again)
			}
		}
		cancel()
		l.Close()
	}
	for _, nodes := range [][]string{{"etcd://me:s3%zz@host:1"}, {"etcd://me:s3same@host"}, {"etcd://me:s3same@a:1", "etcd://me:s3other@b:1"}} {
		if _, err := impl.Open(impls.Env{Nodes: nodes}); err == nil || strings.Contains(err.Error(), "s3") {
			t.Errorf("of %q: %v", nodes, err)
		}
	}
}
