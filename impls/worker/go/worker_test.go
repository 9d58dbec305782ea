package lockbenchworker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// earlyLog is created before Main redirects standard output, as a library's logger may be.
var earlyLog = log.New(os.Stdout, "", 0)

// TestMain runs the tests. If TestOutput started this process, TestMain runs a worker instead. The library of this worker also
// prints to standard output.
func TestMain(m *testing.M) {
	if os.Getenv("LOCKBENCH_TEST_WORKER") == "" {
		os.Exit(m.Run())
	}
	l := newStore().lock()
	open := l.Open
	l.Open = func(env Env) (*store, error) {
		fmt.Println("opening")
		earlyLog.Println("opened")
		return open(env)
	}
	Main(l)
}

// store is a lock service in memory.
type store struct {
	mu      sync.Mutex
	holders map[string]int // number of the grant that holds a key, by key; 0: the key is free
	grants  int
	tries   int
	env     Env
	lost    chan struct{}
	last    Request
	failure error // if not nil, every try fails with this error
}

func newStore() *store {
	return &store{holders: map[string]int{}, lost: make(chan struct{})}
}

var errTaken, errGone = errors.New("taken"), errors.New("gone")

func (s *store) lock() Lock[*store, int] {
	return Lock[*store, int]{Name: "memory", Busy: errTaken, NotHeld: errGone, Can: []string{Lost, Fencing}, Backoff: 10 * time.Millisecond,
		Open: func(env Env) (*store, error) { s.env = env; return s, nil }, Try: try, Release: release, Renew: renew, Probe: probe}
}

func try(_ context.Context, s *store, r Request) (Grant[int], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	s.last = r
	if s.failure != nil {
		return Grant[int]{}, s.failure
	}
	if s.holders[r.Key] != 0 {
		return Grant[int]{}, fmt.Errorf("try: %w", errTaken)
	}
	s.grants++
	s.holders[r.Key] = s.grants
	if r.KeepAlive {
		r.Renewed(time.Now(), r.TTL, nil)
	}
	return Grant[int]{Handle: s.grants, Token: fmt.Sprint("t", s.grants), Fence: int64(s.grants), Lost: s.lost}, nil
}

func release(_ context.Context, s *store, h Hold[int]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case h.Handle == 0:
		return errors.New("release without a handle")
	case s.holders[h.Key] != h.Handle:
		return errGone
	}
	s.holders[h.Key] = 0
	return nil
}

func renew(_ context.Context, s *store, h Hold[int]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holders[h.Key] != h.Handle {
		return errTaken
	}
	return nil
}

func probe(_ context.Context, s *store, key string) (string, time.Duration, error) {
	return fmt.Sprint("t", s.holders[key]), Unbounded, nil
}

// session sends requests to a worker and receives its replies, as lockbench does.
type session struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan reply
	first description
	ended chan error
}

// limit bounds every wait of a test.
const limit = 20 * time.Second

func start[C any](t *testing.T, l Lock[C, int], resource string) *session {
	t.Helper()
	theirIn, in := io.Pipe()
	out, theirOut := io.Pipe()
	s := &session{t: t, in: in, lines: make(chan reply, 100), ended: make(chan error, 1)}
	go func() { s.ended <- serve(l, theirIn, theirOut) }()
	t.Cleanup(func() { in.Close() })
	s.tell(fmt.Sprintf(`{"lockbench_worker":2,"nodes":["redis://n"],"prefix":"p:","process":1,"seed":3,"ttl_ms":800,"params":{"a":"b"},"resource":%q}`, resource))
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("no first line")
	}
	if err := json.Unmarshal(lines.Bytes(), &s.first); err != nil {
		t.Fatal(err)
	}
	go func() {
		for lines.Scan() {
			var r reply
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				t.Errorf("%s: %v", lines.Bytes(), err)
			}
			s.lines <- r
		}
	}()
	return s
}

func (s *session) tell(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) hear() reply {
	s.t.Helper()
	select {
	case r := <-s.lines:
		return r
	case <-time.After(limit):
		s.t.Fatal("no line came")
		return reply{}
	}
}

// ask sends a request, checks the reply and returns it. The check ignores the times in the reply.
func (s *session) ask(line string, want reply) reply {
	s.t.Helper()
	s.tell(line)
	return s.want(want)
}

func (s *session) want(want reply) reply {
	s.t.Helper()
	got := s.hear()
	bare := got
	bare.Sent, bare.Elapsed = 0, 0
	if bare != want {
		s.t.Fatalf("got %+v\nwant %+v", bare, want)
	}
	return got
}

func acquire(id int, wait int) string {
	return fmt.Sprintf(`{"id":%d,"do":"acquire","key":"k","owner":"a","ttl_ms":600,"wait_ms":%d}`, id, wait)
}

func releaseOf(id, hold int) string {
	return fmt.Sprintf(`{"id":%d,"do":"release","key":"k","hold":%d}`, id, hold)
}

var ms600 = int64(600 * time.Millisecond)

func TestDescription(t *testing.T) {
	l := newStore().lock()
	l.Doc, l.Store, l.StartTime, l.Shortest, l.Step = "in memory", "none", 20*time.Second, 2*time.Second, time.Second
	l.Expect = []Expectation{{Property: "owner-release", Verdict: "unspecified", Workload: "misuse", Because: "no result"}}
	l.Open = func(Env) (*store, error) { return nil, errors.New("opened") }
	var out strings.Builder
	if err := serve(l, strings.NewReader(`{"lockbench_worker":2,"describe":true,"nodes":[]}`+"\n"), &out); err != nil {
		t.Fatal(err)
	}
	want := `{"lockbench_worker":2,"name":"memory","doc":"in memory","store":"none","capabilities":["cancel","renew","probe","lost","fencing"],` +
		`"backoff_ms":10,"shortest_lease_ms":2000,"lease_step_ms":1000,"start_ms":20000,` +
		`"expect":[{"property":"owner-release","verdict":"unspecified","workload":"misuse","because":"no result"}]}` + "\n"
	if out.String() != want {
		t.Errorf("got  %swant %s", out.String(), want)
	}
	waits := Lock[*store, int]{Acquire: try}
	if d := waits.describe(); strings.Join(d.Capabilities, " ") != "cancel waits" || d.BackoffMS != 0 {
		t.Errorf("a lock that waits: %+v", d)
	}
}

func TestCannotOpen(t *testing.T) {
	fails := newStore().lock()
	fails.Open = func(Env) (*store, error) {
		return nil, errors.New("dial redis://me:secret@x@n:1/0 and redis://n: refused")
	}
	undefined := newStore().lock()
	undefined.Try = nil
	const opening = `{"lockbench_worker":2,"nodes":[]}`
	for _, c := range []struct {
		lock       Lock[*store, int]
		line, want string
	}{
		{fails, opening, "dial redis://n:1/0 and redis://n: refused"},
		{undefined, opening, "must define"},
		{newStore().lock(), `{"lockbench_worker":1,"nodes":[]}`, "version 2"},
		{newStore().lock(), "hello", "version 2"},
	} {
		var out strings.Builder
		err := serve(c.lock, strings.NewReader(c.line+"\n"), &out)
		var d description
		if wrong := json.Unmarshal([]byte(out.String()), &d); err == nil || wrong != nil || !strings.Contains(d.Error, c.want) || d.Name != "memory" {
			t.Errorf("%s: %q, %v; want %q", c.line, out.String(), err, c.want)
		}
	}
	if err := serve(newStore().lock(), strings.NewReader(""), io.Discard); err == nil {
		t.Error("no error of an empty input")
	}
}

func TestEnv(t *testing.T) {
	x := newStore()
	start(t, x.lock(), "")
	want := Env{Nodes: []string{"redis://n"}, Prefix: "p:", Process: 1, Seed: 3, TTL: 800 * time.Millisecond, Params: map[string]string{"a": "b"}}
	if !reflect.DeepEqual(x.env, want) {
		t.Errorf("%+v", x.env)
	}
}

func TestGrantRefusalRelease(t *testing.T) {
	s := start(t, newStore().lock(), "")
	s.ask(acquire(1, 0), reply{ID: 1, OK: true, Token: "t1", Fence: 1, Validity: ms600})
	s.ask(acquire(2, 0), reply{ID: 2, Refused: "busy"})
	s.ask(`{"id":3,"do":"renew","key":"k","hold":1}`, reply{ID: 3, OK: true, Validity: ms600})
	s.ask(`{"id":4,"do":"probe","key":"k"}`, reply{ID: 4, OK: true, Token: "t1", Left: -1})
	s.ask(releaseOf(5, 99), reply{ID: 5, Refused: "not held"})
	s.ask(releaseOf(6, 1), reply{ID: 6, OK: true})
	s.ask(releaseOf(7, 1), reply{ID: 7, Refused: "not held"})
	s.ask(`{"id":8,"do":"renew","key":"k","hold":1}`, reply{ID: 8, Refused: "not held", Validity: ms600})
	s.ask(`{"id":9,"do":"renew","key":"k","hold":99}`, reply{ID: 9, Refused: "not held"})
	s.ask(`{"id":10,"do":"ping","new":true}`, reply{ID: 10, OK: true})
	s.ask(`{"id":11,"do":"dance"}`, reply{ID: 11, Error: `unknown request "dance"`})
}

// TestSecondRelease checks that a second release reaches the library.
func TestSecondRelease(t *testing.T) {
	l := newStore().lock()
	var handles []int
	l.Release = func(_ context.Context, _ *store, h Hold[int]) error { handles = append(handles, h.Handle); return nil }
	l.ReleasesUnknown = true
	s := start(t, l, "")
	s.ask(acquire(1, 0), reply{ID: 1, OK: true, Token: "t1", Fence: 1, Validity: ms600})
	for i, hold := range []int{1, 1, 99} {
		s.ask(releaseOf(i+2, hold), reply{ID: int64(i + 2), OK: true})
	}
	if fmt.Sprint(handles) != "[1 1 0]" {
		t.Errorf("released %v", handles)
	}
}

func TestReleasedHoldsAreBounded(t *testing.T) {
	l := newStore().lock()
	x := newStore()
	s := &server[*store, int]{Lock: l, client: x, out: io.Discard, cancels: map[int64]context.CancelFunc{}, holds: map[int64]*held[int]{}}
	for id := int64(1); id <= 2*keptReleased; id++ {
		s.holds[id] = &held[int]{over: make(chan struct{}), Hold: Hold[int]{Key: "k", Grant: Grant[int]{Handle: -1}}}
		if err := s.release(context.Background(), request{ID: -1, Key: "k", Hold: id}); !errors.Is(err, errGone) {
			t.Fatal(err)
		}
	}
	if len(s.holds) != keptReleased || s.holds[2*keptReleased] == nil {
		t.Errorf("%d holds are kept", len(s.holds))
	}
}

// TestWaits checks that a worker repeats Try until a grant, a timeout or a cancellation. The reply must be a refusal only if
// the last try was refused.
func TestWaits(t *testing.T) {
	x := newStore()
	s := start(t, x.lock(), "")
	s.ask(acquire(1, 0), reply{ID: 1, OK: true, Token: "t1", Fence: 1, Validity: ms600})
	began := time.Now()
	s.ask(acquire(2, 35), reply{ID: 2, Refused: "busy"})
	if took := time.Since(began); took < 35*time.Millisecond || x.tries < 3 {
		t.Errorf("%d tries in %v", x.tries, took)
	}
	s.tell(acquire(3, -1))
	s.ask(`{"id":4,"do":"ping"}`, reply{ID: 4, OK: true}) // the waiter blocks no other request
	s.tell(`{"id":0,"do":"cancel","hold":3}`)
	s.want(reply{ID: 3, Refused: "busy"})
	s.tell(`{"id":0,"do":"cancel","hold":3}`) // the acquire has already ended, so this cancel request must have no effect
	s.tell(acquire(5, -1))
	time.Sleep(15 * time.Millisecond)
	s.ask(releaseOf(6, 1), reply{ID: 6, OK: true})
	if g := s.want(reply{ID: 5, OK: true, Token: "t2", Fence: 2, Validity: ms600}); g.Sent < int64(15*time.Millisecond) {
		t.Errorf("the granted try was sent after %d ns", g.Sent)
	}
	x.mu.Lock()
	x.failure = errors.New("timeout")
	x.mu.Unlock()
	s.ask(acquire(7, -1), reply{ID: 7, Error: "timeout"})
}

// TestAcquire checks a lock whose library waits for the grant. The context of Acquire must end at the timeout or after a
// cancel request.
func TestAcquire(t *testing.T) {
	l := Lock[*store, int]{Name: "waits", Open: func(Env) (*store, error) { return newStore(), nil }, Release: release,
		Acquire: func(ctx context.Context, s *store, r Request) (Grant[int], error) {
			if r.Wait == 0 {
				return Grant[int]{Handle: 1}, nil
			}
			<-ctx.Done()
			return Grant[int]{}, ctx.Err()
		}}
	s := start(t, l, "")
	s.tell(acquire(1, 0))
	if g := s.hear(); !g.OK || len(g.Token) != 32 || g.Sent != 0 {
		t.Errorf("%+v", g)
	}
	s.ask(acquire(2, 20), reply{ID: 2, Error: "context deadline exceeded"})
	s.tell(acquire(3, -1))
	s.tell(`{"id":0,"do":"cancel","hold":3}`)
	s.want(reply{ID: 3, Error: "context canceled"})
}

func TestNotices(t *testing.T) {
	x := newStore()
	s := start(t, x.lock(), "")
	began := time.Now()
	s.tell(`{"id":1,"do":"acquire","key":"k","owner":"a","ttl_ms":600,"keep_alive":true}`)
	s.want(reply{ID: 1, OK: true, Token: "t1", Fence: 1, Validity: ms600})
	s.want(reply{Renewed: 1, OK: true, Validity: ms600}) // the renewal was reported during the acquire, but its notice must follow the reply
	x.last.Renewed(time.Now(), time.Second, errGone)
	s.want(reply{Renewed: 1, Refused: "not held", Validity: int64(time.Second)})
	x.last.Renewed(time.Time{}, time.Second, nil) // the zero time is before the acquire, so Elapsed must be 0
	if r := s.want(reply{Renewed: 1, OK: true, Validity: int64(time.Second)}); r.Elapsed != 0 {
		t.Errorf("renewed after %d ns", r.Elapsed)
	}
	time.Sleep(5 * time.Millisecond)
	close(x.lost)
	if l := s.want(reply{Lost: 1}); l.Elapsed < int64(5*time.Millisecond) || l.Elapsed > int64(time.Since(began)) {
		t.Errorf("lost after %d ns", l.Elapsed)
	}
	x.mu.Lock()
	x.lost = make(chan struct{})
	x.mu.Unlock()
	s.ask(releaseOf(2, 1), reply{ID: 2, OK: true})
	s.ask(acquire(3, 0), reply{ID: 3, OK: true, Token: "t2", Fence: 2, Validity: ms600})
	s.ask(releaseOf(4, 3), reply{ID: 4, OK: true})
	time.Sleep(5 * time.Millisecond)
	close(x.lost) // ends the goroutine that would report a loss
	time.Sleep(20 * time.Millisecond)
	s.ask(`{"id":5,"do":"ping"}`, reply{ID: 5, OK: true})
}

func TestEnds(t *testing.T) {
	for how, wrong := range map[string]bool{`{"id":0,"do":"shutdown"}`: false, "": false, "garbage": true, strings.Repeat("x", longestLine+1): true} {
		s := start(t, newStore().lock(), "")
		s.tell(acquire(1, 0))
		s.hear()
		s.tell(acquire(2, -1))
		if how == "" {
			s.in.Close()
		} else {
			go func() { _, _ = io.WriteString(s.in, how+"\n") }()
		}
		select {
		case err := <-s.ended:
			if (err != nil) != wrong {
				t.Errorf("%.20q: %v", how, err)
			}
		case <-time.After(limit):
			t.Errorf("%.20q: it does not end", how)
		}
	}
}

// TestFloodUnread checks that requests are read while no client reads the replies.
func TestFloodUnread(t *testing.T) {
	theirIn, in := io.Pipe()
	_, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serve(newStore().lock(), theirIn, writerOnce{out}) }()
	for i := 0; i < 20_000; i++ {
		line := fmt.Sprintf(`{"id":%d,"do":"ping"}`, i)
		if i == 0 {
			line = `{"lockbench_worker":2}`
		}
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	in.Close()
	select {
	case <-ended:
	case <-time.After(limit):
		t.Fatal("it hangs")
	}
}

// writerOnce accepts the first line. Later writes block.
type writerOnce struct{ io.Writer }

func (w writerOnce) Write(text []byte) (int, error) {
	if strings.Contains(string(text), `"name"`) {
		return len(text), nil
	}
	return w.Writer.Write(text)
}

func TestResource(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		asked = append(asked, q.Method+" "+q.URL.RequestURI()+" "+string(body))
		switch q.URL.Query().Get("fence") {
		case "1":
			http.Error(w, "stale", http.StatusConflict)
		case "2":
			http.Error(w, "no", http.StatusTeapot)
		default:
			_, _ = io.WriteString(w, "7\n")
		}
	}))
	if direct.Transport.(*http.Transport).Proxy != nil {
		t.Error("the resource is reached through a proxy")
	}
	s := start(t, newStore().lock(), server.URL+"/s/")
	s.ask(`{"id":1,"do":"write","key":"a b/ü?","value":-7,"fence":3}`, reply{ID: 1, OK: true})
	s.ask(`{"id":2,"do":"read","key":"k"}`, reply{ID: 2, OK: true, Value: 7})
	s.ask(`{"id":3,"do":"append","key":"k"}`, reply{ID: 3, OK: true})
	s.ask(`{"id":4,"do":"append","key":"k","fence":1}`, reply{ID: 4, Refused: "stale"})
	s.ask(`{"id":5,"do":"read","key":"k","fence":2}`, reply{ID: 5, Error: "the resource answered 418 I'm a teapot"})
	want := []string{"PUT /s/a%20b%2F%C3%BC%3F?fence=3 -7", "GET /s/k?fence=0 ", "POST /s/k?fence=0 ", "POST /s/k?fence=1 ", "GET /s/k?fence=2 "}
	if strings.Join(asked, "\n") != strings.Join(want, "\n") {
		t.Errorf("asked %q", asked)
	}
	server.Close()
	s.tell(`{"id":6,"do":"read","key":"k"}`)
	if l := s.hear(); l.Error == "" || strings.Contains(l.Error, "/s/") { // the URL is secret
		t.Errorf("%+v", l)
	}
}

// TestOutput checks that Main keeps the program's other output away from standard output.
func TestOutput(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LOCKBENCH_TEST_WORKER=1")
	cmd.Stdin = strings.NewReader(`{"lockbench_worker":2,"nodes":[]}` + "\n")
	var said, logged strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &logged
	err := cmd.Run()
	if err != nil || !strings.HasPrefix(said.String(), "{") || strings.Count(said.String(), "\n") != 1 || logged.String() != "opening\nopened\n" {
		t.Errorf("%v, output %q, log %q", err, said.String(), logged.String())
	}
}

func TestScrub(t *testing.T) {
	if got := scrub(errors.New("")); got == "" {
		t.Error("an error without text has no outcome")
	}
	if got := scrub(errors.New(strings.Repeat("x", 5000))); len(got) != longestError {
		t.Errorf("%d bytes", len(got))
	}
}
