package redis

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"lockbench/internal/world/servers"
)

func TestAddressesHideSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"redis://host":                       "redis://host:6379",
		"redis://host:1/":                    "redis://host:1",
		"rediss://user:s3same@[::1]:7/2":     "rediss://user:***@[::1]:7/2",
		"redis://:s3same@host":               "redis://***@host:6379",
		"redis://s3same@host":                "redis://***@host:6379",
		"redis://user:%2Fs3same%40%2C@host":  "redis://user:***@host:6379",
		"redis://a%3A%2F:s3same@host:6379/0": "redis://a%3A%2F:***@host:6379/0",
	} {
		of := Store()
		all, err := of.Targets(text, "", noEnv)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		a := all[0]
		for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
			if got := fmt.Sprintf(format, a); got != want {
				t.Errorf("%s of %s: %s, want %s", format, text, got, want)
			}
			if got := fmt.Sprintf(format, servers.Remote{Targets: all}); strings.Contains(got, "s3same") {
				t.Errorf("%s of %s shows a secret: %s", format, text, got)
			}
		}
		if again, err := of.Target(a.URL(a.Hosts()[0]), noEnv); err != nil || again.URL(again.Hosts()[0]) != a.URL(a.Hosts()[0]) {
			t.Errorf("%s cannot be parsed again: %v", text, err)
		}
	}
}

func TestInvalidAddressesAreNotQuoted(t *testing.T) {
	for _, text := range []string{"", "s3same", "host:6379", "redis://", "redis:s3same@host", "http://:s3same@host", "redis://:s3same/x@host",
		"redis://:12/s3same@host", "redis://u:1#s3same@host", "redis://u:1?s3same@host", "redis://:%zzs3same@host", "redis://:s3same@host:port",
		"redis://:s3same@host/db", "redis://:1,s3same@host", "unix://s3same/sock", "redis://:s3same@host,redis://:other@host"} {
		of := Store()
		all, err := of.Targets(text, "", noEnv)
		if err == nil || strings.Contains(err.Error(), "s3same") {
			t.Errorf("%s: %v, %v", text, all, err)
		}
	}
}

func TestPasswordFromEnvironment(t *testing.T) {
	env := func(name string) string {
		return map[string]string{"LOCKBENCH_REDIS_USER": "me", "LOCKBENCH_REDIS_PASSWORD": "p@ss"}[name]
	}
	for text, want := range map[string]string{
		"redis://host":           "redis://me:p%40ss@host:6379",
		"redis://you@host":       "redis://you:p%40ss@host:6379",
		"redis://:word@host":     "redis://:word@host:6379",
		"redis://you:word@host":  "redis://you:word@host:6379",
		"rediss://host:1/5":      "rediss://me:p%40ss@host:1/5",
		"redis://host,redis://b": "redis://me:p%40ss@host:6379",
	} {
		of := Store()
		if all, err := of.Targets(text, "", env); err != nil || all[0].URL(all[0].Hosts()[0]) != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// startExternalOn starts a local server that requires a password. It returns a Group that treats this server as a user's
// server. Lockbench then knows only its address and password.
func startExternalOn(t *testing.T) *servers.Group {
	t.Helper()
	owner := startGroup(t, servers.Local, servers.Single).Nodes[0]
	c := client(t, owner.URL())
	if err := c.ConfigSet(t.Context(), "requirepass", "s3same").Err(); err != nil {
		t.Fatal(err)
	}
	r := servers.Remote{Targets: targets(t, strings.Replace(owner.URL(), "://", "://:s3same@", 1))}
	g, err := servers.Start(t.Context(), Store(), servers.Spec{How: servers.External, Store: servers.Redis, Remote: r})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestExternalServerIsUnchanged(t *testing.T) {
	g := startExternalOn(t)
	n := g.Nodes[0]
	if g.How != servers.External || !strings.HasSuffix(g.Server, "(external)") {
		t.Errorf("how %q, server %q", g.How, g.Server)
	}
	if err := n.Kill(); err == nil || strings.Contains(err.Error(), "s3same") {
		t.Errorf("kill: %v", err)
	}
	if err := g.Stop(); err != nil {
		t.Error(err)
	}
	before, err := n.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := client(t, n.URL()).Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if after, err := n.Counters(t.Context()); err != nil || after["calls.set"]-before["calls.set"] != 1 {
		t.Errorf("%v, %v", after, err)
	}
}

func TestSweepRemovesOnlyTheRun(t *testing.T) {
	g := startExternalOn(t)
	c := client(t, g.Nodes[0].URL())
	const run = "20260101000000-12-0123456789abcdef"
	foreign := []string{"lockbench", "lockbench:", "lockbench:" + run, "xlockbench:" + run + ":k", "lockbench:" + run + "0:k", "lockbench:*:k",
		"Lockbench:" + run + ":k", "lockbench:20260101000000-12-0123456789abcdee:k"}
	for _, key := range foreign {
		c.Set(t.Context(), key, "precious", 0)
	}
	pipe := c.Pipeline()
	for i := range 3 * sweepBatch {
		pipe.Set(t.Context(), fmt.Sprintf("%sk%d:fence", servers.KeyPrefix(run), i), i, 0)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second call must find no keys to remove
		if err := g.Sweep(run); err != nil {
			t.Fatal(err)
		}
		if n, err := c.DBSize(t.Context()).Result(); err != nil || int(n) != len(foreign) {
			t.Errorf("%d keys are left, want the %d foreign ones (%v)", n, len(foreign), err)
		}
	}
	if err := g.Sweep("*"); err == nil { // "*" is not a run ID
		t.Error("Sweep accepted an invalid run id")
	}
	if n := c.Exists(t.Context(), foreign...).Val(); int(n) != len(foreign) {
		t.Errorf("%d of the foreign keys are left", n)
	}
	info := c.Info(t.Context(), "commandstats").Val()
	for _, command := range []string{"flushall", "flushdb", "keys"} {
		if strings.Contains(info, "cmdstat_"+command+":") {
			t.Errorf("%s was called", command)
		}
	}
}

// TestErrorsHidePassword checks that errors do not contain the password, even if the server quotes the arguments of AUTH.
func TestErrorsHidePassword(t *testing.T) {
	for _, answer := range []string{"-ERR unknown command 'AUTH', with args beginning with: 's3same'\r\n", "s3same\r\n", "+s3same\r\n"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for { // the first connection only checks that a server listens
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 100))
				_, _ = conn.Write([]byte(answer))
				conn.Close()
			}
		}()
		if err := targets(t, "redis://:s3same@"+l.Addr().String())[0].Reach(t.Context()); err == nil || strings.Contains(err.Error(), "s3same") {
			t.Errorf("%q: %v", answer, err)
		}
	}
}

func TestSilentExternalServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, scheme := range []string{"redis", "rediss"} {
		r := servers.Remote{Targets: targets(t, scheme+"://:s3same@"+l.Addr().String())}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err = servers.Start(ctx, Store(), servers.Spec{How: servers.External, Store: servers.Redis, Remote: r})
		if err == nil || !strings.Contains(err.Error(), "no answer within") || strings.Contains(err.Error(), "s3same") {
			t.Error(err)
		}
		if _, err := servers.Start(ctx, Store(), servers.Spec{How: servers.External, Store: servers.Redis, Deployment: servers.Five, Remote: r}); err == nil {
			t.Error("five servers started with one address")
		}
	}
}

func TestRunBegan(t *testing.T) {
	if at, ok := servers.RunBegan("20260102030405-1-0123456789abcdef"); !ok || !at.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) {
		t.Errorf("%v, %t", at, ok)
	}
	for _, run := range []string{"", "test", "20260102030405-1", "20269902030405-1-0123456789abcdef", "20260102030405-1-0123456789abcdef:", "*"} {
		if _, ok := servers.RunBegan(run); ok {
			t.Errorf("%q was accepted as the id of a run", run)
		}
	}
}
