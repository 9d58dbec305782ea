package workers

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"lockbench/workloads"
)

func TestGuarded(t *testing.T) {
	g, err := Guard(workloads.NewRegister(workloads.Checking))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, path, body string
		code               int
		answer             string
	}{
		{"PUT", "a%2Fb?fence=5", "41", 200, "ok"},
		{"GET", "a%2Fb?fence=5", "", 200, "41"},
		{"GET", "other", "", 200, "0"},
		{"PUT", "a%2Fb?fence=4", "1", 409, "stale"},
		{"POST", "a%2Fb?fence=4", "", 409, "stale"},
		{"POST", "a%2Fb?fence=0", "", 200, "ok"},
		{"PUT", "k", "many", 400, "whole number"},
		{"PUT", "k?fence=none", "1", 400, "whole number"},
		{"PUT", "k?fence=-1", "1", 400, "whole number"},
		{"DELETE", "k", "", 405, ""},
	} {
		code, answer := do(t, c.method, g.URL+c.path, c.body)
		if code != c.code || !strings.Contains(answer, c.answer) {
			t.Errorf("%s %s: %d %q, want %d %q", c.method, c.path, code, answer, c.code, c.answer)
		}
	}
	base := g.URL[:strings.Index(g.URL[len("http://"):], "/")+len("http://")]
	if code, _ := do(t, "GET", base+"/k", ""); code != 404 {
		t.Errorf("without the secret: %d", code)
	}
	http.DefaultClient.CloseIdleConnections()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if _, err := http.Get(g.URL + "k"); err == nil {
		t.Error("the closed server answers")
	}
}

func do(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}
