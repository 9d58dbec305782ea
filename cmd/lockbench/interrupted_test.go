package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/internal/cli"
	"lockbench/internal/cli/console"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
)

// TestInterruptedExternal checks that an interrupted run removes its keys from an external server.
func TestInterruptedExternal(t *testing.T) {
	t.Parallel()
	if missing, err := condition("missing:redis-server"); err != nil {
		t.Fatal(err)
	} else if missing {
		t.Skip("redis-server is not on the PATH: apt install redis-server")
	}
	g, err := stores.Start(t.Context(), servers.Spec{How: servers.Local, Store: servers.Redis})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Stop()
	opts, err := redis.ParseURL(g.URLs()[0])
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(opts)
	defer c.Close()
	if err := c.Set(t.Context(), "lockbench", "precious", 0).Err(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(700*time.Millisecond, cancel)
	var stdout, stderr bytes.Buffer
	code := cli.Run(ctx, &stdout, &stderr, []string{"run", "--redis", g.URLs()[0], "--locks", "setnx", "--workloads", "contend", "--no-controls",
		"--hold", "100ms", "--duration", "1m", "--out", filepath.Join(t.TempDir(), "run")})
	// A SCAN command shows that the run searched the server for leftover keys. Checking only for leftover keys would
	// not suffice, because most locks leave none.
	swept := strings.Contains(c.Info(t.Context(), "commandstats").Val(), "cmdstat_scan:")
	keys, err := c.Keys(t.Context(), "*").Result()
	if code != console.ExitInterrupted || err != nil || len(keys) != 1 || !swept {
		t.Errorf("exit code %d, swept: %t, left: %q (%v)\n%s", code, swept, keys, err, &stderr)
	}
}
