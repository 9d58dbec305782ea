package sim

import (
	"context"
	"errors"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// inWorld runs f in virtual time with three processes that can be paused.
func inWorld(t *testing.T, lock string, f func(*world)) {
	t.Helper()
	for _, l := range catalog.OnRedis() {
		if l.Name != lock {
			continue
		}
		trial := faultTrial(l, faults.None(), counter(t), l.Deployment)
		trial.Plan = faults.Plan{Steps: []faults.Step{{Do: faults.Action{Verb: faults.Pause}}}}
		err := inBubble(func() {
			w, err := trial.up(workloads.NewWatch())
			if err == nil {
				f(w)
			}
			if err := errors.Join(err, w.close()); err != nil {
				t.Error(err)
			}
		})
		if err != nil {
			t.Error(err)
		}
		return
	}
	t.Fatalf("lock %s not found", lock)
}

func injectFault(t *testing.T, w *world, a faults.Action) func() {
	t.Helper()
	e, err := w.Do(context.Background(), a)
	if err != nil {
		t.Error(err)
	}
	return func() {
		if err := e.Heal(); err != nil {
			t.Error(err)
		}
	}
}

var forAMinute = impls.Request{Key: "k", Owner: "o", TTL: time.Minute, KeepAlive: true}

// TestPausedProcess checks that requests to a paused process return only after it is resumed.
func TestPausedProcess(t *testing.T) {
	inWorld(t, "fenced", func(w *world) {
		p := w.processes[0].asWorkload()
		h, err := p.Lock.Acquire(context.Background(), forAMinute)
		if err != nil {
			t.Error(err)
			return
		}
		goOn := injectFault(t, w, faults.Action{Verb: faults.Pause})
		stopped := time.Now()
		time.AfterFunc(time.Hour, goOn)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := p.Resource.Write(ctx, "k", 1, 0); !errors.Is(err, context.DeadlineExceeded) || time.Since(stopped) > 2*time.Second {
			t.Errorf("a request with a timeout: %v after %v", err, time.Since(stopped))
		}
		select {
		case <-h.Lost: // closed when the process resumes: the pause lasts an hour, but the lease only a minute
		case <-time.After(2 * time.Hour):
			t.Error("the loss was not reported")
		}
		if told := time.Since(stopped); told < time.Hour || told > time.Hour+time.Second {
			t.Errorf("the loss was reported after %v", told)
		}
		if v, err := p.Resource.Read(context.Background(), "k", 0); v != 0 || err != nil {
			t.Errorf("%d, %v", v, err)
		}
	})
}

// TestPausedDuringRequest checks a request whose reply is delayed by a pause. The request must return when its context
// ends.
func TestPausedDuringRequest(t *testing.T) {
	inWorld(t, "set-px-lua", func(w *world) {
		time.AfterFunc(oneWay/4, func() { w.processes[0].pause() }) // begin the pause before the reply arrives
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := w.processes[0].asLock().Acquire(ctx, forAMinute); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// TestGrantAfterPause checks that a grant is released if its client stops waiting during a pause of its process.
func TestGrantAfterPause(t *testing.T) {
	inWorld(t, "set-px-lua", func(w *world) {
		time.AfterFunc(oneWay/4, func() { w.processes[0].pause() })
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		if _, err := w.processes[0].asLock().Acquire(ctx, forAMinute); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		held := func() string {
			token, _, err := w.processes[1].lock.(impls.Prober).Probe(context.Background(), "k")
			if err != nil {
				t.Error(err)
			}
			return token
		}
		if held() == "" {
			t.Error("the request was not granted, so this test shows nothing")
		}
		w.net.resumeProcess(0)
		time.Sleep(time.Second)
		if token := held(); token != "" {
			t.Errorf("%s holds the key, and no client knows it", token)
		}
	})
}

// TestKilled checks that requests to a killed process fail and that its hold expires. Other processes must continue.
func TestKilled(t *testing.T) {
	inWorld(t, "redisson", func(w *world) {
		ctx, p := context.Background(), w.processes[0].asWorkload()
		if _, err := p.Lock.Acquire(ctx, forAMinute); err != nil {
			t.Error(err)
		}
		waits := make(chan error)
		go func() {
			_, err := p.Lock.Acquire(ctx, impls.Request{Key: "k", Owner: "other", TTL: time.Minute, Wait: -1})
			waits <- err
		}()
		time.Sleep(time.Second)
		injectFault(t, w, faults.Action{Verb: faults.Kill})
		killed := time.Now()
		_, readErr := p.Resource.Read(ctx, "k", 0)
		for what, err := range map[string]error{"a waiter": <-waits, "a write": p.Resource.Write(ctx, "k", 1, 0), "a read": readErr, "running": p.Running(ctx)} {
			if !errors.Is(err, workloads.ErrGone) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if took := time.Since(killed); took > time.Second {
			t.Errorf("the requests failed after %v", took)
		}
		_, err := w.processes[1].asLock().Acquire(ctx, impls.Request{Key: "k", Owner: "o", TTL: time.Minute, Wait: -1})
		if took := time.Since(killed); err != nil || took < 50*time.Second || took > 61*time.Second {
			t.Errorf("the next acquire: %v after %v", err, took)
		}
	})
}
