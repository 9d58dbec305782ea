package redis

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// fences describes the fencing tokens of the lock "fenced": a counter for all locks with the same prefix.
type fences struct {
	key  string // of the last fencing token
	mint string // source of fencing tokens on a server that has lost the last one: "clock" or "count"
}

// raising returns client options whose connections raise the last fencing token to the server's time before their first command,
// unless it is higher.
func (f fences) raising(opts *redis.Options) *redis.Options {
	if f.mint == "clock" {
		opts.OnConnect = func(ctx context.Context, c *redis.Conn) error {
			return fencedRaise.Run(ctx, c, []string{f.key}).Err()
		}
	}
	return opts
}

// lowestFence is a fencing token below the time of any server in microseconds. A lower token of a lock whose tokens follow the
// clock means that the server has lost the last one.
const lowestFence = 1e14

// isSafe reports whether a token that was drawn without a script is higher than all earlier ones.
func (f fences) isSafe(token int64) bool { return f.mint != "clock" || token >= lowestFence }

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
