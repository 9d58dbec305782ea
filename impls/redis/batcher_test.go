package redis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
)

// echo is a server that answers each command with its second word.
type echo struct {
	hold  chan struct{} // while it is open, nothing is answered; nil: never hold
	dials atomic.Int64
	mu    sync.Mutex
	words []string // the second words of the commands that were answered
}

// client returns a client of the server whose every connection is a pipe.
func (e *echo) client(t *testing.T) *redis.Client {
	c := redis.NewClient(careful(&redis.Options{Dialer: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		e.dials.Add(1)
		go e.answer(far)
		return near, nil
	}}))
	t.Cleanup(func() { c.Close() })
	return c
}

func (e *echo) answer(c net.Conn) {
	in, replies := bufio.NewReader(c), make(chan string, 10_000)
	go func() { // a separate goroutine, because a pipe has no buffer
		for r := range replies {
			_, _ = c.Write([]byte(r))
		}
	}()
	defer close(replies)
	for {
		words, err := server.ParseReply(in)
		if err != nil {
			return
		}
		if words.([]any)[0] == "hello" { // the first command of a connection
			replies <- "-ERR unknown command\r\n"
			continue
		}
		if e.hold != nil {
			<-e.hold
		}
		word := words.([]any)[1].(string)
		e.mu.Lock()
		e.words = append(e.words, word)
		e.mu.Unlock()
		replies <- fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
}

// await waits until the condition is true.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

// queued waits until n callers wait for the next message.
func (b *batcher) queued(t *testing.T, n int) {
	t.Helper()
	await(t, fmt.Sprintf("%d callers are queued", n), func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.queue) == n
	})
}

func oneAtATime(c redis.UniversalClient) *batcher {
	b := newBatcher(c)
	b.limit, b.replied = 1, time.Now().Add(time.Hour) // never stalled
	return b
}

// TestBatcherKeepsResultsApart checks that each of many callers gets the results of its own commands.
func TestBatcherKeepsResultsApart(t *testing.T) {
	e := &echo{}
	b := newBatcher(e.client(t))
	var all sync.WaitGroup
	for caller := range 64 {
		all.Go(func() {
			for i := range 50 {
				first, second := fmt.Sprintf("%d first %d", caller, i), fmt.Sprintf("%d second %d", caller, i)
				x, y := redis.NewCmd(t.Context(), "ECHO", first), redis.NewCmd(t.Context(), "ECHO", second)
				if err := b.send(t.Context(), x, y); err != nil || x.Val() != first || y.Val() != second {
					t.Errorf("got %v, %v, %v", x, y, err)
				}
				if got, err := b.EvalSha(t.Context(), first, []string{"key"}).Result(); got != first || err != nil {
					t.Errorf("got %v, %v", got, err)
				}
			}
		})
	}
	all.Wait()
}

// TestBatcherSharesMessages checks that callers beyond the limit share one message, and that a caller that has stopped waiting is left out.
func TestBatcherSharesMessages(t *testing.T) {
	e := &echo{hold: make(chan struct{})}
	b := oneAtATime(e.client(t))
	var all sync.WaitGroup
	ask := func(ctx context.Context, word string) (err error) {
		cmd := redis.NewCmd(ctx, "ECHO", word)
		if err := b.send(ctx, cmd); err != nil {
			return err
		}
		return cmd.Err()
	}
	all.Go(func() {
		if err := ask(t.Context(), "direct"); err != nil {
			t.Error(err)
		}
	})
	await(t, "a message is in flight", func() bool { return e.dials.Load() == 1 })
	for i := range 20 {
		all.Go(func() {
			if err := ask(t.Context(), fmt.Sprint(i)); err != nil {
				t.Error(err)
			}
		})
	}
	b.queued(t, 20)
	impatient, giveUp := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() { gone <- ask(impatient, "too late") }()
	b.queued(t, 21)
	giveUp()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that stopped waiting got %v", err)
	}
	close(e.hold)
	all.Wait()
	if e.dials.Load() != 1 || len(e.words) != 21 {
		t.Errorf("%d commands over %d connections, want 21 over one: %v", len(e.words), e.dials.Load(), e.words)
	}
}

// TestBatcherLeavesOut checks that the commands of a caller that has stopped waiting are not sent, and have its error.
func TestBatcherLeavesOut(t *testing.T) {
	e := &echo{}
	b := newBatcher(e.client(t))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	p := &parcel{ctx, []*redis.Cmd{redis.NewCmd(ctx, "ECHO", "late")}, make(chan struct{})}
	b.deliver([]*parcel{p})
	<-p.done
	if err := p.cmds[0].Err(); !errors.Is(err, context.Canceled) || e.dials.Load() != 0 {
		t.Errorf("%v, over %d connections", err, e.dials.Load())
	}
}

// TestBatcherIgnoresStalledMessages checks that a command is sent although the messages in flight are never answered.
func TestBatcherIgnoresStalledMessages(t *testing.T) {
	e := &echo{hold: make(chan struct{})}
	b := newBatcher(e.client(t))
	b.replied = time.Now()
	var all sync.WaitGroup
	for range mostInFlight {
		all.Go(func() { _ = b.send(t.Context(), redis.NewCmd(t.Context(), "ECHO", "held")) })
	}
	await(t, "all messages are in flight", func() bool { return int(e.dials.Load()) == mostInFlight })
	time.Sleep(2 * stalledAfter)
	all.Go(func() { _ = b.send(t.Context(), redis.NewCmd(t.Context(), "ECHO", "next")) })
	await(t, "one more message is in flight", func() bool { return int(e.dials.Load()) > mostInFlight })
	close(e.hold)
	all.Wait()
}
