package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls"
	"lockbench/internal/drive/trial"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
)

// TestOnlyTheControlIsLeft: where the servers given fit none of the locks, nothing is run.
func TestOnlyTheControlIsLeft(t *testing.T) {
	r := runner{runFlags: &runFlags{}, cells: []trial.Cell{{Lock: impls.Impl{Name: "none"}}}, notes: []string{"redlock is left out"}}
	if err := r.checkServers(t.Context()); err == nil || !strings.Contains(err.Error(), "redlock is left out") {
		t.Errorf("got %v", err)
	}
}

func TestRunIDsAreTheirOwn(t *testing.T) {
	now := time.Now()
	a, b := runID(now), runID(now)
	at, ok := servers.RunBegan(a)
	if a == b || !ok || now.Sub(at).Abs() > time.Second {
		t.Errorf("%s, %s: begun %v (%t)", a, b, at, ok)
	}
}

func TestScrub(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                         "plain",
		"dial redis://u:p@ss w@h:1: no": "dial redis://***@h:1: no",
		"see https://example.com":       "see https://example.com",
	} {
		if got := scrub(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestInterruptedExternal: a run that is interrupted still removes its keys from a server that is not its own.
func TestInterruptedExternal(t *testing.T) {
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
	code := lockbench(ctx, &stdout, &stderr, []string{"run", "--redis", g.URLs()[0], "--locks", "setnx", "--workloads", "contend", "--no-controls",
		"--hold", "100ms", "--duration", "1m", "--out", filepath.Join(t.TempDir(), "run")})
	swept := strings.Contains(c.Info(t.Context(), "commandstats").Val(), "cmdstat_scan:") // most locks leave nothing
	keys, err := c.Keys(t.Context(), "*").Result()
	if code != exitInterrupted || err != nil || len(keys) != 1 || !swept {
		t.Errorf("exit code %d, swept: %t, left: %q (%v)\n%s", code, swept, keys, err, &stderr)
	}
}
