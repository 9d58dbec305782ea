package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"lockbench/impls"
)

// fake is a lock on one key. Tests control its state.
type fake struct {
	env    impls.Env
	free   chan struct{} // contains an element while the key is free
	mu     sync.Mutex
	tokens int
	lost   chan struct{} // loss signal of the current hold
	closed bool
}

func newFake(env impls.Env) *fake {
	f := &fake{env: env, free: make(chan struct{}, 1)}
	f.free <- struct{}{}
	return f
}

func (f *fake) Acquire(ctx context.Context, r impls.Request) (impls.Hold, error) {
	if r.Wait == 0 {
		select {
		case <-f.free:
			return f.grant(r), nil
		default:
			return impls.Hold{}, impls.ErrBusy
		}
	}
	select {
	case <-f.free:
		return f.grant(r), nil
	case <-ctx.Done():
		return impls.Hold{}, fmt.Errorf("given up: %w", ctx.Err())
	}
}

func (f *fake) grant(r impls.Request) impls.Hold {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tokens++
	f.lost = make(chan struct{})
	return impls.Hold{Lost: f.lost, Grant: impls.Grant{Key: r.Key, Owner: r.Owner, Token: fmt.Sprint("t", f.tokens),
		Fence: int64(f.tokens), SentAfter: time.Millisecond, Validity: r.TTL}}
}

func (f *fake) Release(_ context.Context, g impls.Grant) error {
	switch {
	case g.Key == "unsure":
		return errors.New("the connection broke")
	case !f.isHeld(g):
		return impls.ErrNotHeld
	}
	f.free <- struct{}{}
	return nil
}

func (f *fake) isHeld(g impls.Grant) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.free) == 0 && g.Token == fmt.Sprint("t", f.tokens)
}

func (f *fake) Renew(_ context.Context, g impls.Grant) (impls.Grant, error) {
	g.SentAfter, g.Validity = time.Microsecond, time.Minute
	return g, nil
}

func (f *fake) Probe(context.Context, string) (string, time.Duration, error) {
	return "t1", impls.Unbounded, nil
}

func (f *fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return nil
}

// session is a worker under test, with its input, its lines of output and its lock.
type session struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string
	ended chan error
	lock  *fake
	ready Ready
}

// timeout bounds every wait of a test.
const timeout = 20 * time.Second

func start(t *testing.T, resource string) *session {
	t.Helper()
	theirIn, in := io.Pipe()
	out, theirOut := io.Pipe()
	s := &session{t: t, in: in, lines: make(chan string, 100), ended: make(chan error, 1)}
	about := func(o Open) (About, error) {
		return About{Name: "fake-" + o.Lock, Capabilities: []string{CanReenter, CanRenewSelf}, BackOff: time.Second}, nil
	}
	go func() {
		err := Serve(theirIn, theirOut, about, func(_ Open, env impls.Env) (impls.Lock, error) {
			s.lock = newFake(env)
			return s.lock, nil
		})
		theirOut.Close()
		s.ended <- err
	}()
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.lines <- lines.Text()
		}
		close(s.lines)
	}()
	t.Cleanup(func() { in.Close() })
	s.tell(fmt.Sprintf(`{"lockbench_worker":2,"lock":"x","nodes":[],"prefix":"p:","process":1,"seed":3,"params":{"a":"b"},"resource":%q}`, resource))
	var err error
	if s.ready, err = ReadReady([]byte(s.text())); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *session) tell(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) text() string {
	s.t.Helper()
	select {
	case text := <-s.lines:
		return text
	case <-time.After(timeout):
		s.t.Fatal("no line came")
		return ""
	}
}

func (s *session) hear() Line {
	s.t.Helper()
	l, err := ReadLine([]byte(s.text()))
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

// ask sends a request and returns the reply. The test fails if the reply differs from want, except in the field Elapsed.
func (s *session) ask(request string, want Line) Line {
	s.t.Helper()
	s.tell(request)
	return s.want(want)
}

func (s *session) want(want Line) Line {
	s.t.Helper()
	got := s.hear()
	elapsed := got.Elapsed
	got.Elapsed, want.Elapsed = 0, 0
	if got != want {
		s.t.Fatalf("got %+v\nwant %+v", got, want)
	}
	got.Elapsed = elapsed
	return got
}

func (s *session) end() error {
	s.t.Helper()
	select {
	case err := <-s.ended:
		return err
	case <-time.After(timeout):
		s.t.Fatal("the worker does not end")
		return nil
	}
}

func TestFirstLines(t *testing.T) {
	s := start(t, "")
	want := []string{CanReenter, CanRenewSelf, CanTellLoss, CanRenew, CanProbe}
	if s.ready.Name != "fake-x" || strings.Join(s.ready.Capabilities, " ") != strings.Join(want, " ") || s.ready.BackOffMS != 1000 {
		t.Errorf("%+v", s.ready)
	}
	if e := s.lock.env; e.Prefix != "p:" || e.Process != 1 || e.Params["a"] != "b" || e.Rand == nil {
		t.Errorf("%+v", e)
	}
}

func TestFirstLineOfAnotherProgram(t *testing.T) {
	for _, text := range []string{"", "hello\n", `{"lockbench_worker":2}` + "\n", `{"lockbench_worker":1}` + "\n"} {
		var out strings.Builder
		err := Serve(strings.NewReader(text), &out, func(Open) (About, error) { return About{}, errors.New("no such lock") }, nil)
		if err == nil {
			t.Errorf("%q: no error", text)
		}
		if _, said := ReadReady([]byte(out.String())); text != "" && (said == nil || !strings.Contains(said.Error(), "the worker cannot start")) {
			t.Errorf("%q: it said %q", text, out.String())
		}
	}
}

func TestGrantRefusalRelease(t *testing.T) {
	s := start(t, "")
	grant := Line{ID: 1, OK: true, Key: "k", Token: "t1", Fence: 1, SentAfter: int64(time.Millisecond), Validity: int64(600 * time.Millisecond)}
	s.ask(`{"id":1,"do":"acquire","key":"k","owner":"a","ttl_ms":600}`, grant)
	s.ask(`{"id":2,"do":"acquire","key":"k","owner":"b","ttl_ms":600}`, Line{ID: 2, Refused: Busy})
	s.ask(`{"id":3,"do":"renew","key":"k","hold":1,"token":"t1"}`, Line{ID: 3, OK: true, Token: "t1", SentAfter: 1000, Validity: int64(time.Minute)})
	s.ask(`{"id":4,"do":"probe","key":"k"}`, Line{ID: 4, OK: true, Token: "t1", Left: -1})
	s.ask(`{"id":5,"do":"release","key":"k","hold":1,"token":"t1"}`, Line{ID: 5, OK: true})
	s.ask(`{"id":6,"do":"release","key":"k","hold":1,"token":"t1"}`, Line{ID: 6, Refused: NotHeld})
	s.ask(`{"id":7,"do":"release","key":"unsure"}`, Line{ID: 7, Error: "the connection broke"})
	s.ask(`{"id":8,"do":"dance"}`, Line{ID: 8, Error: `unknown request "dance"`})
	s.ask(`{"id":9,"do":"ping","from_the_future":true}`, Line{ID: 9, OK: true})
}

// TestOverlap checks that a waiting acquire blocks no other request, and that it can be cancelled.
func TestOverlap(t *testing.T) {
	s := start(t, "")
	s.tell(`{"id":1,"do":"acquire","key":"k","owner":"a","ttl_ms":600}`)
	token := s.hear().Token
	s.tell(`{"id":2,"do":"acquire","key":"k","owner":"b","ttl_ms":600,"wait_ms":-1}`)
	s.ask(`{"id":3,"do":"ping"}`, Line{ID: 3, OK: true})
	s.tell(`{"id":0,"do":"cancel","hold":2}`)
	s.want(Line{ID: 2, Error: "given up: context canceled"})
	s.tell(`{"id":0,"do":"cancel","hold":2}`) // the acquire is already cancelled
	s.tell(`{"id":4,"do":"acquire","key":"k","owner":"b","ttl_ms":600,"wait_ms":10000}`)
	s.tell(`{"id":5,"do":"release","key":"k","hold":1,"token":"` + token + `"}`)
	got := map[int64]bool{}
	for range 2 {
		l := s.hear()
		got[l.ID] = l.OK
	}
	if !got[4] || !got[5] {
		t.Errorf("%v", got)
	}
}

// TestManyAtOnceUnread checks that a worker reads requests even while its replies are not read.
func TestManyAtOnceUnread(t *testing.T) {
	theirIn, in := io.Pipe()
	out, theirOut := io.Pipe()
	go func() {
		_ = Serve(theirIn, theirOut, func(Open) (About, error) { return About{Name: "x"}, nil },
			func(_ Open, env impls.Env) (impls.Lock, error) { return newFake(env), nil })
		theirOut.Close()
	}()
	defer in.Close()
	lines := bufio.NewScanner(out)
	told := make(chan error, 1)
	go func() {
		_, err := io.WriteString(in, `{"lockbench_worker":2}`+"\n")
		for id := 1; id <= 100 && err == nil; id++ {
			_, err = fmt.Fprintf(in, `{"id":%d,"do":"ping"}`+"\n"+`{"id":0,"do":"cancel","hold":%d}`+"\n", id, id)
		}
		told <- err
	}()
	if !lines.Scan() {
		t.Fatal("no first line")
	}
	select {
	case err := <-told:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(timeout):
		t.Fatal("the worker reads no requests while its answers wait")
	}
	for range 100 {
		if !lines.Scan() {
			t.Fatal("an answer is missing")
		}
	}
}

func TestLossAndRenewals(t *testing.T) {
	s := start(t, "")
	s.tell(`{"id":1,"do":"acquire","key":"k","owner":"a","ttl_ms":600}`)
	grant := s.hear()
	told := impls.Grant{Key: "k", Token: grant.Token, Validity: time.Second}
	s.lock.env.Renewed(told, 5*time.Millisecond, nil)
	if l := s.want(Line{Renewed: 1, OK: true, Validity: int64(time.Second)}); l.Elapsed != int64(5*time.Millisecond) {
		t.Errorf("a renewal after %d ns, want 5 ms", l.Elapsed)
	}
	s.lock.env.Renewed(impls.Grant{Key: "k", Token: "unknown"}, 0, nil) // a renewal of an unknown hold is not reported
	began := time.Now()
	time.Sleep(20 * time.Millisecond)
	close(s.lock.lost)
	if l := s.want(Line{Lost: 1}); l.Elapsed < int64(20*time.Millisecond) || l.Elapsed > int64(time.Since(began)+timeout) {
		t.Errorf("lost after %d ns", l.Elapsed)
	}
	s.ask(`{"id":2,"do":"release","key":"k","hold":1,"token":"t1"}`, Line{ID: 2, OK: true})
	s.lock.env.Renewed(told, time.Second, impls.ErrNotHeld) // a renewal is reported even after the release
	s.want(Line{Renewed: 1, Refused: NotHeld, Validity: int64(time.Second)})
	s.tell(`{"id":3,"do":"acquire","key":"k","owner":"a","ttl_ms":600}`)
	s.hear()
	s.ask(`{"id":4,"do":"release","key":"k","hold":3,"token":"t2"}`, Line{ID: 4, OK: true})
	close(s.lock.lost) // the loss comes after the release, so it must not be reported
	s.ask(`{"id":5,"do":"ping"}`, Line{ID: 5, OK: true})
}

func TestHeldIsBounded(t *testing.T) {
	h := newHeld()
	for id := int64(1); id <= 3*remembered; id++ {
		h.begin(id, fmt.Sprint(id))
		h.end(id, fmt.Sprint(id))
	}
	h.begin(1<<40, "held")
	if len(h.named) > remembered+1 || len(h.ended) > remembered || h.named["held"] == 0 {
		t.Errorf("%d names, %d ended", len(h.named), len(h.ended))
	}
}

func TestResource(t *testing.T) {
	stored := map[string]string{}
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case q.URL.Query().Get("fence") == "1":
			http.Error(w, "stale", http.StatusConflict)
		case q.URL.EscapedPath() == "/s/bad":
			http.Error(w, "no", http.StatusTeapot)
		case q.Method == http.MethodGet:
			_, _ = io.WriteString(w, stored[q.URL.Path])
		default:
			body, _ := io.ReadAll(q.Body)
			stored[q.URL.Path] = q.Method + string(body)
		}
		if q.Method == http.MethodPut {
			stored[q.URL.Path] = strings.TrimPrefix(stored[q.URL.Path], q.Method)
		}
	}))
	defer server.Close()
	s := start(t, server.URL+"/s/")
	s.ask(`{"id":1,"do":"write","key":"a/b","value":7,"fence":2}`, Line{ID: 1, OK: true})
	s.ask(`{"id":2,"do":"read","key":"a/b"}`, Line{ID: 2, OK: true, Value: 7})
	s.ask(`{"id":3,"do":"append","key":"o"}`, Line{ID: 3, OK: true})
	s.ask(`{"id":4,"do":"write","key":"k","value":7,"fence":1}`, Line{ID: 4, Refused: Stale})
	s.ask(`{"id":5,"do":"read","key":"bad"}`, Line{ID: 5, Error: "the resource answered 418 I'm a teapot: no"})
}

// TestEnd checks that a worker ends its waits and abandons its lock. It must do so at a shutdown, at the end of its input,
// and after an invalid request.
func TestEnd(t *testing.T) {
	for _, how := range []string{"shutdown", "end of input", "a request that cannot be read"} {
		t.Run(how, func(t *testing.T) {
			s := start(t, "")
			s.tell(`{"id":1,"do":"acquire","key":"k","owner":"a","ttl_ms":600}`)
			s.hear()
			s.tell(`{"id":2,"do":"acquire","key":"k","owner":"b","ttl_ms":600,"wait_ms":-1}`)
			switch how {
			case "shutdown":
				s.tell(`{"id":0,"do":"shutdown"}`)
			case "end of input":
				s.in.Close()
			default:
				s.tell(`{"id":`)
			}
			s.want(Line{ID: 2, Error: "given up: context canceled"})
			if err := s.end(); (err != nil) != (how == "a request that cannot be read") {
				t.Errorf("it ended with %v", err)
			}
			if !s.lock.closed || len(s.lock.free) != 0 {
				t.Errorf("closed %v, released %d", s.lock.closed, len(s.lock.free))
			}
		})
	}
}

// TestLinesRoundTrip checks that lockbench parses the worker's lines.
func TestLinesRoundTrip(t *testing.T) {
	g := impls.Grant{Key: "k", Owner: "o", Token: "t", Fence: 3, Depth: 2, Validity: time.Second, Ref: 9}
	text, err := json.Marshal(RequestOn("release", g))
	var r Request
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if got := r.Grant(); err != nil || got != g {
		t.Errorf("%+v became %+v: %v", g, got, err)
	}
}
