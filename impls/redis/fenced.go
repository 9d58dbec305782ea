package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls"
	"lockbench/impls/lease"
	"lockbench/impls/waiting"
)

// Fenced is the best lock that one Redis allows: fencing tokens, re-entrancy, renewal with a loss signal, and a queue whose
// head is handed the lock by the release itself, so that no waiter asks in vain.
//
// The server keeps one list per lock (lua/fenced_acquire.lua), which stays when the lock is free, since it holds the last
// fence. Its first element has the holder, the end of its lease by the server's clock, and its fence; the others are waiters.
// LPOP takes two elements at once since Redis 6.2.
//
// A handed-over hold has a quarter of its lease until its first renewal, counted from the waiter's last request. So a dead
// waiter costs the next one that quarter. After an ambiguous second acquire by a holder, the store may count one level too
// many until the lease ends.
//
// A fence is one more than the last, or the server's time in microseconds if that is more: a server that forgot everything,
// and a replica that lags, mint higher ones than before, unless their clocks are behind. A nested grant has the fence of its
// hold, or a new one if the process knows of no such hold.
//
// No lock on one server survives the loss of that server's memory: two clients hold then, as they do when a holder is paused
// beyond its lease. Only the fence stops the older one, if it is checked.
func Fenced() impls.Impl {
	return impls.Impl{
		Name: "fenced", Store: "redis", Deployment: "single", Reentrant: true, Renews: true, Notifies: true, Fences: true, BackOff: longestLook,
		Doc:    "fencing tokens that follow the clock, counted re-entrancy, renewal with a loss signal, and a fair queue with direct hand-off",
		Expect: slices.Concat(fencedUsual(), fencedUnderFaults(), fencedForgotten(), fencedByClock()),
		Open:   func(env impls.Env) (impls.Lock, error) { return openFenced(env, "clock") },
	}
}

// ErrExpired and ErrHeldByAnother are the two reasons for not held.
var (
	ErrExpired       = fmt.Errorf("%w: it was never acquired, is released or has expired", impls.ErrNotHeld)
	ErrHeldByAnother = fmt.Errorf("%w: it is another's by now", impls.ErrNotHeld)
)

type fencedLock struct {
	Node
	*listener
	env     impls.Env
	mint    string // what new fences follow: "clock" or "count"
	running waiting.Group

	mu   sync.Mutex // guards what follows; never held across a command
	held map[string]*lease.Lease
	last map[ownedKey]*lease.Lease // of those, the one that an owner was granted last
}

var _ impls.Prober = (*fencedLock)(nil) // its own, rather than that of its Node

// openFenced opens a lock whose fences follow the server's "clock", or "count".
func openFenced(env impls.Env, mint string) (impls.Lock, error) {
	n, err := openNode(env)
	if err != nil {
		return nil, err
	}
	l := &fencedLock{Node: n, env: env, mint: mint, held: map[string]*lease.Lease{}, last: map[ownedKey]*lease.Lease{}}
	l.listener = &listener{Node: n, id: impls.Token(env.Rand), names: n.prefix + "granted:", stray: l.unexpected,
		ready: make(chan struct{}), waiters: map[string]*waiter{}}
	l.life, l.end = context.WithCancel(context.Background())
	return l, nil
}

func (l *fencedLock) keys(key string) []string { return []string{l.Key(key)} }

// request is one Acquire under way.
type request struct {
	impls.Request
	*waiter
	token    string
	place    string // in the queue: the process and the lease of a hand-over; empty for one that does not wait
	start    time.Time
	sent     time.Duration // of the last question, since start
	queued   bool          // asked at least once
	handover time.Duration // the lease of a hand-over, until it is renewed
	lookIn   time.Duration // after a refusal: when to look without being told
}

func (l *fencedLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	if err := impls.CheckTTL(req.TTL); err != nil {
		return impls.Hold{}, err
	}
	r := &request{Request: req, token: impls.Token(l.env.Rand), start: time.Now(), handover: max(req.TTL/4, time.Millisecond)}
	if req.Wait == 0 {
		hold, err := l.ask(ctx, r)
		if err != nil && !errors.Is(err, impls.ErrBusy) {
			_ = l.withdraw(ctx, r) // the answer stays unknown: what was asked may still be on its way
		}
		return hold, err
	}
	ctx, cancel := waiting.Limit(ctx, req.Wait)
	defer cancel()
	if err := l.listen(ctx); err != nil {
		return impls.Hold{}, fmt.Errorf("%w: nothing was asked: %w", impls.ErrBusy, err)
	}
	r.place = l.id + " " + tenDigits(r.handover)
	var leave func()
	r.waiter, leave = l.join(r.token)
	defer leave()
	return l.wait(ctx, r)
}

// tenDigits is a lease in ms as scripts copy it: there is room for 115 days.
func tenDigits(lease time.Duration) string {
	ms := strconv.FormatInt(min(lease.Milliseconds(), 9_999_999_999), 10)
	return "0000000000"[len(ms):] + ms
}

// wait asks, then waits to be told, and asks again from time to time in case nobody does.
func (l *fencedLock) wait(ctx context.Context, r *request) (impls.Hold, error) {
	for {
		hold, err := l.ask(ctx, r)
		if !errors.Is(err, impls.ErrBusy) {
			if err != nil {
				_ = l.withdraw(ctx, r)
			}
			return hold, err
		}
		// What is promised counts from the last question, and must not be nearly over.
		fence, granted := r.await(ctx)
		if since := time.Since(r.start) - r.sent; granted && since < r.handover*3/4 {
			return l.hold(r, impls.Grant{Token: r.token, Fence: fence, Depth: 1, Validity: r.handover}), nil
		}
		if ctx.Err() != nil {
			if err := l.withdraw(ctx, r); err != nil {
				return impls.Hold{}, fmt.Errorf("gave up waiting, and may be in the queue: %w", err)
			}
			return impls.Hold{}, impls.ErrBusy
		}
	}
}

// await returns when the request is granted, when it is time to look, or when the context is over. A grant goes first.
func (r *request) await(ctx context.Context) (fence int64, granted bool) {
	timer := time.NewTimer(r.lookIn)
	defer timer.Stop()
	select {
	case fence = <-r.granted:
		return fence, true
	case <-r.look:
	case <-timer.C:
	case <-ctx.Done():
	}
	select {
	case fence = <-r.granted:
		return fence, true
	default:
		return 0, false
	}
}

func (l *fencedLock) ask(ctx context.Context, r *request) (impls.Hold, error) {
	l.env.Tally.Attempt()
	again := r.queued
	r.sent, r.queued = time.Since(r.start), true
	reply, err := fencedAcquire.Run(ctx, l.UniversalClient, l.keys(r.Key), r.token, r.Owner, tenDigits(r.TTL), r.place, again, l.mint, l.mine(r.Key, r.Owner)).Result()
	if err != nil {
		return impls.Hold{}, err
	}
	if fence, isNew := reply.(int64); isNew {
		return l.hold(r, impls.Grant{Token: r.token, Fence: fence, Depth: 1, Validity: r.TTL}), nil
	}
	depth, bearer, number, err := standing(reply)
	if err != nil {
		return impls.Hold{}, err
	}
	if depth == 0 {
		r.lookIn = lookIn(r.TTL, time.Duration(number)*time.Millisecond)
		return impls.Hold{}, impls.ErrBusy
	}
	return l.hold(r, impls.Grant{Token: bearer, Fence: number, Depth: int(depth), Validity: r.TTL}), nil
}

// standing reads the answer of the acquire script if the lock is held already.
func standing(reply any) (depth int64, bearer string, number int64, err error) {
	if parts, _ := reply.([]any); len(parts) == 3 {
		var whole [3]bool
		depth, whole[0] = parts[0].(int64)
		bearer, whole[1] = parts[1].(string)
		number, whole[2] = parts[2].(int64)
		if whole == [3]bool{true, true, true} {
			return depth, bearer, number, nil
		}
	}
	return 0, "", 0, fmt.Errorf("the server answered an acquire with %v, which nobody understands", reply)
}

// mine returns the token of what an owner holds, as far as this process knows; "" if nothing.
func (l *fencedLock) mine(key, owner string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.last[ownedKey{key, owner}]; h != nil {
		return h.Grant.Token
	}
	return ""
}

const longestLook = time.Second

// lookIn returns when a waiter looks again: often enough that a promise counted from its last look is worth something, and no
// later than the end of the lease it waits for.
func lookIn(ttl, left time.Duration) time.Duration {
	often := min(ttl/8, longestLook)
	if left >= 0 {
		often = min(often, left)
	}
	return max(often, time.Millisecond)
}

func (l *fencedLock) hold(r *request, g impls.Grant) impls.Hold {
	g.Key, g.Owner, g.SentAfter = r.Key, r.Owner, r.sent
	sent := r.start.Add(r.sent)
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[g.Token]
	if h == nil || !h.Confirm(sent, g.Validity) {
		h = lease.New(l.life, g, r.TTL, r.start)
		h.Confirm(sent, g.Validity)
		l.held[g.Token], l.last[ownedKey{g.Key, g.Owner}] = h, h
		next := sent.Add(g.Validity / 3)
		h.Wake(next, func() {
			l.running.Do(func() {
				h.LookAfter(l.env, next, func(ctx context.Context) error { return l.renew(ctx, h) })
				l.mu.Lock()
				defer l.mu.Unlock()
				l.drop(h) // if it was not released, its release finds out from the store
			})
		})
	}
	h.Depth++
	return impls.Hold{Grant: g, Lost: h.Lost}
}

func (l *fencedLock) renew(ctx context.Context, h *lease.Lease) error {
	return released(fencedRenew.Run(ctx, l.UniversalClient, l.keys(h.Grant.Key), h.Grant.Token, tenDigits(h.TTL)).Int64())
}

// drop needs the mutex.
func (l *fencedLock) drop(h *lease.Lease) {
	if l.held[h.Grant.Token] == h {
		delete(l.held, h.Grant.Token)
	}
	if of := (ownedKey{h.Grant.Key, h.Grant.Owner}); l.last[of] == h {
		delete(l.last, of)
	}
}

// withdraw leaves the queue and gives back what was granted meanwhile, even if the caller's context is over. If it returns
// nil, the request has no effect any more.
func (l *fencedLock) withdraw(ctx context.Context, r *request) error {
	ctx, cancel := waiting.Detached(ctx, waiting.WithdrawTimeout)
	defer cancel()
	entry := ""
	if r.place != "" {
		entry = r.token + " " + r.place + " " + r.Owner
	}
	if err := l.release(ctx, r.Key, r.token, entry); err != nil && !errors.Is(err, impls.ErrNotHeld) {
		return err
	}
	return nil
}

// unexpected gives back a grant that no waiter here expects: its request was given up on its way to the queue.
func (l *fencedLock) unexpected(key, token string) {
	l.mu.Lock()
	_, mine := l.held[token]
	l.mu.Unlock()
	if mine {
		return // the waiter saw for itself, before it was told
	}
	l.running.Go(func() {
		ctx, cancel := context.WithTimeout(l.life, waiting.WithdrawTimeout)
		defer cancel()
		_ = l.release(ctx, key, token, "") // else it expires
	})
}

// Release ends the renewal before it asks the store. If the connection broke it asks once more: if the hold is gone by then,
// and its lease was not over, the first request released it. An inner release is not repeated: it might free the outer hold.
func (l *fencedLock) Release(ctx context.Context, g impls.Grant) error {
	l.mu.Lock()
	h := l.held[g.Token]
	if h != nil {
		h.Depth--
	}
	last := h != nil && h.Depth == 0
	if last {
		l.drop(h)
	}
	l.mu.Unlock()
	if last {
		h.End()
	}
	err := l.release(ctx, g.Key, g.Token, "")
	if !last || g.Depth > 1 || err == nil || errors.Is(err, impls.ErrNotHeld) || ctx.Err() != nil {
		return err
	}
	again := l.release(ctx, g.Key, g.Token, "")
	if errors.Is(again, impls.ErrNotHeld) && !h.ExpiredBy(time.Now()) {
		return nil
	}
	return again
}

func (l *fencedLock) release(ctx context.Context, key, token, entry string) error {
	return released(fencedRelease.Run(ctx, l.UniversalClient, l.keys(key), token, entry, l.names, l.mint).Int64())
}

func released(code int64, err error) error {
	switch {
	case err != nil:
		return err
	case code == 0:
		return ErrExpired
	case code < 0:
		return ErrHeldByAnother
	}
	return nil
}

// Probe asks for the time first: a hold that was renewed in between is held, as it was all along.
func (l *fencedLock) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	now, err := l.Time(ctx).Result()
	if err != nil {
		return "", 0, err
	}
	record, err := l.LIndex(ctx, l.Key(key), 0).Result()
	if errors.Is(err, redis.Nil) {
		return "", 0, nil
	} else if err != nil {
		return "", 0, err
	}
	var token string
	var fence, depth, since, lease int64
	if _, err := fmt.Sscanf(record, "%s %d %d %d %d", &token, &fence, &depth, &since, &lease); err != nil {
		return "", 0, fmt.Errorf("%q is not the record of a lock: %w", record, err)
	}
	if left := time.UnixMicro(since + lease*1000).Sub(now); left > 0 {
		return token, left, nil
	}
	return "", 0, nil
}

func (l *fencedLock) Close() error {
	err := l.listener.close() // with which the life of every lease ends
	l.running.Close()
	return errors.Join(err, l.UniversalClient.Close())
}
