package kubernetes

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"lockbench/internal/world/builtin"
	"lockbench/internal/world/servers"
)

// TestMain runs the tests. If the first argument is servers.StoreVerb, it runs a built-in server instead.
func TestMain(m *testing.M) {
	builtin.ServeChild()
	os.Exit(m.Run())
}

func TestKubernetes(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	g, err := servers.Start(t.Context(), Store(), servers.Spec{How: servers.Local, Store: servers.Kubernetes, Self: self})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
			t.Errorf("files left: %v (%v)", left, err)
		}
	})
	n := g.Nodes[0]
	host, ok := strings.CutPrefix(n.URL(), "kubernetes://")
	if !ok || g.Server != "kubernetes stand-in coordination.k8s.io/v1 (local)" {
		t.Errorf("%s, %s", n.URL(), g.Server)
	}
	leases := "http://" + host + "/apis/coordination.k8s.io/v1/namespaces/lockbench/leases"
	if got := request(t, http.MethodPost, leases, `{"metadata":{"name":"k"},"spec":{"holderIdentity":"a"}}`); got != http.StatusCreated {
		t.Fatalf("create a lease: status %d", got)
	}
	if c, err := n.Counters(t.Context()); err != nil || c["calls.POST"] != 1 {
		t.Errorf("counted %v (%v)", c, err)
	}
	if err := n.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := n.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := n.Kill(); err != nil || n.Alive() {
		t.Fatalf("alive: %t, %v", n.Alive(), err)
	}
	if err := n.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := request(t, http.MethodGet, leases+"/k", ""); got != http.StatusOK {
		t.Errorf("an acknowledged write is lost after a restart: status %d", got)
	}
	if err := n.EndSession(t.Context(), "k", servers.Holder); err == nil {
		t.Error("EndSession succeeded, although there are no sessions")
	}
}

func request(t *testing.T, method, url, body string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	got.Body.Close()
	return got.StatusCode
}
