package redis

import (
	"context"
	"embed"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls/waiting"
)

// renewals are the goroutines of a lock that extend its leases, each with a name. One is ended by stop, by its own extend,
// or with all others by close.
type renewals struct {
	life    context.Context
	end     context.CancelFunc
	running waiting.Group

	mu    sync.Mutex
	named map[string]*renewal
}

type renewal struct {
	tell  context.CancelFunc // to end
	ended chan struct{}      // closed when it sends nothing any more
}

func newRenewals() *renewals {
	r := &renewals{named: map[string]*renewal{}}
	r.life, r.end = context.WithCancel(context.Background())
	return r
}

// start calls extend once per period until it returns false or is stopped. It replaces another of this name.
func (r *renewals) start(name string, every time.Duration, extend func() bool) {
	ctx, tell := context.WithCancel(r.life)
	n := &renewal{tell, make(chan struct{})}
	r.mu.Lock()
	if old := r.named[name]; old != nil {
		old.tell()
	}
	r.named[name] = n
	r.mu.Unlock()
	r.running.Go(func() {
		defer close(n.ended)
		for waiting.Pause(ctx, every) && extend() {
		}
		tell()
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.named[name] == n {
			delete(r.named, name)
		}
	})
}

// stop ends the one of this name and waits until it sends nothing any more. The error is the context's.
func (r *renewals) stop(ctx context.Context, name string) error {
	r.mu.Lock()
	n := r.named[name]
	delete(r.named, name)
	r.mu.Unlock()
	if n == nil {
		return nil
	}
	n.tell()
	select {
	case <-n.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close ends all and the client, with whose connections ends what is in flight, and waits for it.
func (r *renewals) close(client io.Closer) error {
	r.end()
	return errors.Join(client.Close(), endedSoon(&r.running))
}

// endedSoon waits for a lock's goroutines, whose connections are closed.
func endedSoon(running *waiting.Group) error {
	ended := make(chan struct{})
	go func() {
		running.Close()
		close(ended)
	}()
	timer := time.NewTimer(waiting.CloseTimeout)
	defer timer.Stop()
	select {
	case <-ended:
		return nil
	case <-timer.C:
		return errors.New("a goroutine of the lock did not end")
	}
}

//go:embed lua/*.lua
var sources embed.FS

func script(name string) *redis.Script {
	text, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err)
	}
	return redis.NewScript(string(text))
}

var (
	compareAndDelete  = script("compare_and_delete")
	compareAndPExpire = script("compare_and_pexpire")

	fencedAcquire = script("fenced_acquire")
	fencedRelease = script("fenced_release")
	fencedRenew   = script("fenced_renew")

	redissonAcquire       = script("redisson_acquire")
	redissonRelease       = script("redisson_release")
	redissonExtend        = script("redisson_extend")
	redissonLegacyAcquire = script("redisson_legacy_acquire")
	redissonLegacyRelease = script("redisson_legacy_release")
)
