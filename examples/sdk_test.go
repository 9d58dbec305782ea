package examples

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/impls/worker"
	"lockbench/internal/drive/workers"
	"lockbench/workloads"
)

// dialog exchanges lines with a worker process.
type dialog struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      io.WriteCloser
	lines   chan string  // closed when the output ends
	stderr  bytes.Buffer // this may be read only after the process has exited
	outcome chan error   // receives the result of cmd.Wait when the process has exited
	began   time.Time
}

// answerTimeout is the maximum time to wait for a line from a worker, or for the exit of the worker.
const answerTimeout = 20 * time.Second

// start starts a worker and writes its first input line (parameter open). If that line only asks for a description of
// the lock, no server is needed.
func start(t *testing.T, command []string, open worker.Open) *dialog {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	p := &dialog{t: t, lines: make(chan string, 1<<15), outcome: make(chan error, 1), began: time.Now()}
	p.cmd = exec.CommandContext(ctx, command[0], command[1:]...)
	p.cmd.Stderr = &p.stderr
	in, err1 := p.cmd.StdinPipe()
	out, err2 := p.cmd.StdoutPipe()
	if err := errors.Join(err1, err2, p.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	p.in = in
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, worker.MaxLine)
		for lines.Scan() {
			p.lines <- lines.Text()
		}
		close(p.lines)
		p.outcome <- p.cmd.Wait()
	}()
	open.Version = worker.Version
	p.say(open)
	return p
}

func (p *dialog) say(line any) {
	p.t.Helper()
	text, err := json.Marshal(line)
	if err == nil {
		_, err = p.in.Write(append(text, '\n'))
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *dialog) hear() string {
	p.t.Helper()
	select {
	case text, ok := <-p.lines:
		if !ok {
			p.t.Fatalf("the output ended: %v", <-p.outcome)
		}
		return text
	case <-time.After(answerTimeout):
		p.t.Fatal("no line")
	}
	return ""
}

func (p *dialog) ready() worker.Ready {
	p.t.Helper()
	r, err := worker.ReadReady([]byte(p.hear()))
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

func (p *dialog) line() worker.Line {
	p.t.Helper()
	l, err := worker.ReadLine([]byte(p.hear()))
	if err != nil {
		p.t.Fatal(err)
	}
	return l
}

// ask sends a request and returns the next line, which must be its reply.
func (p *dialog) ask(r worker.Request) worker.Line {
	p.t.Helper()
	p.say(r)
	l := p.line()
	if l.ID != r.ID {
		p.t.Fatalf("%+v does not answer %+v", l, r)
	}
	return l
}

// ends checks that the process ends by itself, with or without an error, and returns its log.
func (p *dialog) ends(fails bool) string {
	p.t.Helper()
	select {
	case err := <-p.outcome:
		if fails != (err != nil) {
			p.t.Errorf("it ended with %v\n%s", err, &p.stderr)
		}
	case <-time.After(answerTimeout):
		p.t.Fatal("it does not end")
	}
	return p.stderr.String()
}

// library tests a worker library with a test worker, which the parameter command starts. The behaviour of the worker's
// lock depends on the key. With the additional argument "waits", the lock itself waits for the grant.
func library(t *testing.T, command []string) {
	t.Run("description", func(t *testing.T) { describes(t, command) })
	guarded, err := workers.Guard(workloads.NewRegister(workloads.Checking))
	if err != nil {
		t.Fatal(err)
	}
	defer guarded.Close()
	open := worker.Open{Prefix: "p:", Seed: 1<<64 - 1, TTLMS: 600, Params: map[string]string{"a": "b"}, Resource: guarded.URL}
	p := start(t, command, open)
	p.ready()
	t.Run("waiting", func(t *testing.T) { p.t = t; waits(p) })
	t.Run("outcomes", func(t *testing.T) { p.t = t; outcomes(p) })
	t.Run("notices", func(t *testing.T) { p.t = t; notices(p) })
	t.Run("resource", func(t *testing.T) { p.t = t; guards(p) })
	t.Run("flood", func(t *testing.T) { p.t = t; flood(p) })
	p.t = t
	p.say(worker.Request{Do: "shutdown"})
	if log := p.ends(false); !strings.Contains(log, "this is loud") {
		t.Errorf("the log is %q", log)
	}
	t.Run("cancel", func(t *testing.T) { cancels(t, append(slices.Clone(command), "waits"), open) })
	for name, text := range map[string]string{"garbage": "nonsense\n", "depth": strings.Repeat("[", 1<<16) + "\n", "length": strings.Repeat(" ", worker.MaxLine+2) + "\n"} {
		t.Run(name, func(t *testing.T) {
			p := start(t, command, open)
			p.ready()
			_, _ = io.WriteString(p.in, text) // ignore the error: the worker may exit before it has read the whole text
			p.ends(true)
		})
	}
}

func describes(t *testing.T, command []string) {
	for _, bye := range []string{"", `{"id":0,"do":"shutdown"}` + "\n"} {
		p := start(t, command, worker.Open{Describe: true})
		got := p.ready()
		want := worker.Ready{Version: 2, Name: "scripted", Doc: `a "lock" in memory`, Store: "none", BackOffMS: 20,
			Capabilities: []string{"cancel", "lost", "probe", "reentrant", "renew"},
			Expectations: []worker.Expectation{{Property: "progress", Expected: "unspecified", Workload: "counter", Because: "a test"}}}
		got.StartMS = 0
		slices.Sort(got.Capabilities)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		if _, err := io.WriteString(p.in, bye); err != nil {
			t.Fatal(err)
		}
		if bye == "" {
			p.in.Close()
		}
		p.ends(false)
	}
}

func waits(p *dialog) {
	acquire := worker.Request{ID: 1, Do: "acquire", Key: "k", Owner: "a", TTLMS: 600}
	if l := p.ask(acquire); !l.OK || l.Token == "" || l.Validity != 600e6 || l.Depth != 1 {
		p.t.Fatalf("%+v", l)
	}
	try := worker.Request{ID: 2, Do: "acquire", Key: "k", Owner: "b", TTLMS: 600}
	if l := p.ask(try); l.Refused != worker.Busy {
		p.t.Errorf("a try: %+v", l)
	}
	timed, began := try, time.Now()
	timed.ID, timed.WaitMS = 3, 150
	if l := p.ask(timed); l.Refused != worker.Busy || time.Since(began) < 150*time.Millisecond || time.Since(began) > 2*time.Second {
		p.t.Errorf("a timeout: %+v after %v", l, time.Since(began))
	}
	endless := try
	endless.ID, endless.WaitMS = 4, -1
	p.say(endless)
	time.Sleep(50 * time.Millisecond)
	p.say(worker.Request{Do: "cancel", Hold: 4})
	if l := p.line(); l.ID != 4 || l.Refused != worker.Busy {
		p.t.Errorf("a cancel: %+v", l)
	}
	endless.ID = 5
	p.say(endless)
	time.Sleep(100 * time.Millisecond)
	if l := p.ask(worker.Request{ID: 6, Do: "ping"}); !l.OK {
		p.t.Errorf("a ping: %+v", l)
	}
	p.say(worker.Request{ID: 7, Do: "release", Key: "k", Owner: "a", Hold: 1})
	replies := map[int64]worker.Line{}
	for range 2 {
		l := p.line()
		replies[l.ID] = l
	}
	if l := replies[5]; !l.OK || l.SentAfter < 50e6 || !replies[7].OK {
		p.t.Errorf("a hand-off: %+v", replies)
	}
}

func outcomes(p *dialog) {
	for i, c := range []struct {
		what string
		ask  worker.Request
		want worker.Line
	}{
		{"unknown hold", worker.Request{Do: "release", Key: "k", Owner: "b", Hold: 999, Token: "t"}, worker.Line{Refused: worker.NotHeld}},
		{"no hold", worker.Request{Do: "release", Key: "k", Owner: "b"}, worker.Line{Refused: worker.NotHeld}},
		{"renewal", worker.Request{Do: "renew", Key: "k", Owner: "b", Hold: 5}, worker.Line{OK: true, Validity: 7e9}},
		{"probe", worker.Request{Do: "probe", Key: "k"}, worker.Line{OK: true, Token: "b", Left: -1}},
		{"free key", worker.Request{Do: "probe", Key: "free"}, worker.Line{OK: true}},
		{"nested grant", worker.Request{ID: 14, Do: "acquire", Key: "k", Owner: "b", TTLMS: 600}, worker.Line{OK: true, Depth: 2, Validity: 600e6}},
		{"nested release", worker.Request{Do: "release", Key: "k", Owner: "b", Hold: 14}, worker.Line{OK: true}},
		{"second release", worker.Request{Do: "release", Key: "k", Owner: "b", Hold: 14}, worker.Line{Refused: worker.NotHeld}},
		{"output of the adapter", worker.Request{Do: "acquire", Key: "loud", Owner: "b", TTLMS: 600}, worker.Line{OK: true, Depth: 1, Validity: 600e6}},
		{"sticky", worker.Request{ID: 40, Do: "acquire", Key: "sticky", Owner: "b", TTLMS: 600}, worker.Line{OK: true, Depth: 1, Validity: 600e6}},
		{"release of sticky", worker.Request{Do: "release", Key: "sticky", Owner: "b", Hold: 40}, worker.Line{OK: true}},
		{"a second release reaches the library", worker.Request{Do: "release", Key: "sticky", Owner: "b", Hold: 40}, worker.Line{OK: true}},
	} {
		if c.ask.ID == 0 {
			c.ask.ID = int64(100 + i)
		}
		l := p.ask(c.ask)
		if c.want.OK && c.ask.Do == "acquire" && l.Token == "" {
			p.t.Errorf("%s: no token", c.what)
		}
		if c.ask.Do == "acquire" {
			l.Token = ""
		}
		l.ID, l.SentAfter = 0, 0
		if l != c.want {
			p.t.Errorf("%s: %+v, want %+v", c.what, l, c.want)
		}
	}
	l := p.ask(worker.Request{ID: 120, Do: "acquire", Key: "fails", Owner: "b", TTLMS: 600, WaitMS: -1})
	if !strings.Contains(l.Error, "dial") || strings.Contains(l.Error, "secret") {
		p.t.Errorf("an error with a password: %+v", l)
	}
	if l := p.ask(worker.Request{ID: 121, Do: "dance"}); l.Error == "" {
		p.t.Errorf("an unknown request: %+v", l)
	}
}

func notices(p *dialog) {
	if l := p.ask(worker.Request{ID: 200, Do: "acquire", Key: "early", Owner: "b", TTLMS: 600}); !l.OK {
		p.t.Fatalf("%+v", l)
	}
	if l := p.line(); l.Renewed != 200 || !l.OK || l.Validity != 5e9 || l.Elapsed <= 0 || l.Elapsed > 1e9 {
		p.t.Errorf("an early renewal: %+v", l)
	}
	began := time.Now()
	p.ask(worker.Request{ID: 201, Do: "acquire", Key: "loses", Owner: "b", TTLMS: 600})
	if l := p.line(); l.Lost != 201 || l.Elapsed < 50e6 || l.Elapsed > int64(time.Since(began)) {
		p.t.Errorf("a loss: %+v after %v", l, time.Since(began))
	}
	p.ask(worker.Request{ID: 202, Do: "release", Key: "loses", Owner: "b", Hold: 201})
	p.ask(worker.Request{ID: 203, Do: "acquire", Key: "loses", Owner: "b", TTLMS: 600})
	p.ask(worker.Request{ID: 204, Do: "release", Key: "loses", Owner: "b", Hold: 203})
	time.Sleep(100 * time.Millisecond)
	p.ask(worker.Request{ID: 205, Do: "ping"}) // the next line must be the reply to the ping, not a loss after the release or a repeated loss
}

func guards(p *dialog) {
	const key = "a b/ü?"
	for i, c := range []struct {
		ask  worker.Request
		want worker.Line
	}{
		{worker.Request{Do: "read", Key: key}, worker.Line{OK: true}},
		{worker.Request{Do: "write", Key: key, Value: 1<<40 + 1, Fence: 5}, worker.Line{OK: true}},
		{worker.Request{Do: "read", Key: key, Fence: 5}, worker.Line{OK: true, Value: 1<<40 + 1}},
		{worker.Request{Do: "write", Key: key, Value: 2, Fence: 4}, worker.Line{Refused: worker.Stale}},
		{worker.Request{Do: "append", Key: key, Fence: 4}, worker.Line{Refused: worker.Stale}},
		{worker.Request{Do: "append", Key: key, Fence: 6}, worker.Line{OK: true}},
	} {
		c.ask.ID = int64(300 + i)
		c.want.ID = c.ask.ID
		if l := p.ask(c.ask); l != c.want {
			p.t.Errorf("%+v: %+v", c.ask, l)
		}
	}
}

// flood sends many requests before it reads their replies.
func flood(p *dialog) {
	const acquires, pings = 500, 5000
	for i := range acquires {
		p.say(worker.Request{ID: int64(1000 + i), Do: "acquire", Key: "k", Owner: fmt.Sprint("f", i), TTLMS: 600, WaitMS: 300})
	}
	for i := range pings {
		p.say(worker.Request{ID: int64(10000 + i), Do: "ping"})
	}
	granted, seen := 0, map[int64]bool{}
	for range acquires + pings {
		l := p.line()
		if seen[l.ID] || l.Error != "" {
			p.t.Fatalf("%+v", l)
		}
		seen[l.ID] = true
		if l.OK && l.ID < 10000 {
			granted++
		}
	}
	if granted > 1 {
		p.t.Errorf("%d grants", granted)
	}
}

// cancels checks a lock that itself waits for the grant. A cancel must end the wait, and the end of the input must end
// the worker process.
func cancels(t *testing.T, command []string, open worker.Open) {
	p := start(t, command, open)
	if r := p.ready(); !slices.Contains(r.Capabilities, worker.CanWait) || !slices.Contains(r.Capabilities, worker.CanCancel) {
		t.Errorf("%+v", r)
	}
	acquire := worker.Request{ID: 1, Do: "acquire", Key: "k", Owner: "a", WaitMS: -1, TTLMS: 600}
	p.say(acquire)
	time.Sleep(50 * time.Millisecond)
	p.say(worker.Request{Do: "cancel", Hold: 1})
	if l := p.line(); l.ID != 1 || l.Error == "" || strings.Contains(l.Error, "waited") {
		t.Errorf("%+v", l)
	}
	acquire.ID, acquire.WaitMS = 2, 100
	if l := p.ask(acquire); !strings.Contains(l.Error, "waited") {
		t.Errorf("the wait after a cancel: %+v", l)
	}
	acquire.ID, acquire.WaitMS = 3, -1
	p.say(acquire)
	p.in.Close()
	p.ends(false)
}

// adapter describes an example worker that lets lockbench test the lock of an existing library.
type adapter struct {
	name, store string
	lost        bool // whether the worker reports a loss
	reentrant   bool
	command     []string
}

// check runs two processes of the adapter against a real server. It checks exclusion and, if supported, nested acquires
// and the report of a loss.
func (a adapter) check(t *testing.T) {
	one, other := startOn(t, a.store, 2*time.Second, a.name, a.command)
	t.Run("exclusion", func(t *testing.T) { excludes(t, one.Lock(), other.Lock()) })
	if a.reentrant {
		t.Run("reentrant", func(t *testing.T) { reenters(t, one.Lock(), other.Lock()) })
	}
	if a.lost {
		t.Run("lost", func(t *testing.T) { reportsLoss(t, one, other) })
	}
	if err := errors.Join(one.Failed(), other.Failed(), one.Close(), other.Close()); err != nil {
		t.Error(err)
	}
}

func leased(owner string, wait time.Duration) impls.Request {
	return impls.Request{Key: "k", Owner: owner, TTL: 2 * time.Second, Wait: wait, KeepAlive: true}
}

func excludes(t *testing.T, one, other impls.Lock) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	held, err := one.Acquire(ctx, leased("a", 0))
	if err != nil || held.Token == "" {
		t.Fatalf("%+v, %v", held.Grant, err)
	}
	for _, wait := range []time.Duration{0, 300 * time.Millisecond} {
		began := time.Now()
		if _, err := other.Acquire(ctx, leased("b", wait)); !errors.Is(err, impls.ErrBusy) || time.Since(began) < wait {
			t.Errorf("an acquire with the wait %v: %v after %v, want busy", wait, err, time.Since(began))
		}
	}
	impatient, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	defer stop()
	if _, err := other.Acquire(impatient, leased("b", -1)); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a cancelled acquire: %v, want an answer within a second", err)
	}
	time.Sleep(3 * time.Second) // wait longer than the lease
	if _, err := other.Acquire(ctx, leased("b", 0)); !errors.Is(err, impls.ErrBusy) {
		t.Errorf("an acquire during a long hold: %v, want busy", err)
	}
	var granted sync.WaitGroup
	granted.Go(func() {
		h, err := other.Acquire(ctx, leased("c", -1))
		if err == nil {
			err = other.Release(ctx, h.Grant)
		}
		if err != nil {
			t.Errorf("waiting: %v", err)
		}
	})
	time.Sleep(200 * time.Millisecond) // give the other client time to start waiting
	if err := one.Release(ctx, held.Grant); err != nil {
		t.Error(err)
	}
	granted.Wait()
	never := impls.Grant{Key: "k", Owner: "a", Token: "never"}
	for what, g := range map[string]impls.Grant{"a released grant": held.Grant, "an unknown grant": never} {
		if err := one.Release(ctx, g); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("release of %s: %v, want not held", what, err)
		}
	}
}

func reenters(t *testing.T, one, other impls.Lock) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	var grants []impls.Grant
	for depth := 1; depth <= 2; depth++ {
		h, err := one.Acquire(ctx, leased("a", 0))
		if err != nil || h.Depth != depth {
			t.Fatalf("%+v, %v", h.Grant, err)
		}
		grants = append(grants, h.Grant)
	}
	for _, g := range slices.Backward(grants) {
		for _, by := range []impls.Lock{one, other} {
			if _, err := by.Acquire(ctx, leased("b", 0)); !errors.Is(err, impls.ErrBusy) {
				t.Errorf("another owner: %v, want busy", err)
			}
		}
		if err := one.Release(ctx, g); err != nil {
			t.Error(err)
		}
	}
	h, err := other.Acquire(ctx, leased("b", 0))
	if err == nil {
		err = other.Release(ctx, h.Grant)
	}
	if err != nil {
		t.Errorf("after both releases: %v", err)
	}
}

// reportsLoss pauses a holder until its session has expired, and checks that the holder's worker reports the loss.
func reportsLoss(t *testing.T, one, other *workers.Process) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	h, err := one.Lock().Acquire(ctx, leased("a", 0))
	if err != nil {
		t.Fatal(err)
	}
	if err := one.Pause(); err != nil {
		t.Fatal(err)
	}
	next, err := other.Lock().Acquire(ctx, leased("b", 10*time.Second))
	if err == nil {
		err = other.Lock().Release(ctx, next.Grant)
	}
	if err := errors.Join(err, one.Resume()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-h.Lost:
	case <-ctx.Done():
		t.Error("the loss was not reported")
	}
}

// cacheFolder returns a folder for the results of builds.
func cacheFolder(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	cache = filepath.Join(cache, "lockbench", "examples")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	return cache
}

// skipSlowBuild skips a test that builds Java or Rust, unless LOCKBENCH_REQUIRE names the tools.
func skipSlowBuild(t *testing.T) {
	t.Helper()
	if required := strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","); !slices.Contains(required, "maven") && !slices.Contains(required, "cargo") {
		t.Skip("the builds of Java and Rust take minutes: make adapters")
	}
}

// prepared copies folders to a build folder in the user's cache, and returns the path of the build folder. The keys of
// parts are paths in the build folder, and the values are the folders to copy. The path contains a checksum of the
// files, so later tests reuse the results of the build.
func prepared(t *testing.T, name string, parts map[string]string) string {
	t.Helper()
	skipSlowBuild(t)
	cache := cacheFolder(t)
	fresh, err := os.MkdirTemp(cache, "new-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(fresh)
	for to, from := range parts {
		if err := os.CopyFS(filepath.Join(fresh, to), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		for _, built := range []string{"target", "template"} {
			if err := os.RemoveAll(filepath.Join(fresh, to, built)); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir := filepath.Join(cache, name+"-"+checksum(t, fresh))
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	return dir
}

// checksum returns a checksum of the names and contents of the files in a folder.
func checksum(t *testing.T, dir string) string {
	t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n%s", strings.TrimPrefix(path, dir), len(text), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
