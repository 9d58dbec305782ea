package redis

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// batcher is a client that sends the commands of several callers in one message while many messages await their replies. A small
// command costs less than the system calls that send it and receive its reply.
//
// Below the limit, each message has the commands of one caller and is sent at once. At the limit, the commands of further callers
// wait for the next reply, and are then sent in one message. So a caller waits for a fraction of a round trip only.
type batcher struct {
	redis.UniversalClient
	limit int // number of messages that may await their replies

	mu       sync.Mutex // guards the fields below; never held across a command
	inFlight int        // number of messages that await their replies
	queue    []*parcel  // commands for the next message
	replied  time.Time  // time of the latest reply
}

// parcel holds the commands of one caller that are sent in a message with others.
type parcel struct {
	ctx  context.Context
	cmds []*redis.Cmd
	done chan struct{} // closed when the commands have their results, or ctx has ended
}

// mostInFlight was the best limit of 1, 2, 4, 8 and 16, for 4 to 256 clients of a server on the same machine. Tests change it.
var mostInFlight = 8

// stalledAfter is the time without a reply after which the limit is ignored: a fault may have cut off the connections of the messages
// in flight, and a new connection may be answered.
const stalledAfter = 20 * time.Millisecond

func newBatcher(c redis.UniversalClient) *batcher {
	return &batcher{UniversalClient: c, limit: mostInFlight}
}

// Eval implements redis.Scripter.
func (b *batcher) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return b.eval(ctx, "EVAL", script, keys, args)
}

// EvalSha implements redis.Scripter.
func (b *batcher) EvalSha(ctx context.Context, hash string, keys []string, args ...any) *redis.Cmd {
	return b.eval(ctx, "EVALSHA", hash, keys, args)
}

func (b *batcher) eval(ctx context.Context, name, script string, keys []string, args []any) *redis.Cmd {
	words := make([]any, 0, 3+len(keys)+len(args))
	words = append(words, name, script, len(keys))
	for _, key := range keys {
		words = append(words, key)
	}
	cmd := redis.NewCmd(ctx, append(words, args...)...)
	if err := b.send(ctx, cmd); err != nil {
		cmd = redis.NewCmd(ctx)
		cmd.SetErr(err)
	}
	return cmd
}

// send sends commands in one message, in their order, and waits for their results. It returns the error of ctx if ctx ends first. The
// commands must then not be used any more, and they may still be executed.
func (b *batcher) send(ctx context.Context, cmds ...*redis.Cmd) error {
	p := b.admit(ctx, cmds)
	if p == nil {
		b.write(ctx, cmds)
		b.next()
		return nil
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// admit returns nil if the commands may be sent at once. Otherwise it queues them.
func (b *batcher) admit(ctx context.Context, cmds []*redis.Cmd) *parcel {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.inFlight < b.limit || time.Since(b.replied) > stalledAfter {
		b.inFlight++
		return nil
	}
	p := &parcel{ctx, cmds, make(chan struct{})}
	b.queue = append(b.queue, p)
	return p
}

// next is called after the reply to a message. If commands are waiting, it sends the next message in the background.
func (b *batcher) next() {
	if all := b.take(); all != nil {
		go func() {
			for ; all != nil; all = b.take() {
				b.deliver(all)
			}
		}()
	}
}

// take records a reply and returns the queued commands, for the next message. If no commands are queued, one message fewer is in flight.
func (b *batcher) take() []*parcel {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replied = time.Now()
	all := b.queue
	if b.queue = nil; all == nil {
		b.inFlight--
	}
	return all
}

// deliver sends the commands of several callers in one message. Callers that have stopped waiting are left out.
func (b *batcher) deliver(all []*parcel) {
	var cmds []*redis.Cmd
	var until time.Time // latest deadline of the callers
	bounded := true
	for _, p := range all {
		if err := p.ctx.Err(); err != nil {
			for _, c := range p.cmds {
				c.SetErr(err)
			}
			continue
		}
		deadline, ok := p.ctx.Deadline()
		bounded = bounded && ok
		if deadline.After(until) {
			until = deadline
		}
		cmds = append(cmds, p.cmds...)
	}
	if len(cmds) > 0 {
		ctx, cancel := context.Background(), func() {}
		if bounded {
			ctx, cancel = context.WithDeadline(ctx, until)
		}
		b.write(ctx, cmds)
		cancel()
	}
	for _, p := range all {
		close(p.done)
	}
}

func (b *batcher) write(ctx context.Context, cmds []*redis.Cmd) {
	if len(cmds) == 1 {
		_ = b.Process(ctx, cmds[0]) // the command has the error too
		return
	}
	pipe := b.Pipeline()
	for _, c := range cmds {
		_ = pipe.Process(ctx, c) // a pipeline only collects commands
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
}
