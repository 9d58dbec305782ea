package examples

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockbench/impls/worker"
)

// scripted holds, by language, the command that runs the test worker for the library in impls/worker. The test workers
// behave alike, so that the same tests apply to all libraries.
var scripted = map[string][]string{"python": {"python3", "testdata/scripted.py"}, "node": {"node", "testdata/scripted.mjs"}}

// eachLibrary runs a test for the library of each language.
func eachLibrary(t *testing.T, test func(*testing.T, []string)) {
	for language, command := range scripted {
		t.Run(language, func(t *testing.T) {
			if _, err := exec.LookPath(command[0]); err != nil {
				need(t, command[0], "apt install python3 nodejs")
			}
			t.Parallel()
			test(t, command)
		})
	}
}

// talk is a connection to a worker process. Tests write lines to the process's standard input and read lines from its
// standard output.
type talk struct {
	t     *testing.T
	in    io.WriteCloser
	lines chan []byte
	cmd   *exec.Cmd
	log   bytes.Buffer // standard error of the worker; to be read only after the worker has exited
	ready worker.Ready
}

const opening = `{"lockbench_worker":2,"nodes":["redis://user:secret@127.0.0.1:1/0"],"prefix":"p:","process":1,"seed":3,"ttl_ms":600`

// converse starts a worker and writes one line (parameter first) to its standard input.
func converse(t *testing.T, first string, command ...string) *talk {
	t.Helper()
	c := &talk{t: t, lines: make(chan []byte, 100), cmd: exec.CommandContext(t.Context(), command[0], command[1:]...)}
	c.cmd.Env = append(c.cmd.Environ(), "http_proxy=http://127.0.0.1:1", "NODE_USE_ENV_PROXY=1")
	c.cmd.Stderr, c.cmd.WaitDelay = &c.log, time.Second
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.in = in
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.lines <- slices.Clone(lines.Bytes())
		}
		close(c.lines)
	}()
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	c.tell(first)
	return c
}

// begin starts a worker and opens its lock.
func begin(t *testing.T, command ...string) *talk {
	t.Helper()
	return beginWith(t, "http://127.0.0.1:1/", command...)
}

func beginWith(t *testing.T, resource string, command ...string) *talk {
	t.Helper()
	c := converse(t, opening+fmt.Sprintf(`,"params":{"a":"b"},"resource":%q,"from_the_future":1}`, resource), command...)
	c.readiness()
	return c
}

func (c *talk) readiness() {
	c.t.Helper()
	var err error
	if c.ready, err = worker.ReadReady(c.text()); err != nil {
		c.t.Fatal(err)
	}
}

func (c *talk) tell(lines ...string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, strings.Join(lines, "\n")+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *talk) text() []byte {
	c.t.Helper()
	select {
	case text, ok := <-c.lines:
		if !ok {
			c.t.Fatalf("the output ended: %v", c.cmd.Wait())
		}
		return text
	case <-time.After(timeout):
		c.t.Fatal("no line came")
		return nil
	}
}

func (c *talk) hear() worker.Line {
	c.t.Helper()
	l, err := worker.ReadLine(c.text())
	if err != nil {
		c.t.Fatal(err)
	}
	return l
}

// want reads a line and returns it. The line must equal the parameter want, except for measured times.
func (c *talk) want(want worker.Line) worker.Line {
	c.t.Helper()
	got := c.hear()
	bare := got
	bare.SentAfter, bare.Elapsed = 0, 0
	if bare != want {
		c.t.Fatalf("got %+v\nwant %+v", got, want)
	}
	return got
}

func (c *talk) ask(request string, want worker.Line) worker.Line {
	c.t.Helper()
	c.tell(request)
	return c.want(want)
}

// exits waits until the worker has exited, and returns its exit code.
func (c *talk) exits() int {
	c.t.Helper()
	killer := time.AfterFunc(3*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer killer.Stop()
	for range c.lines { // read the output to its end first, because Wait closes the pipe
	}
	_ = c.cmd.Wait()
	return c.cmd.ProcessState.ExitCode()
}

// granted returns the reply that a test expects to an acquire with a lease of 600 ms. The reply comes from the worker
// in testdata/scripted.py or testdata/scripted.mjs.
func granted(id int64, key string) worker.Line {
	return worker.Line{ID: id, OK: true, Token: "p:" + key, Fence: 7, Depth: 1, Validity: int64(600 * time.Millisecond)}
}

func acquire(id int64, key string, waitMS int) string {
	return fmt.Sprintf(`{"id":%d,"do":"acquire","key":%q,"owner":"a","ttl_ms":600,"wait_ms":%d}`, id, key, waitMS)
}

func TestLibraryDescribes(t *testing.T) {
	eachLibrary(t, func(t *testing.T, command []string) {
		c := converse(t, `{"lockbench_worker":2,"describe":true,"nodes":[],"prefix":"","process":0,"seed":0,"resource":""}`, command...)
		c.readiness()
		slices.Sort(c.ready.Capabilities)
		if got := strings.Join(c.ready.Capabilities, " "); got != "cancel fencing lost probe renew watchdog" || c.ready.Name != "scripted" || c.ready.BackOffMS != 20 {
			t.Errorf("%+v", c.ready)
		}
		_ = c.in.Close()
		if code := c.exits(); code != 0 || strings.Contains(c.log.String(), "opening") || !strings.Contains(c.log.String(), "importing") {
			t.Errorf("exit code %d, log:\n%s", code, &c.log)
		}
	})
}

// TestLibraryCannotStart checks that a worker reports why it cannot open its lock, without the password of the server.
func TestLibraryCannotStart(t *testing.T) {
	for what, first := range map[string]string{
		"no connection": opening + `,"params":{"open":"fails"},"resource":""}`,
		"version 2":     strings.Replace(opening, ":2", ":1", 1) + `,"resource":""}`,
		"JSON":          "hello",
	} {
		eachLibrary(t, func(t *testing.T, command []string) {
			c := converse(t, first, command...)
			_, err := worker.ReadReady(c.text())
			if err == nil || !strings.Contains(err.Error(), "cannot start") || what != "JSON" && !strings.Contains(err.Error(), what) {
				t.Errorf("%s: %v", what, err)
			}
			if code := c.exits(); code != 1 || strings.Contains(fmt.Sprint(err, &c.log), "secret") {
				t.Errorf("exit code %d, log:\n%s", code, &c.log)
			}
		})
	}
}

func TestLibraryOutcomes(t *testing.T) {
	eachLibrary(t, func(t *testing.T, command []string) {
		c := begin(t, command...)
		c.ask(acquire(1, "k", 0), granted(1, "k"))
		c.ask(acquire(2, "k", 0), worker.Line{ID: 2, Refused: worker.Busy})
		c.ask(`{"id":3,"do":"renew","key":"k","owner":"a","hold":1}`, worker.Line{ID: 3, OK: true, Validity: int64(600 * time.Millisecond)})
		c.ask(`{"id":4,"do":"probe","key":"k"}`, worker.Line{ID: 4, OK: true, Token: "p:k", Left: -1})
		c.ask(`{"id":5,"do":"release","key":"k","owner":"a","hold":1,"token":"p:k"}`, worker.Line{ID: 5, OK: true})
		c.ask(`{"id":6,"do":"release","key":"k","owner":"a","hold":1,"token":"p:k"}`, worker.Line{ID: 6, Refused: worker.NotHeld})
		c.ask(`{"id":7,"do":"probe","key":"k"}`, worker.Line{ID: 7, OK: true})
		c.ask(`{"id":8,"do":"ping"}`, worker.Line{ID: 8, OK: true})
		c.ask(acquire(9, "other", 0), granted(9, "other"))
		c.ask(`{"id":10,"do":"release","key":"other","owner":"b","hold":99,"token":"p:other"}`, worker.Line{ID: 10, Refused: worker.NotHeld})
		c.ask(`{"id":11,"do":"renew","key":"other","owner":"b"}`, worker.Line{ID: 11, Refused: worker.NotHeld})
		c.tell(acquire(12, "fails", -1), acquire(13, "nothing", -1), `{"id":14,"do":"dance"}`)
		said := ""
		for range 3 {
			l := c.hear()
			said += fmt.Sprintf("%d %s\n", l.ID, l.Error)
		}
		for _, want := range []string{"12 ", "Error: timeout of redis://host:1/0", "13 TypeError: ", "14 ", "unknown request"} {
			if !strings.Contains(said, want) {
				t.Errorf("%q is missing in\n%s", want, said)
			}
		}
		c.tell(`{"id":0,"do":"shutdown"}`)
		if code := c.exits(); code != 0 || strings.Contains(said+c.log.String(), "secret") || strings.Count(c.log.String(), "releasing") != 2 {
			t.Errorf("exit code %d, log:\n%s", code, &c.log)
		}
	})
}

// TestLibraryPassesUnknownHolds checks the library option for locks that handle releases of unknown holds. With the
// option, the library passes a release to the lock even if the hold was never granted. The library must still refuse to
// renew a hold that was never granted.
func TestLibraryPassesUnknownHolds(t *testing.T) {
	eachLibrary(t, func(t *testing.T, command []string) {
		c := begin(t, append(slices.Clone(command), "unknown")...)
		c.ask(acquire(1, "k", 0), granted(1, "k"))
		c.ask(`{"id":2,"do":"release","key":"k","owner":"b","hold":99,"token":"p:k"}`, worker.Line{ID: 2, OK: true})
		c.ask(`{"id":3,"do":"release","key":"k","owner":"b","token":"p:k"}`, worker.Line{ID: 3, Refused: worker.NotHeld})
		c.ask(`{"id":4,"do":"renew","key":"k","owner":"b","hold":99,"token":"p:k"}`, worker.Line{ID: 4, Refused: worker.NotHeld})
	})
}

// TestLibraryWaits checks that a waiting acquire is granted after a release, and refused after a timeout or cancel. A
// waiting acquire must not delay other requests.
func TestLibraryWaits(t *testing.T) {
	eachLibrary(t, func(t *testing.T, command []string) {
		c := begin(t, command...)
		c.ask(acquire(1, "k", 0), granted(1, "k"))
		began := time.Now()
		c.ask(acquire(2, "k", 150), worker.Line{ID: 2, Refused: worker.Busy})
		if took := time.Since(began); took < 150*time.Millisecond || took > time.Second {
			t.Errorf("a wait of 150 ms took %v", took)
		}
		c.tell(acquire(3, "k", -1), acquire(4, "k", 60_000))
		c.ask(`{"id":5,"do":"ping"}`, worker.Line{ID: 5, OK: true})
		began = time.Now()
		c.ask(`{"id":0,"do":"cancel","hold":4}`, worker.Line{ID: 4, Refused: worker.Busy})
		c.tell(`{"id":0,"do":"cancel","hold":4}`) // a second cancel of the same acquire must have no effect
		if took := time.Since(began); took > time.Second {
			t.Errorf("a cancel took %v", took)
		}
		c.tell(`{"id":6,"do":"release","key":"k","owner":"a","hold":1,"token":"p:k"}`)
		if l := c.want(worker.Line{ID: 6, OK: true}); l.SentAfter != 0 {
			t.Errorf("%+v", l)
		}
		if l := c.want(granted(3, "k")); l.SentAfter < int64(time.Millisecond) || l.SentAfter > int64(time.Since(began)+time.Second) {
			t.Errorf("sent after %d ns", l.SentAfter)
		}
		began = time.Now()
		c.tell(acquire(7, "slow", 0), `{"id":8,"do":"ping"}`)
		c.want(worker.Line{ID: 8, OK: true})
		l := c.want(granted(7, "slow"))
		if most := time.Since(began) - 190*time.Millisecond; l.SentAfter > int64(most) { // the attempt itself takes 200 ms, which SentAfter does not include
			t.Errorf("sent after %d ns, want at most %v", l.SentAfter, most)
		}
	})
}

// TestLibraryLetsTheLockWait checks a lock that itself waits for the grant. The worker library must then not repeat
// tries. The test starts two waiting acquires: one is granted after 50 ms, and the other waits until it is cancelled.
func TestLibraryLetsTheLockWait(t *testing.T) {
	eachLibrary(t, func(t *testing.T, command []string) {
		c := begin(t, append(slices.Clone(command), "waiting")...)
		slices.Sort(c.ready.Capabilities)
		if got := strings.Join(c.ready.Capabilities, " "); got != "cancel waits" {
			t.Errorf("capabilities %q", got)
		}
		c.tell(acquire(1, "k", -1), acquire(2, "k", 50))
		l := c.hear()
		if l.ID != 2 || !l.OK || l.SentAfter != 0 || len(l.Token) < 32 || l.Validity != int64(600*time.Millisecond) {
			t.Errorf("%+v", l)
		}
		c.ask(`{"id":3,"do":"release","key":"k","hold":2}`, worker.Line{ID: 3, OK: true})
		c.ask(`{"id":0,"do":"cancel","hold":1}`, worker.Line{ID: 1, Refused: worker.Busy})
	})
}

func TestLibraryNotices(t *testing.T) {
	eachLibrary(t, func(t *testing.T, command []string) {
		c := begin(t, command...)
		c.ask(acquire(1, "early", 0), granted(1, "early")) // the worker sends the reply to the acquire first, and then its notices: renewals and a loss
		c.want(worker.Line{Renewed: 1, OK: true, Validity: int64(5 * time.Second)})
		c.want(worker.Line{Renewed: 1, Refused: worker.NotHeld})
		if l := c.want(worker.Line{Lost: 1}); l.Elapsed <= 0 || l.Elapsed > int64(time.Second) {
			t.Errorf("lost after %d ns", l.Elapsed)
		}
		c.ask(acquire(2, "late", 0), granted(2, "late"))
		if l := c.want(worker.Line{Lost: 2}); l.Elapsed < int64(290*time.Millisecond) || l.Elapsed > int64(2*time.Second) {
			t.Errorf("lost after %d ns, want 300 ms", l.Elapsed)
		}
	})
}

func TestLibraryResource(t *testing.T) {
	eachLibrary(t, func(t *testing.T, command []string) {
		var mu sync.Mutex
		var got []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			mu.Lock()
			defer mu.Unlock()
			got = append(got, q.Method+" "+q.RequestURI+" "+string(body))
			switch {
			case q.URL.Query().Get("fence") == "1":
				http.Error(w, "stale", http.StatusConflict)
			case q.URL.Path == "/s/bad":
				http.Error(w, "no", http.StatusTeapot)
			default:
				_, _ = io.WriteString(w, "41")
			}
		}))
		defer server.Close()
		c := beginWith(t, server.URL+"/s/", command...)
		c.ask(`{"id":1,"do":"read","key":"a/b ü?","fence":2}`, worker.Line{ID: 1, OK: true, Value: 41})
		c.ask(`{"id":2,"do":"write","key":"k","fence":3,"value":42}`, worker.Line{ID: 2, OK: true})
		c.ask(`{"id":3,"do":"write","key":"k"}`, worker.Line{ID: 3, OK: true})
		c.ask(`{"id":4,"do":"append","key":"k"}`, worker.Line{ID: 4, OK: true})
		c.ask(`{"id":5,"do":"append","key":"k","fence":1}`, worker.Line{ID: 5, Refused: worker.Stale})
		c.tell(`{"id":6,"do":"read","key":"bad"}`)
		if l := c.hear(); !strings.Contains(l.Error, "418") || strings.Contains(l.Error, server.URL) {
			t.Errorf("%+v", l)
		}
		want := "GET /s/a%2Fb%20%C3%BC%3F?fence=2 |PUT /s/k?fence=3 42|PUT /s/k?fence=0 0|POST /s/k?fence=0 |POST /s/k?fence=1 |GET /s/bad?fence=0 "
		if mu.Lock(); strings.Join(got, "|") != want {
			t.Errorf("%q", got)
		}
		mu.Unlock()
	})
}

// TestLibraryFlood checks that a worker reads requests even while its replies are not read, and that it answers each one.
func TestLibraryFlood(t *testing.T) {
	eachLibrary(t, func(t *testing.T, command []string) {
		c := begin(t, command...)
		const most = 10_000
		told := make(chan error, 1)
		go func() {
			var err error
			for id := 1; id <= most && err == nil; id++ {
				_, err = fmt.Fprintf(c.in, `{"id":%d,"do":"ping"}`+"\n"+`{"id":0,"do":"cancel","hold":%[1]d}`+"\n", id)
			}
			told <- err
		}()
		select {
		case err := <-told:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(timeout):
			t.Fatal("the worker reads no requests while its replies wait")
		}
		answered := map[int64]bool{}
		for range most {
			if l := c.hear(); l.OK {
				answered[l.ID] = true
			}
		}
		if len(answered) != most {
			t.Errorf("%d of %d requests were answered", len(answered), most)
		}
	})
}

// TestLibraryEnds checks that a worker exits without a release in three cases: at a shutdown, at the end of its input,
// and after a line that is not a request.
func TestLibraryEnds(t *testing.T) {
	for how, code := range map[string]int{"shutdown": 0, "end of input": 0, "no JSON": 1, "no object": 1} {
		eachLibrary(t, func(t *testing.T, command []string) {
			c := begin(t, command...)
			c.ask(acquire(1, "k", 0), granted(1, "k"))
			c.tell(acquire(2, "k", -1))
			switch how {
			case "shutdown":
				c.tell(`{"id":0,"do":"shutdown"}`)
			case "end of input":
				_ = c.in.Close()
			case "no JSON":
				c.tell(`{"id":`)
			default:
				c.tell("null")
			}
			if got := c.exits(); got != code || strings.Contains(c.log.String(), "releasing") {
				t.Errorf("%s: exit code %d, log:\n%s", how, got, &c.log)
			}
		})
	}
}
