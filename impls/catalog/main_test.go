package catalog_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"

	redislocks "lockbench/impls/redis"
	"lockbench/internal/world/builtin"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
)

// TestMain runs the tests, or a built-in server if the first argument is StoreVerb.
func TestMain(m *testing.M) {
	redislocks.Quiet()
	builtin.ServeChild()
	if err := flag.Set("test.parallel", "6"); err != nil { // the tests mostly wait, so more of them can run in parallel
		panic(err)
	}
	code := m.Run()
	if err := together.stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// The variable together holds the servers that several tests share. Each test uses keys with a different prefix.
var together pool

type pool struct {
	mu     sync.Mutex
	groups map[string]*servers.Group
}

// shared returns servers that several tests share. The first call with a spec starts the servers. A test that injects
// faults into servers must call started instead.
func shared(t *testing.T, spec servers.Spec) *servers.Group {
	t.Helper()
	together.mu.Lock()
	defer together.mu.Unlock()
	of := fmt.Sprintf("%+v", spec)
	g := together.groups[of]
	if g == nil {
		var err error
		if g, err = stores.Start(context.Background(), spec); err != nil {
			t.Fatal(err)
		}
		if together.groups == nil {
			together.groups = map[string]*servers.Group{}
		}
		together.groups[of] = g
	}
	return g
}

func (p *pool) stop() error {
	var errs []error
	for _, g := range p.groups {
		errs = append(errs, g.Stop())
	}
	return errors.Join(errs...)
}

// started returns new servers. The servers stop at the end of the test.
func started(t *testing.T, spec servers.Spec) *servers.Group {
	t.Helper()
	g, err := stores.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// deploy starts a deployment of Redis. The servers stop at the end of the test.
func deploy(t *testing.T, how, deployment string) *servers.Group {
	t.Helper()
	if how == servers.Local {
		needRedis(t)
	}
	return started(t, servers.Spec{How: how, Store: servers.Redis, Deployment: deployment})
}
