package builtin

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const path = "/apis/coordination.k8s.io/v1/namespaces/lockbench/leases"

func serveLeases(t *testing.T, file string) (url string, s *leases) {
	t.Helper()
	s, err := openLeases(file)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.handler())
	t.Cleanup(func() {
		server.Close()
		_ = s.journal.Close()
	})
	return server.URL, s
}

// answer is a Lease or a Status object.
type answer struct {
	lease
	Reason  string
	Message string
}

func send(t *testing.T, method, url, body string) (int, answer) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return got.StatusCode, a
}

func object(name, version, holder string, seconds int) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"resourceVersion":%q,"labels":{"a":"b"}},"spec":{"holderIdentity":%q,"leaseDurationSeconds":%d}}`,
		name, version, holder, seconds)
}

func TestLeases(t *testing.T) {
	at, _ := serveLeases(t, filepath.Join(t.TempDir(), "journal"))
	at += path
	for _, c := range []struct {
		method, url, body string
		code              int
		reason            string
	}{
		{"GET", at + "/k", "", 404, "NotFound"},
		{"PUT", at + "/k", object("k", "1", "a", 15), 404, "NotFound"},
		{"POST", at, object("k", "", "a", 0), 422, "Invalid"},
		{"POST", at, object("lockbench:k", "", "a", 15), 422, "Invalid"},
		{"POST", at, object("k", "1", "a", 15), 400, "BadRequest"},
		{"POST", at, "k8s\x00", 415, "UnsupportedMediaType"},
		{"POST", at, object("k", "", "a", 15), 201, ""},
		{"POST", at, object("k", "", "b", 15), 409, "AlreadyExists"},
		{"PUT", at + "/k", object("k", "", "b", 15), 422, "Invalid"},
		{"PUT", at + "/k", object("j", "1", "b", 15), 400, "BadRequest"},
		{"PUT", at + "/k", object("k", "7", "b", 15), 409, "Conflict"},
		{"PUT", at + "/k", object("k", "1", "b", -1), 422, "Invalid"},
		{"PUT", at + "/k", object("k", "1", "b", 15), 200, ""},
		{"PUT", at + "/k", object("k", "1", "c", 15), 409, "Conflict"},
	} {
		if code, got := send(t, c.method, c.url, c.body); code != c.code || got.Reason != c.reason || (c.reason == "") != (got.Message == "") {
			t.Errorf("%s %s: %d %s %s, want %d %s", c.method, c.body, code, got.Reason, got.Message, c.code, c.reason)
		}
	}
	_, got := send(t, "GET", at+"/k", "")
	m := got.Metadata
	if got.Spec["holderIdentity"] != "b" || m.Version != "2" || m.Namespace != "lockbench" || m.UID == "" || m.Created.IsZero() || m.Labels["a"] != "b" || got.Kind != "Lease" {
		t.Errorf("got %+v", got)
	}
}

// TestOneUpdateOfEachVersion checks that only one of several concurrent updates of the same resource version succeeds.
func TestOneUpdateOfEachVersion(t *testing.T) {
	at, _ := serveLeases(t, filepath.Join(t.TempDir(), "journal"))
	send(t, "POST", at+path, object("k", "", "", 1))
	for version := 1; version <= 10; version++ {
		var all sync.WaitGroup
		codes := make([]int, 8)
		for i := range codes {
			all.Go(func() { codes[i], _ = send(t, "PUT", at+path+"/k", object("k", fmt.Sprint(version), fmt.Sprint(i), 1)) })
		}
		all.Wait()
		if granted := strings.Count(fmt.Sprint(codes), "200"); granted != 1 || strings.Count(fmt.Sprint(codes), "409") != 7 {
			t.Fatalf("version %d: %v", version, codes)
		}
	}
}

// TestLeasesSurviveACrash checks that a server continues after the last change in its journal. A change that a crash has cut
// off is removed.
func TestLeasesSurviveACrash(t *testing.T) {
	file := filepath.Join(t.TempDir(), "journal")
	at, s := serveLeases(t, file)
	send(t, "POST", at+path, object("k", "", "a", 1))
	send(t, "PUT", at+path+"/k", object("k", "1", "b", 1))
	if _, err := s.journal.WriteString(`{"metadata":{"name":"k","names`); err != nil {
		t.Fatal(err)
	}
	at, _ = serveLeases(t, file)
	if code, got := send(t, "GET", at+path+"/k", ""); code != 200 || got.Spec["holderIdentity"] != "b" || got.Metadata.Version != "2" {
		t.Errorf("%d, %+v", code, got)
	}
	if code, _ := send(t, "PUT", at+path+"/k", object("k", "2", "c", 1)); code != 200 {
		t.Errorf("status %d", code)
	}
	at, _ = serveLeases(t, file)
	if _, got := send(t, "GET", at+path+"/k", ""); got.Spec["holderIdentity"] != "c" || got.Metadata.Version != "3" {
		t.Errorf("got %+v", got)
	}
	if err := os.WriteFile(file, []byte("no JSON\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openLeases(file); err == nil {
		t.Error("a damaged journal was accepted")
	}
}
