package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"lockbench/impls"
	redislocks "lockbench/impls/redis"
	"lockbench/impls/worker"
	"lockbench/internal/world/children"
)

func TestMain(m *testing.M) {
	redislocks.Quiet()
	os.Exit(m.Run())
}

// halves is an in-memory lock with two segments. It grants the segments alternately.
type halves struct {
	mu   [2]sync.Mutex
	next int
	turn sync.Mutex
	lost chan struct{}
}

func (l *halves) Segments(key string) []string { return []string{key + "#0", key + "#1"} }

func (l *halves) Acquire(_ context.Context, r impls.Request) (impls.Hold, error) {
	l.turn.Lock()
	i := l.next % 2
	l.next++
	l.turn.Unlock()
	l.mu[i].Lock()
	return impls.Hold{Grant: impls.Grant{Key: l.Segments(r.Key)[i], Validity: time.Second, Ref: int64(i)}, Lost: l.lost}, nil
}

func (l *halves) Release(_ context.Context, g impls.Grant) error {
	l.mu[g.Ref].Unlock()
	return nil
}

func (*halves) Close() error { return nil }

// newShop starts a service. The parameter left holds the number of items left in each segment of the stock.
func newShop(t *testing.T, lock impls.Lock, left ...int64) (*httptest.Server, *Stock, *miniredis.Miniredis) {
	t.Helper()
	m := miniredis.RunT(t)
	o := Opening{Open: worker.Open{Prefix: "p:"}, Stock: "redis://" + m.Addr(), Product: "k0", Wait: -1, TTL: time.Second, Hold: time.Millisecond}
	s, err := NewService(o, lock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for i, n := range left {
		if err := s.stock.Write(t.Context(), new(halves).Segments("k0")[i], n, 0); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server, s.stock, m
}

func steps(a Answer) string {
	var all []string
	for _, s := range a.Steps {
		all = append(all, s.Kind.String()+" "+s.Key+" "+s.Outcome.String())
	}
	return strings.Join(all, ", ")
}

// TestService sends orders to a service that sells items under a lock. It checks the lock and stock operations that each
// answer lists. The stock is split into two segments. The cases include an empty segment, a sell-out, a lost lock and an
// unreachable Redis server.
func TestService(t *testing.T) {
	lock := &halves{}
	server, stock, redis := newShop(t, lock, 1, 1)
	order := func(query string) Answer {
		t.Helper()
		a, err := ask[Answer](t.Context(), server.Client(), http.MethodPost, server.URL+orderPath+query)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	lost := make(chan struct{})
	close(lost)
	for _, c := range []struct {
		outcome Outcome
		steps   string
		before  func()
	}{
		{Busy, "acquire k0#0 ok, read k0#0 ok, lost k0#0 ok, release k0#0 ok", func() { lock.lost = lost }},
		{Sold, "acquire k0#1 ok, read k0#1 ok, write k0#1 ok, append k0#1 ok, release k0#1 ok", func() { lock.lost = nil }},
		{Sold, "acquire k0#0 ok, read k0#0 ok, write k0#0 ok, append k0#0 ok, release k0#0 ok", func() {}},
		{SoldOut, "acquire k0#1 ok, read k0#1 ok, release k0#1 ok, acquire k0#0 ok, read k0#0 ok, append k0#0 refused, release k0#0 ok", func() {}},
		{Sold, "acquire k0#1 ok, read k0#1 ok, release k0#1 ok, acquire k0#0 ok, read k0#0 ok, write k0#0 ok, append k0#0 ok, release k0#0 ok",
			func() { _ = stock.Write(t.Context(), "k0#0", 1, 0) }},
		{Failed, "acquire k0#1 ok, read k0#1 unknown, release k0#1 ok", redis.Close},
	} {
		c.before()
		a := order("?buyer=c0.0&late=1")
		if a.Outcome != c.outcome || steps(a) != c.steps {
			t.Errorf("%s: %s\nwant %s: %s", a.Outcome, steps(a), c.outcome, c.steps)
		}
		last := a.Read
		for _, s := range a.Steps {
			if s.Called < last || s.Returned < s.Called || s.Returned > a.Answered {
				t.Errorf("the times of %+v are not in order", a)
			}
			last = s.Returned
		}
	}
	order("")
	p := Process{URL: server.URL}
	if r, err := p.Reached(t.Context()); err != nil || r != (Reached{7, 6}) {
		t.Errorf("%+v orders reached the service (%v), want 7, 6 of them late", r, err)
	}
}

// TestServe checks that a service writes its address, ends when its input ends, and reports an error if it cannot start.
func TestServe(t *testing.T) {
	open := func(lock string, _ impls.Env) (impls.Lock, error) {
		if lock != "halves" {
			return nil, errors.New("unknown lock")
		}
		return &halves{}, nil
	}
	for _, c := range []struct{ line, want string }{
		{`{"lock":"quarters","stock":"redis://127.0.0.1:1"}`, "unknown lock"},
		{`{"lock":"halves","stock":"secret"}`, "invalid URL of the stock's Redis"},
		{`secret`, "invalid first line"},
	} {
		var out bytes.Buffer
		err := Serve(strings.NewReader(c.line+"\n"), &out, open)
		if err == nil || err.Error() != c.want || !strings.Contains(out.String(), c.want) || strings.Contains(out.String(), "secret") {
			t.Errorf("%s: %v, %s", c.line, err, &out)
		}
	}
	in, stop := io.Pipe()
	out, told := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(in, told, open) }()
	if err := json.NewEncoder(stop).Encode(Opening{Open: worker.Open{Lock: "halves"}, Stock: "redis://127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	var r ready
	if err := json.NewDecoder(out).Decode(&r); err != nil {
		t.Fatal(err)
	}
	if _, err := ask[Answer](t.Context(), http.DefaultClient, http.MethodGet, "http://"+r.Address+clockPath); err != nil {
		t.Error(err)
	}
	stop.Close()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the service did not end with its input")
	}
}

// TestFailedStartShowsOutput checks the error of a failed start. The error must quote the output of the service, but not
// its input.
func TestFailedStartShowsOutput(t *testing.T) {
	k := keeper(t)
	for _, c := range []struct{ script, want string }{
		{"echo some trouble >&2; exit 3", "some trouble"},
		{`echo '{"error":"no lock"}'`, "no lock"},
		{"echo hello", "parse its first line"},
	} {
		_, err := Start(t.Context(), k, []string{"/bin/sh", "-c", c.script}, Opening{Stock: "redis://:secret@127.0.0.1:1"})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", c.script, err)
		}
	}
}

func keeper(t *testing.T) *children.Keeper {
	t.Helper()
	k, err := children.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

// TestGate checks the gate, an nginx proxy in front of the shop. The gate must forward orders while items are left, and
// then refuse orders itself. The test also checks that Close ends the gate.
func TestGate(t *testing.T) {
	if err := GateSupported(); err != nil {
		if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), "nginx-lua") {
			t.Fatal("LOCKBENCH_REQUIRE names nginx-lua: ", err)
		}
		t.Skip(err)
	}
	server, stock, redis := newShop(t, &halves{}, 2, 1)
	k := keeper(t)
	g, err := StartGate(t.Context(), k, t.TempDir(), []*Process{{URL: server.URL}}, "redis://"+redis.Addr(), stock.Keys(new(halves).Segments("k0")))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Outcome{Sold, Sold, Sold, SoldOut, SoldOut, Failed} {
		if want == Failed {
			redis.Close()
		}
		a, err := ask[Answer](t.Context(), http.DefaultClient, http.MethodPost, g.URL+orderPath+"?buyer=c0.0")
		if err != nil || a.Outcome != want || a.Gate != (want == SoldOut) || a.Gate != (len(a.Steps) == 0) {
			t.Errorf("order %d: %+v, %v, want %s", i, a, err, want)
		}
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if _, err := ask[Answer](t.Context(), http.DefaultClient, http.MethodGet, g.URL+clockPath); err == nil {
		t.Error("the closed gate answers")
	}
}

// TestPercentile checks the percentiles of short and long slices.
func TestPercentile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i)
	}
	if a, b, c, d := percentile(nil, 0.5), percentile(hundred[:1], 0.99), percentile(hundred, 0.5), percentile(hundred, 0.99); a != 0 || b != 100 || c != 50 || d != 99 {
		t.Error(a, b, c, d)
	}
}
