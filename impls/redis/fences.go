package redis

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// fences describes the fencing tokens of the lock "fenced": a counter for all locks with the same prefix.
type fences struct {
	key  string // of the last fencing token
	mint string // source of fencing tokens on a server that has lost the last one: "clock" or "count"

	dials  atomic.Int64 // number of connections that were opened
	raised atomic.Int64 // number of them that were open when a script last raised the last fencing token
}

// counting returns client options whose connections are counted.
func (f *fences) counting(opts *redis.Options) *redis.Options {
	dial := opts.Dialer
	if dial == nil {
		dial = redis.NewDialer(opts)
	}
	opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		defer f.dials.Add(1)
		return dial(ctx, network, addr)
	}
	return opts
}

// source returns the source of fencing tokens for a script, and a function to call after the script has run.
func (f *fences) source() (mint string, ran func()) {
	dials := f.dials.Load()
	if f.mint != "clock" || dials > 0 && f.raised.Load() == dials {
		return f.mint, func() {}
	}
	return "raise", func() { f.raised.Store(dials) }
}

// current reports whether the last fencing token needs no script: it was raised since the latest connection was opened.
func (f *fences) current() bool {
	dials := f.dials.Load()
	return dials > 0 && (f.mint != "clock" || f.raised.Load() == dials)
}

// lowestFence is a fencing token below the time of any server in microseconds. A lower token of a lock whose tokens follow the
// clock means that the server has lost the last one.
const lowestFence = 1e14

// isSafe reports whether a token that was drawn without a script is higher than all earlier ones.
func (f *fences) isSafe(token int64) bool {
	return f.mint != "clock" || f.current() && token >= lowestFence
}

// taken holds the keys that other clients held at the latest request of this process. It is only a hint. The zero value is ready to use.
type taken struct {
	mu   sync.Mutex
	keys map[string]bool
}

// mostTaken is the largest number of remembered keys. Without the hint, an acquire of a taken key sends two commands more.
const mostTaken = 1024

func (t *taken) has(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.keys[key]
}

func (t *taken) note(key string, is bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !is {
		delete(t.keys, key)
		return
	}
	if t.keys == nil || len(t.keys) >= mostTaken {
		t.keys = map[string]bool{}
	}
	t.keys[key] = true
}
