package redis

import (
	"context"
	"embed"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls"
	"lockbench/impls/waiting"
)

// renewals runs the goroutines that renew a lock's holds. A goroutine ends at the last release of its hold, after a refused
// renewal, or at close. If blind is set, a refusal does not end the goroutine.
type renewals struct {
	env     impls.Env
	blind   bool // whether renewals continue after a refusal
	life    context.Context
	end     context.CancelFunc
	running waiting.Group

	mu    sync.Mutex
	named map[string]*renewal
}

// renewal is the renewal of an outermost hold. Nested holds share the renewal.
type renewal struct {
	depth int
	lost  chan struct{}
	stop  context.CancelFunc
	ended chan struct{} // closed when the renewal goroutine sends no more requests

	until  time.Time   // end of the last confirmed lease
	expiry *time.Timer // reports the loss of the hold at that time; nil if the lock does not report losses
}

func newRenewals(env impls.Env, blind bool) *renewals {
	r := &renewals{env: env, blind: blind, named: map[string]*renewal{}}
	r.life, r.end = context.WithCancel(context.Background())
	return r
}

// start starts a goroutine that renews the grant g whenever a third of its lease has passed. The parameter
// start is the time of the call to Acquire; the times of reported renewals are relative to it.
//
// A nested hold has the same name as the outermost hold, whose renewals continue. For a new outermost hold, any earlier
// renewals with the same name are replaced. The returned channel is closed if a refusal ends the renewals, if the lease ends
// before a renewal is confirmed, or if a later call replaces them.
func (r *renewals) start(name string, g impls.Grant, start time.Time, ask func(context.Context) error) (lost <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.named[name]; old != nil {
		if g.Depth > 1 {
			old.depth = g.Depth
			if until := start.Add(g.SentAfter + g.Validity); until.After(old.until) {
				r.confirm(name, old, until)
			}
			return old.lost
		}
		old.halt()
		close(old.lost)
	}
	ctx, stop := context.WithCancel(r.life)
	n := &renewal{depth: g.Depth, lost: make(chan struct{}), stop: stop, ended: make(chan struct{})}
	r.named[name] = n
	r.confirm(name, n, start.Add(g.SentAfter+g.Validity))
	renew := func(ctx context.Context) error {
		sent := time.Now()
		err := ask(ctx)
		if err == nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.confirm(name, n, sent.Add(g.Validity))
		}
		return err
	}
	r.running.Go(func() {
		defer close(n.ended)
		defer stop()
		held := true
		for held && waiting.Pause(ctx, g.Validity/3) {
			sent := time.Since(start)
			err := renew(context.Background())
			r.env.ReportRenewal(g, sent, err)
			held = r.blind || !errors.Is(err, impls.ErrNotHeld) // any other error may be temporary
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if !held {
			r.lose(name, n)
		}
	})
	return n.lost
}

// confirm extends a hold to the end of its lease. At that time the hold is lost, unless it is extended again. The caller holds
// the mutex.
func (r *renewals) confirm(name string, n *renewal, until time.Time) {
	if n.until = until; r.blind || r.named[name] != n {
		return
	}
	if n.expiry != nil {
		n.expiry.Reset(time.Until(until))
		return
	}
	n.expiry = time.AfterFunc(time.Until(until), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !time.Now().Before(n.until) { // the timer may fire late
			r.lose(name, n)
		}
	})
}

// lose reports the loss of a hold that has not ended, and stops its renewals. The caller holds the mutex.
func (r *renewals) lose(name string, n *renewal) {
	if r.named[name] == n {
		delete(r.named, name)
		n.halt()
		close(n.lost)
	}
}

// halt stops the renewals and the timer of a hold.
func (n *renewal) halt() {
	n.stop()
	if n.expiry != nil {
		n.expiry.Stop()
	}
}

// stop must be called once for each release of a hold. The call for the last release ends the renewals, and waits for a
// renewal in flight. It returns an error if ctx ends first.
func (r *renewals) stop(ctx context.Context, name string) error {
	r.mu.Lock()
	n := r.named[name]
	if n != nil {
		n.depth--
	}
	if n == nil || n.depth > 0 {
		r.mu.Unlock()
		return nil
	}
	delete(r.named, name)
	r.mu.Unlock()
	n.halt()
	select {
	case <-n.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close ends all renewals and closes the client, which ends commands in flight.
func (r *renewals) close(client io.Closer) error {
	r.end()
	return errors.Join(client.Close(), endedSoon(&r.running))
}

// endedSoon waits until a lock's goroutines have ended, or returns an error after a timeout. The caller must first close the
// connections that the goroutines use.
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

// script returns the script that consists of the named files.
func script(names ...string) *redis.Script {
	var all []byte
	for _, name := range names {
		text, err := sources.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err)
		}
		all = append(all, text...)
	}
	return redis.NewScript(string(all))
}

var (
	compareAndDelete  = script("compare_and_delete")
	compareAndPExpire = script("compare_and_pexpire")
	compareAndSet     = script("compare_and_set")

	fencedAcquire = script("fenced_mint", "fenced_acquire")
	fencedRelease = script("fenced_mint", "fenced_release")
	fencedRaise   = script("fenced_mint", "fenced_raise")
	fencedRenew   = script("fenced_renew")

	redissonAcquire       = script("redisson_acquire")
	redissonRelease       = script("redisson_release")
	redissonExtend        = script("redisson_extend")
	redissonLegacyAcquire = script("redisson_legacy_acquire")
	redissonLegacyRelease = script("redisson_legacy_release")
)
