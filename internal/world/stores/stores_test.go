package stores

import (
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/internal/world/builtin"
	"lockbench/internal/world/servers"
)

// TestMain runs the tests. If the first argument is servers.StoreVerb, it runs a built-in server instead.
func TestMain(m *testing.M) {
	builtin.ServeChild()
	os.Exit(m.Run())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// startGroup starts a deployment of Redis.
func startGroup(t *testing.T, how, deployment string) *servers.Group {
	t.Helper()
	return startSpec(t, servers.Spec{How: how, Store: servers.Redis, Deployment: deployment})
}

// startSpec starts servers in a temporary folder. At the end of the test, it checks that the folder is empty.
func startSpec(t *testing.T, s servers.Spec) *servers.Group {
	t.Helper()
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	g, err := Start(t.Context(), s)
	must(t, err)
	t.Cleanup(func() {
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
			t.Errorf("files left: %v", left)
		}
	})
	return g
}

func client(t *testing.T, url string) *redis.Client {
	t.Helper()
	opts, err := redis.ParseURL(url)
	must(t, err)
	opts.DialerRetries, opts.MaxRetries = 1, -1
	c := redis.NewClient(opts)
	t.Cleanup(func() { c.Close() })
	return c
}

// has reports whether a server has a key.
func has(t *testing.T, n servers.Node, key string) bool {
	t.Helper()
	there, err := client(t, n.URL()).Exists(t.Context(), key).Result()
	if err != nil {
		t.Errorf("%s: %v", n.URL(), err)
	}
	return there == 1
}

func listens(t *testing.T, rawURL string) bool {
	t.Helper()
	u, err := url.Parse(rawURL)
	must(t, err)
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// waitUntil waits until is returns true. It fails the test after a minute. On a busy machine, the client of a killed
// server needs many seconds to connect again.
func waitUntil(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

func TestUnknownStore(t *testing.T) {
	g, err := Start(t.Context(), servers.Spec{How: servers.Auto, Store: "oracle", Deployment: servers.Single})
	if err == nil {
		t.Fatal(errors.Join(errors.New("started"), g.Stop()))
	}
	if !strings.Contains(err.Error(), `unknown store "oracle" (known: redis`) {
		t.Error(err)
	}
}
