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
	"lockbench/internal/servers"
	"lockbench/internal/trial"
)

func TestUnfitLocksAreLeftOut(t *testing.T) {
	for _, c := range []struct {
		lock  impls.Impl
		given int
		why   string
	}{
		{impls.Impl{Name: "none"}, 1, ""},
		{impls.Impl{Name: "one", Store: "redis", Deployment: "single"}, 1, ""},
		{impls.Impl{Name: "one", Store: "redis", Deployment: "single"}, 5, ""},
		{impls.Impl{Name: "many", Store: "redis", Deployment: "five"}, 5, ""},
		{impls.Impl{Name: "many", Store: "redis", Deployment: "five"}, 1, "many is left out: it needs 5 servers, and --redis names 1"},
		{impls.Impl{Name: "pair", Store: "redis", Deployment: "replica"}, 5, "pair is left out: its deployment, replica, is not offered"},
	} {
		if why := unfit(c.lock, c.given); !strings.HasPrefix(why, c.why) || (why == "") != (c.why == "") {
			t.Errorf("%s on %d: %q, want %q", c.lock.Name, c.given, why, c.why)
		}
	}
	many := impls.Impl{Name: "many", Store: "redis", Deployment: "five"}
	r := runner{runFlags: &runFlags{}, cells: []trial.Cell{{Lock: impls.Impl{Name: "none"}}, {Lock: many}, {Lock: many}}}
	if err := r.fit(); err == nil || len(r.cells) != 1 || len(r.notes) != 1 {
		t.Errorf("only the control is left: %v, %d cells, notes %q", err, len(r.cells), r.notes)
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
	g, err := servers.Start(t.Context(), servers.Spec{How: servers.Local, Store: servers.Redis, Nodes: 1})
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
	code := run(ctx, &stdout, &stderr, []string{"run", "--redis", g.URLs()[0], "--locks", "setnx", "--workloads", "contend", "--no-controls",
		"--hold", "100ms", "--duration", "1m", "--out", filepath.Join(t.TempDir(), "run")})
	swept := strings.Contains(c.Info(t.Context(), "commandstats").Val(), "cmdstat_scan:") // most locks leave nothing
	keys, err := c.Keys(t.Context(), "*").Result()
	if code != exitInterrupted || err != nil || len(keys) != 1 || !swept {
		t.Errorf("exit code %d, swept: %t, left: %q (%v)\n%s", code, swept, keys, err, &stderr)
	}
}
