package fleet

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"
)

// turns returns the number of turns that a coordinator gives at once.
func turns(t *testing.T, c *Coordinator) (n int, back func()) {
	t.Helper()
	var all []func()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		done, err := c.Turn(ctx)
		cancel()
		if err != nil {
			return len(all), func() {
				for _, done := range all {
					done()
				}
			}
		}
		all = append(all, done)
	}
}

// eventually waits until a condition is true.
func eventually(t *testing.T, is func() bool) {
	t.Helper()
	for until := time.Now().Add(2 * campaignLease); !is(); {
		if time.Now().After(until) {
			t.Fatal("not even after a while")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestTurns checks how many tasks a coordinator begins at once: as many as this process has slots, and two for each slot of
// another process. A turn that has ended is given again.
func TestTurns(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	c := open(t, Options{Slots: 3, Listen: Listen{URL: address}, Handlers: Handlers{"double": double}})
	defer c.Close(true)
	n, back := turns(t, c)
	if n != 3 {
		t.Errorf("%d turns at once with 3 slots", n)
	}
	back()
	a, err := Join(t.Context(), Address{URL: address}, Offer{Slots: 2, Tasks: Handlers{"double": double}})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return len(c.Agents()) == 2 })
	if n, back = turns(t, c); n != 3+2*2 {
		t.Errorf("%d turns at once with 3 slots, and 2 in another process: want %d", n, 3+2*2)
	}
	back()
	a.Close()
	if n, _ = turns(t, c); n > 3+2*2 {
		t.Errorf("%d turns at once after they had ended", n)
	}
}

// blocked is a handler that waits until it is released or interrupted.
type blocked struct {
	began   chan struct{}
	release chan struct{}
	ran     atomic.Int64
}

func newBlocked() *blocked {
	return &blocked{began: make(chan struct{}, 100), release: make(chan struct{})}
}

func (b *blocked) handle(ctx context.Context, body json.RawMessage) (any, error) {
	b.ran.Add(1)
	b.began <- struct{}{}
	select {
	case <-b.release:
		return double(ctx, body)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestInterrupted checks that the task of an agent that is interrupted is given to another one at once, not only when the
// lease of the first one has ended, and that an interruption does not count as a task that its agent did not survive.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	c := open(t, Options{Listen: Listen{URL: address}})
	defer c.Close(true)
	result := make(chan int, 1)
	go func() {
		got, err := Do[int](t.Context(), c, "double", "one", 21, time.Minute)
		if err != nil {
			t.Error(err)
		}
		result <- got
	}()
	b := newBlocked()
	for range deliveries + 2 {
		a := agent(t, address, Handlers{"double": b.handle})
		began := time.Now()
		<-b.began
		if waited := time.Since(began); waited > agentLease/2 {
			t.Errorf("the task was given to the next agent after %s", waited)
		}
		a.Close()
	}
	close(b.release)
	a := agent(t, address, Handlers{"double": b.handle})
	defer a.Close()
	if got := <-result; got != 42 {
		t.Errorf("the result is %d, want 42", got)
	}
}

// kill ends a coordinator as a kill does: agents hear nothing of it.
func (c *Coordinator) kill(t *testing.T) {
	t.Helper()
	c.stop()
	c.beats.Wait()
	c.conn.Close()
	if err := c.server.close(); err != nil {
		t.Error(err)
	}
	if err := c.journal.close(false); err != nil {
		t.Error(err)
	}
}

// TestOutlived checks that the work of an agent that outlives its coordinator is not lost: the resumed coordinator takes a
// result that it did not ask for yet, and does not repeat a task that is still running.
func TestOutlived(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]bool{"result before the task": true, "task before the result": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := freeAddress(t)
			o := Options{Dir: t.TempDir(), Identity: "test", Listen: Listen{URL: address}}
			c := open(t, o)
			b := newBlocked()
			a := agent(t, address, Handlers{"double": b.handle})
			defer a.Close()
			ctx, cancel := context.WithCancel(t.Context())
			go func() { _, _ = Do[int](ctx, c, "double", "one", 21, time.Minute) }()
			<-b.began
			cancel()
			c.kill(t)
			o.Resume = true
			c = open(t, o)
			defer c.Close(false)
			eventually(t, func() bool { return len(c.Agents()) > 0 })
			release := func() { close(b.release) }
			idle := agent(t, address, Handlers{"double": b.handle})
			defer idle.Close()
			if early {
				release()
				eventually(t, func() bool { _, ok := c.journal.known("one"); return ok })
			} else {
				time.AfterFunc(4*beatInterval, release)
			}
			got, err := Do[int](t.Context(), c, "double", "one", 21, time.Minute)
			if err != nil || got != 42 || b.ran.Load() != 1 {
				t.Errorf("the result is %d after %d runs: %v", got, b.ran.Load(), err)
			}
		})
	}
}

// TestResumedAtOnce checks that agents run the tasks of a campaign that was interrupted and is resumed at once.
func TestResumedAtOnce(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	o := Options{Dir: t.TempDir(), Identity: "test", Listen: Listen{URL: address}}
	c := open(t, o)
	a := agent(t, address, Handlers{"double": double})
	defer a.Close()
	all(t, c, 2)
	if err := c.Close(false); err != nil {
		t.Fatal(err)
	}
	o.Resume = true
	c = open(t, o)
	defer c.Close(true)
	ctx, cancel := context.WithTimeout(t.Context(), requeueAfter/2)
	defer cancel()
	if got, err := Do[int](ctx, c, "double", "three", 3, time.Minute); err != nil || got != 6 {
		t.Errorf("the result is %d: %v", got, err)
	}
}
