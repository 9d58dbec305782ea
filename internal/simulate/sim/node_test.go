package sim

import (
	"context"
	"errors"
	"testing"
	"time"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
)

// measureLease returns how long a lease of one second keeps another process from acquiring the lock.
func measureLease(t *testing.T, w *world) time.Duration {
	t.Helper()
	ctx, req := context.Background(), impls.Request{Key: "k", Owner: "o", TTL: time.Second}
	if _, err := w.processes[0].lock.Acquire(ctx, req); err != nil {
		t.Error(err)
		return 0
	}
	began := time.Now()
	for time.Since(began) < time.Minute {
		if _, err := w.processes[1].lock.Acquire(ctx, req); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(began)
}

// TestDrift checks how long a lease lasts while the server's clock drifts, and after the drift is healed.
func TestDrift(t *testing.T) {
	for by, want := range map[time.Duration]time.Duration{
		time.Second: time.Second / 2, -time.Second / 2: 2 * time.Second, 3 * time.Second: time.Second / 4, 0: time.Second,
	} {
		inWorld(t, "set-px-lua", func(w *world) {
			heal := injectFault(t, w, faults.Action{Verb: faults.Drift, Nodes: []int{0}, By: by})
			if took := measureLease(t, w); (took - want).Abs() > 20*time.Millisecond {
				t.Errorf("with a drift of %v per second a lease of a second lasted %v, want %v", by, took, want)
			}
			heal()
			time.Sleep(10 * time.Second)
			if took := measureLease(t, w); (took - time.Second).Abs() > 20*time.Millisecond {
				t.Errorf("after a drift of %v per second was healed a lease of a second lasted %v", by, took)
			}
		})
	}
}

// TestDriftBeforeAndAfter checks that a clock drift has no effect before the fault begins and after the fault ends.
func TestDriftBeforeAndAfter(t *testing.T) {
	inWorld(t, "set-px-lua", func(w *world) {
		var heal func()
		time.AfterFunc(200*time.Millisecond, func() { heal = injectFault(t, w, faults.Action{Verb: faults.Drift, Nodes: []int{0}, By: time.Second}) })
		time.AfterFunc(400*time.Millisecond, func() { heal() })
		if took := measureLease(t, w); (took - 800*time.Millisecond).Abs() > 20*time.Millisecond {
			t.Errorf("with a clock that gained 200 ms a lease of a second lasted %v", took)
		}
	})
}

// TestRestart checks how long a lease excludes other clients if the server is restarted. If the server keeps its data,
// the lease lasts for its full duration, even after a delayed restart. If the server loses its data, the lease lasts
// only until the restart.
func TestRestart(t *testing.T) {
	for _, c := range []struct {
		keeps bool
		away  time.Duration
		want  time.Duration // expected duration of the lease
	}{
		{keeps: true, want: time.Second},
		{keeps: true, away: 300 * time.Millisecond, want: time.Second},
		{keeps: false, want: 100 * time.Millisecond},
		{keeps: false, away: 300 * time.Millisecond, want: 400 * time.Millisecond},
	} {
		inWorld(t, "set-px-lua", func(w *world) {
			time.AfterFunc(100*time.Millisecond, func() {
				a := faults.Action{Verb: faults.Restart, Nodes: []int{0}, Keeps: c.keeps, By: c.away}
				effect, err := w.Do(context.Background(), a)
				if err != nil {
					t.Error(err)
				}
				if c.away > 0 {
					time.AfterFunc(c.away, func() { _ = effect.Heal() })
				}
			})
			if took := measureLease(t, w); (took - c.want).Abs() > 20*time.Millisecond {
				t.Errorf("keeps %t, down for %v: a lease of a second lasted %v, want %v", c.keeps, c.away, took, c.want)
			}
		})
	}
}

// TestRestartKeepsEverything checks that a restart keeps keys of every type that locks use, and their expiry times.
func TestRestartKeepsEverything(t *testing.T) {
	inWorld(t, "set-px-lua", func(w *world) {
		m := w.net.nodes[0].running()
		_ = m.Set("text", "value")
		_, _ = m.Push("list", "a", "b")
		m.HSet("hash", "f", "1", "g", "2")
		for _, key := range []string{"text", "list", "hash"} {
			m.SetTTL(key, time.Minute)
		}
		_ = m.Set("for ever", "value")
		before := m.Dump()
		heal := injectFault(t, w, faults.Action{Verb: faults.Restart, Nodes: []int{0}, Keeps: true, By: time.Second})
		time.Sleep(time.Second)
		if w.net.nodes[0].running() != nil {
			t.Error("it restarted before it was healed")
		}
		heal()
		again := w.net.nodes[0].running()
		if after := again.Dump(); after != before {
			t.Errorf("before:\n%safter:\n%s", before, after)
		}
		for _, key := range []string{"text", "list", "hash"} {
			if left := again.TTL(key); left != 59*time.Second {
				t.Errorf("%s: %v of a minute left after a second", key, left)
			}
		}
		if left := again.TTL("for ever"); left != 0 {
			t.Errorf("a key without an expiry expires in %v", left)
		}
	})
}

// TestTurns limits the iterations of each client. Each client must stop after its limit. The trial must end when all
// clients have stopped.
func TestTurns(t *testing.T) {
	for _, l := range catalog.OnRedis() {
		if l.Name != "set-px-lua" {
			continue
		}
		trial := faultTrial(l, faults.None(), counter(t), l.Deployment)
		trial.Fault, trial.Params.Duration = "turns", time.Hour
		trial.Plan = faults.Plan{Turns: []faults.Turns{{Client: 0, Iterations: 2}, {Client: 1, Iterations: 0}, {Client: 2, Iterations: 3}}}
		m, err := trial.Record()
		if err != nil || m.Discarded != "" {
			t.Fatal(m.Discarded, err)
		}
		turns := map[int32]int{}
		for _, line := range m.Lines {
			switch op := line.Op; {
			case op.Kind == histories.Inject || op.Kind == histories.Heal:
				t.Errorf("a fault was recorded: %+v", op)
			case op.Kind == histories.Acquire && op.Outcome == histories.OK:
				turns[op.Client]++
			}
		}
		if turns[0] != 2 || turns[1] != 0 || turns[2] != 3 {
			t.Errorf("turns of the clients: %v", turns)
		}
		if end := m.Lines[len(m.Lines)-1].At; end > time.Minute {
			t.Errorf("all clients had stopped, but the trial lasted until %v", end)
		}
		return
	}
}

// TestTokensFollowTheClock checks the fencing tokens of the lock "fenced". They must increase even if the server loses
// its counter, or if its clock is set back. If both happen, the next token must be lower.
func TestTokensFollowTheClock(t *testing.T) {
	inWorld(t, "fenced", func(w *world) {
		token := func() int64 {
			l, ctx := w.processes[0].asWorkload().Lock, context.Background()
			req := impls.Request{Key: "k", Owner: "o", TTL: time.Second}
			h, err := l.Acquire(ctx, req)
			for range 10 {
				if err == nil {
					break
				}
				h, err = l.Acquire(ctx, req) // the first attempt fails, because the restart closed the connection
			}
			if err := errors.Join(err, l.Release(ctx, h.Grant)); err != nil {
				t.Error(err)
			}
			return h.Fence
		}
		first := token()
		if now := time.Now().UnixMicro(); first > now || first < now-1e6 {
			t.Errorf("first token %d at %d", first, now)
		}
		jump := func(by time.Duration) { injectFault(t, w, faults.Action{Verb: faults.Jump, Nodes: []int{0}, By: by}) }
		jump(-time.Hour)
		second := token()
		if second <= first || second > first+1e6 {
			t.Errorf("clock back: token %d follows %d", second, first)
		}
		jump(2 * time.Hour)
		third := token()
		if third <= second {
			t.Errorf("clock forward: token %d follows %d", third, second)
		}
		injectFault(t, w, faults.Action{Verb: faults.Restart, Nodes: []int{0}})
		fourth := token()
		if fourth < first+3600e6 {
			t.Errorf("empty server: token %d follows %d", fourth, third)
		}
		if err := w.failover(0); err != nil { // the replica has all data, including the counter
			t.Error(err)
		}
		if fifth := token(); fifth <= fourth || fifth > fourth+1e6 {
			t.Errorf("replica with the counter and an earlier clock: token %d follows %d", fifth, fourth)
		}
		injectFault(t, w, faults.Action{Verb: faults.Restart, Nodes: []int{0}})
		if sixth := token(); sixth >= fourth {
			t.Errorf("earlier clock and lost counter: token %d follows %d", sixth, fourth)
		}
	})
}
