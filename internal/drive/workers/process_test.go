//go:build unix

package workers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/impls/worker"
	"lockbench/internal/world/children"
	"lockbench/workloads"
)

// testTimeout is the time limit of every wait in a test.
const testTimeout = 20 * time.Second

// generous returns time limits that suffice on a busy machine. A test of one time limit shortens only that limit.
func generous() bounds {
	return bounds{testTimeout, testTimeout, testTimeout, testTimeout, testTimeout}
}

const short = 200 * time.Millisecond

func command(how string) []string { return []string{os.Args[0], "as-worker", how} }

func keeper(t *testing.T) *children.Keeper {
	t.Helper()
	k, err := children.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	return k
}

// begin starts a worker. At the end of the test, it checks that the worker has exited.
func begin(t *testing.T, b bounds, how string, renewed func(impls.Grant, time.Duration, error)) *Process {
	t.Helper()
	p, err := startWithin(t.Context(), b, keeper(t), command(how), worker.Open{}, renewed, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
		checkExited(t, p)
	})
	return p
}

// checkExited checks that the process has exited and that its output was read to the end.
func checkExited(t *testing.T, p *Process) {
	t.Helper()
	for what, done := range map[string]<-chan struct{}{"the process": p.child.Done(), "the reader": p.gone} {
		select {
		case <-done:
		case <-time.After(testTimeout):
			t.Errorf("%s has not ended", what)
		}
	}
}

func request(key string) impls.Request {
	return impls.Request{Key: key, Owner: "a", TTL: time.Second}
}

func TestStartThatFails(t *testing.T) {
	quick := generous()
	quick.ready, quick.end = short, short
	for how, want := range map[string][]string{
		"chatty": {"Listening on port 7", "standard error"},
		"old":    {"version 0", "versions 1 to 2"},
		"unable": {"no such server"},
		"silent": {"no first line within 200ms"},
		"brief":  {"no first line", "exit status 7"},
	} {
		t.Run(how, func(t *testing.T) {
			b := generous()
			if how == "silent" {
				b = quick
			}
			p, err := startWithin(t.Context(), b, keeper(t), command(how), worker.Open{}, nil, nil)
			if err == nil {
				_ = p.Kill()
				t.Fatal("Start succeeded")
			}
			if errors.Is(err, ErrSlowStart) != (how == "silent") {
				t.Errorf("ErrSlowStart for a worker that is %s: %v", how, err)
			}
			if how != "silent" { // a silent worker may be killed before it logs anything
				want = append(want, "this is the log of "+how)
			}
			for _, part := range want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v\nwant %q in it", err, part)
				}
			}
		})
	}
	if _, err := Start(t.Context(), keeper(t), impls.Program{Command: []string{"/no/such/worker"}}, worker.Open{}, nil); err == nil || !strings.Contains(err.Error(), "/no/such/worker") {
		t.Errorf("a missing command: %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(cancelled, keeper(t), impls.Program{Command: command("silent")}, worker.Open{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled start: %v", err)
	}
}

// TestMisbehaviour checks that a protocol violation ends the process. Further requests must fail with ErrGone. The error
// must explain the violation.
func TestMisbehaviour(t *testing.T) {
	for key, want := range map[string][]string{
		"garbage":     {`"DEBUG acquired the lock"`, "standard error"},
		"dies":        {"it exited (exit status 3)", "out of cheese"},
		"never asked": {"request 999", "never sent"},
		"long":        {"more than 1048576 bytes"},
		"hangs":       {"did not answer a request (acquire) within 200ms"},
		"mute":        {"closed its standard output"},
	} {
		t.Run(key, func(t *testing.T) {
			b := generous()
			switch key {
			case "hangs":
				b.answer = short
			case "mute":
				b.end = short
			}
			p := begin(t, b, "scripted", nil)
			_, err := p.Lock().Acquire(t.Context(), request(key))
			if !errors.Is(err, workloads.ErrGone) {
				t.Errorf("%v, want %v", err, workloads.ErrGone)
			}
			failed := p.Failed()
			if failed == nil {
				t.Fatal("Failed returned nil")
			}
			for _, part := range append(want, "the worker scripted", "this is the log of scripted") {
				if !strings.Contains(failed.Error(), part) {
					t.Errorf("%v\nwant %q in it", failed, part)
				}
			}
			checkExited(t, p)
			if err := p.Running(t.Context()); !errors.Is(err, workloads.ErrGone) {
				t.Errorf("a later request: %v", err)
			}
		})
	}
}

func TestWorkerThatReadsNothing(t *testing.T) {
	b := generous()
	b.write = short
	p := begin(t, b, "deaf", nil)
	req := request(strings.Repeat("x", 1<<20)) // longer than a pipe buffer, so that writing the request blocks
	if _, err := p.Lock().Acquire(t.Context(), req); !errors.Is(err, workloads.ErrGone) {
		t.Errorf("%v, want %v", err, workloads.ErrGone)
	}
	if err := p.Failed(); err == nil || !strings.Contains(err.Error(), "did not read a request within 200ms") {
		t.Errorf("%v", err)
	}
	checkExited(t, p)
}

// TestCallWithoutLimit checks that a call without a timeout fails if the process stops answering pings.
func TestCallWithoutLimit(t *testing.T) {
	b := generous()
	b.answer = short
	p := begin(t, b, "deaf", nil)
	req := request("k")
	req.Wait = -1
	if _, err := p.Lock().Acquire(t.Context(), req); !errors.Is(err, workloads.ErrGone) || !strings.Contains(err.Error(), "(ping)") {
		t.Errorf("%v", err)
	}
}

func TestKillEndsEveryCall(t *testing.T) {
	p := begin(t, generous(), "scripted", nil)
	var all sync.WaitGroup
	results := make(chan error, 20)
	for range cap(results) {
		all.Go(func() {
			req := request("hangs")
			req.Wait = -1
			_, err := p.Lock().Acquire(t.Context(), req)
			results <- err
		})
	}
	for p.asked() < int64(cap(results)) {
		time.Sleep(time.Millisecond)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	close(results)
	for err := range results {
		if !errors.Is(err, workloads.ErrGone) {
			t.Errorf("%v, want %v", err, workloads.ErrGone)
		}
	}
	if err := p.Failed(); err != nil {
		t.Errorf("Failed after Kill: %v", err)
	}
	checkExited(t, p)
}

// TestExit checks the end of a program at the end of its input. Calls must end, also if the process goes on.
func TestExit(t *testing.T) {
	for how, endsByItself := range map[string]bool{"scripted": true, "stubborn": false} {
		p := begin(t, generous(), how, func(impls.Grant, time.Duration, error) { t.Error("a renewal was reported after the exit") })
		h, err := p.Lock().Acquire(t.Context(), request("k"))
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() {
			req := request("hangs")
			req.Wait = -1
			_, err := p.Lock().Acquire(t.Context(), req)
			failed <- err
		}()
		for p.asked() < 2 {
			time.Sleep(time.Millisecond)
		}
		if err := errors.Join(p.Exit(), p.Exit()); err != nil {
			t.Fatal(err)
		}
		if err := <-failed; !errors.Is(err, workloads.ErrGone) {
			t.Errorf("%s: an unanswered acquire: %v", how, err)
		}
		if err := p.Lock().Release(t.Context(), h.Grant); !errors.Is(err, workloads.ErrGone) {
			t.Errorf("%s: a release after the exit: %v", how, err)
		}
		if endsByItself {
			checkExited(t, p)
		} else if p.child.Ended() {
			t.Errorf("%s: has ended", how)
		}
		if p.Idle() || p.Failed() != nil {
			t.Errorf("%s: idle %t, failed %v", how, p.Idle(), p.Failed())
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		checkExited(t, p)
	}
}

// asked returns the number of requests sent so far.
func (p *Process) asked() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

func TestPause(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux to verify a pause")
	}
	p := begin(t, generous(), "scripted", nil)
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() { answered <- p.Running(t.Context()) }()
	select {
	case err := <-answered:
		t.Errorf("a paused process answered: %v", err)
	case <-time.After(short):
	}
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// TestLateGrant checks that a grant is released if it arrives after the acquire was cancelled.
func TestLateGrant(t *testing.T) {
	b := generous()
	b.giveUp = time.Millisecond
	p := begin(t, b, "scripted", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := p.Lock().Acquire(ctx, request("late")); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v", err)
	}
	for end := time.Now().Add(testTimeout); ; time.Sleep(5 * time.Millisecond) {
		_, released, err := p.Lock().(impls.Prober).Probe(t.Context(), "k")
		if err != nil || time.Now().After(end) {
			t.Fatalf("the grant was not released (%v)", err)
		}
		if released == 1 {
			return
		}
	}
}

// TestNotices checks a worker's reports of renewals and losses. Each must be applied to the right hold. A reported time
// in the future must be replaced with the current time.
func TestNotices(t *testing.T) {
	var renewed []string
	p := begin(t, generous(), "scripted", func(g impls.Grant, sent time.Duration, err error) {
		renewed = append(renewed, fmt.Sprint(g.Key, " ", g.Token, " ", g.Validity, " ", sent, " ", err))
	})
	lock := p.Lock()
	began := time.Now()
	h, err := lock.Acquire(t.Context(), request("lost"))
	if err != nil {
		t.Fatal(err)
	}
	if h.SentAfter > time.Since(began) {
		t.Errorf("sent after %v, although the call was shorter", h.SentAfter)
	}
	select {
	case <-h.Lost:
		t.Fatal("the hold is lost before the notice")
	default:
	}
	if found := h.LostAfter(); found <= 0 || found > time.Since(began) {
		t.Errorf("the client noticed after %v", found)
	}
	if _, err := lock.Acquire(t.Context(), request("loses now")); err != nil {
		t.Fatal(err)
	}
	<-h.Lost
	if after := h.LostAfter(); after <= 0 || after > time.Since(began) {
		t.Errorf("lost after %v", after)
	}
	if want := "[lost t 0s 1ns <nil> lost t 9ns 7ns <nil>]"; fmt.Sprint(renewed) != want { // the first renewal is reported before the grant
		t.Errorf("renewed %v, want %s", renewed, want)
	}
}

func TestLockOfAProcess(t *testing.T) {
	p := begin(t, generous(), "scripted", nil)
	lock := p.Lock()
	if got := fmt.Sprint(lock.(impls.Segmenter).Segments("k")); got != "[k#0 k#1]" {
		t.Errorf("segments %s", got)
	}
	if _, err := lock.Acquire(t.Context(), request("refuses")); err == nil || errors.Is(err, impls.ErrBusy) || !strings.Contains(err.Error(), "Tuesday") {
		t.Errorf("an unknown refusal: %v", err)
	}
	if _, err := lock.(impls.Renewer).Renew(t.Context(), impls.Grant{}); err == nil || !strings.Contains(err.Error(), "capability") {
		t.Errorf("renew: %v", err)
	}
	h, err := lock.Acquire(t.Context(), request("k"))
	if err == nil {
		err = lock.Release(t.Context(), h.Grant)
	}
	if err == nil {
		err = lock.Close()
	}
	if err != nil || p.Failed() != nil {
		t.Errorf("%v, %v", err, p.Failed())
	}
	checkExited(t, p)
}

func TestCloseKillsHungWorker(t *testing.T) {
	b := generous()
	b.end = short
	p := begin(t, b, "stubborn", nil)
	if err := p.Close(); err != nil || p.Failed() != nil {
		t.Errorf("%v, %v", err, p.Failed())
	}
	checkExited(t, p)
}

func TestHoldsAreBounded(t *testing.T) {
	p := &Process{held: holds{}}
	for id := int64(1); id <= 3*remembered; id++ {
		p.held.begin(id)
		if id%2 == 0 {
			p.refused(id)
		} else if id > 1 {
			p.released(impls.Grant{Ref: id})
		}
	}
	if len(p.held) > 2*remembered || p.held[1] == nil {
		t.Errorf("%d holds are kept; the current one: %v", len(p.held), p.held[1])
	}
}

func TestMilliseconds(t *testing.T) {
	for d, want := range map[time.Duration]int64{0: 0, 1: 1, time.Millisecond: 1, 1500 * time.Microsecond: 2, -5: -1} {
		if got := milliseconds(d); got != want {
			t.Errorf("%v: %d, want %d", d, got, want)
		}
	}
}

// TestPageOfBounds checks that the protocol documentation states the same time limits as the code.
func TestPageOfBounds(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/worker-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	b := usualBounds()
	for what, is := range map[string]any{
		"a line, in either direction": fmt.Sprint(worker.MaxLine, " bytes"), "from the start to the first line": b.ready,
		"from the start to a description":                                     describedIn,
		"from a request to its reply, beyond its `wait_ms`":                   b.answer,
		"from a `cancel` to the reply, after which the reply is ignored":      b.giveUp,
		"for the worker to read a line":                                       b.write,
		"from `shutdown` to the end":                                          b.end,
		"Its last " + fmt.Sprint(children.TailSize) + " bytes are shown when": nil,
	} {
		row := fmt.Sprintf("| %s | %v |", what, is)
		if is == nil {
			row = what
		}
		if !strings.Contains(string(text), row) {
			t.Errorf("the page lacks %q", row)
		}
	}
}
