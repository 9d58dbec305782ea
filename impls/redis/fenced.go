package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls"
	"lockbench/impls/lease"
	"lockbench/impls/waiting"
)

// Fenced is the strongest lock that one Redis server allows. It has fencing tokens, re-entrancy, renewal with a loss
// signal, and a queue of waiters. A release hands the lock off to the first waiter, so waiters need not poll often.
//
// The server stores a string for each hold, which expires with its lease, and a list for the waiters of each lock, in the
// format of lua/fenced_acquire.lua. A free lock is acquired by two plain commands in one message, and released by
// compare-and-delete. The scripts that use the queue run only if another client holds or waits. Many concurrent callers of
// one process share messages (batcher). The lock needs Redis 6.0.6, for LPOS.
//
// After a hand-off, the lease is a quarter of the requested lease until the first renewal. A dead waiter therefore delays
// the next waiter by at most that quarter. The waiter counts this shorter lease from its last request.
//
// If the reply to a nested acquire is lost, the stored depth may be too high until the lease expires.
//
// A new fencing token is the last token of all locks with the same prefix plus 1. The first command of each connection raises the
// last token to the server's time in microseconds, unless it is higher. A promoted replica is reached by new connections only, so
// tokens increase even if it lacks the last ones, unless its clock is behind. A server that has lost the last token also continues
// at its time. A nested grant has the token of its hold, or a new token if this process does not know the hold.
//
// If the server loses its data, two clients may hold the lock at once. The same happens when a holder is paused beyond its
// lease. No lock on one server prevents this: only a check of the fencing token excludes the earlier holder.
func Fenced() impls.Impl {
	return impls.Impl{
		Name: "fenced", Store: "redis", Deployment: "single", Reentrant: true, Renews: true, Notifies: true, Fences: true, ReportsLoss: true, SkipsDead: true, FirstLease: 100 / handoverPart, BackOff: longestLook,
		Doc:    "fencing tokens that follow the clock, counted re-entrancy, renewal with a loss signal, and a fair queue with direct hand-off",
		Expect: slices.Concat(fencedUsual(), fencedUnderFaults(), fencedForgotten(), fencedByClock()),
		Open:   func(env impls.Env) (impls.Lock, error) { return openFenced(env, "clock") },
	}
}

// ErrExpired and ErrHeldByAnother wrap impls.ErrNotHeld.
var (
	ErrExpired       = fmt.Errorf("%w: it was never acquired, is released or has expired", impls.ErrNotHeld)
	ErrHeldByAnother = fmt.Errorf("%w: another client holds it", impls.ErrNotHeld)
)

type fencedLock struct {
	Node
	*listener
	env     impls.Env
	sender  *batcher
	fences  fences
	taken   taken
	running waiting.Group

	mu        sync.Mutex                // guards the fields below; never held across a command
	held      map[string]*lease.Lease   // holds that were not released, by token; also those that were lost
	last      map[ownedKey]*lease.Lease // latest hold by owner and key
	releasing map[string]bool           // tokens of holds whose release is in flight
}

var _ impls.Prober = (*fencedLock)(nil) // fencedLock overrides Node.Probe

// openFenced opens the lock. mint is the source of fencing tokens on a server that has lost the last one: "clock" for the
// server's time, "count" for a counter from 1.
func openFenced(env impls.Env, mint string) (impls.Lock, error) {
	if len(env.Nodes) != 1 {
		return nil, fmt.Errorf("want one server, got %d: the keys of a lock are in different slots of a cluster", len(env.Nodes))
	}
	l := &fencedLock{env: env, fences: fences{key: env.Prefix + "fences", mint: mint}, held: map[string]*lease.Lease{}, last: map[ownedKey]*lease.Lease{},
		releasing: map[string]bool{}}
	nodes, err := connectAll(env, func(opts *redis.Options) *redis.Options { return l.fences.raising(careful(opts)) })
	if err != nil {
		return nil, err
	}
	// A subscription draws no tokens, and go-redis holds a mutex while it opens the connection of one.
	subscribers, err := connectAll(env, careful)
	if err != nil {
		return nil, errors.Join(err, nodes.Close())
	}
	n := nodes[0]
	l.Node, l.sender = n, newBatcher(n.UniversalClient)
	l.listener = &listener{Node: subscribers[0], id: impls.Token(env.Rand), names: n.prefix + "granted:", stray: l.unexpected,
		waiters: map[string]*waiter{}}
	l.life, l.end = context.WithCancel(context.Background())
	return l, nil
}

func (l *fencedLock) keys(key string) []string {
	return []string{l.Key(key), l.prefix + "queue:" + key, l.fences.key}
}

type request struct {
	impls.Request
	*waiter
	token    string
	entry    string // entry in the queue; "" for a try, which is not queued
	start    time.Time
	sent     time.Duration // time from the call of Acquire until the request was last sent
	queued   bool          // whether the request has been sent before
	handover time.Duration // duration of the lease after a hand-off, until the first renewal
	lookIn   time.Duration // delay between a refusal and the next request
	last     int64         // last fencing token at the latest refusal
}

func (l *fencedLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	if err := impls.CheckTTL(req.TTL); err != nil {
		return impls.Hold{}, err
	}
	if l.life.Err() != nil {
		return impls.Hold{}, fmt.Errorf("%w: nothing was requested: %w", impls.ErrBusy, impls.ErrClosed)
	}
	r := &request{Request: req, token: impls.Token(l.env.Rand), start: time.Now(), handover: max(req.TTL/handoverPart, time.Millisecond)}
	limit := ctx
	if req.Wait > 0 {
		var done context.CancelFunc
		limit, done = context.WithDeadline(ctx, r.start.Add(req.Wait+waiting.AnswerGrace))
		defer done()
	}
	if mine, _ := l.mine(req.Key, req.Owner); mine == "" && !l.taken.has(req.Key) {
		switch fence, err := l.takeFree(limit, r); {
		case err != nil:
			_ = l.withdraw(ctx, r) // err stays indeterminate: the acquire may reach the server after the release that withdraw sends
			return impls.Hold{}, err
		case fence > 0:
			return l.hold(r, impls.Grant{Token: r.token, Fence: fence, Depth: 1, Validity: r.TTL}), nil
		}
	}
	if req.Wait == 0 {
		hold, err := l.ask(ctx, r)
		if err != nil && !errors.Is(err, impls.ErrBusy) {
			_ = l.withdraw(ctx, r)
		}
		return hold, err
	}
	l.listen()
	r.entry = fmt.Sprintf("%s %s %d %s", r.token, l.id, r.handover.Milliseconds(), r.Owner)
	var leave func()
	r.waiter, leave = l.join(r.token)
	defer leave()
	patient := limit
	if req.Wait > 0 {
		var done context.CancelFunc
		patient, done = context.WithDeadline(limit, r.start.Add(req.Wait))
		defer done()
	}
	return l.wait(patient, limit, r)
}

// wait requests the lock and waits for the hand-over. The hand-over message may be lost, so wait repeats the request
// periodically. The context patient ends with the timeout of the acquire, and limit a little later.
func (l *fencedLock) wait(patient, limit context.Context, r *request) (impls.Hold, error) {
	for {
		hold, err := l.ask(limit, r)
		if !errors.Is(err, impls.ErrBusy) {
			if err != nil {
				_ = l.withdraw(patient, r)
			}
			return hold, err
		}
		// After a hand-off, the client counts the lease from its last request. Accept the grant only if more than a
		// quarter of that lease is left.
		fence, granted := r.await(patient)
		granted = granted && fence > r.last // a message of an earlier hand-off may arrive after the end of its lease
		if since := time.Since(r.start) - r.sent; granted && since < r.handover*3/4 {
			return l.hold(r, impls.Grant{Token: r.token, Fence: fence, Depth: 1, Validity: r.handover}), nil
		}
		if patient.Err() != nil {
			if err := l.withdraw(patient, r); err != nil {
				return impls.Hold{}, fmt.Errorf("the wait ended, and the request may still be queued: %w", err)
			}
			return impls.Hold{}, impls.ErrBusy
		}
	}
}

// await waits for a grant, and returns false when the next request is due or ctx ends. If a grant has arrived as well,
// await returns the grant.
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

// takeFree grants the lock if it is free. It returns the fencing token, or 0 if the script has to decide: another client holds, or the
// last token may be too low.
//
// The two commands need not be one transaction. The token is drawn between the call and the return of the acquire, so
// it is higher than those of all acquires that returned before.
func (l *fencedLock) takeFree(ctx context.Context, r *request) (fence int64, err error) {
	l.env.Tally.Attempt()
	r.sent = time.Since(r.start)
	set := redis.NewCmd(ctx, "SET", l.Key(r.Key), unawaited(r.token, r.Owner), "NX", "PX", r.TTL.Milliseconds())
	next := redis.NewCmd(ctx, "INCR", l.fences.key)
	if err := l.sender.send(ctx, set, next); err != nil {
		return 0, err
	}
	switch err := set.Err(); {
	case errors.Is(err, redis.Nil):
		l.taken.note(r.Key, true)
		return 0, nil
	case err != nil:
		return 0, err
	}
	if fence, err = next.Int64(); err != nil || l.fences.isSafe(fence) {
		return fence, err
	}
	return 0, nil
}

// unawaited returns what the server stores for a hold of depth 1 for which no client is queued.
func unawaited(token, owner string) string { return token + " 1 " + owner }

// ask requests the lock once, or joins the queue. It is repeated while the request waits.
func (l *fencedLock) ask(ctx context.Context, r *request) (impls.Hold, error) {
	l.env.Tally.Attempt()
	again := r.queued
	r.sent, r.queued = time.Since(r.start), true
	mine, known := l.mine(r.Key, r.Owner)
	reply, err := fencedAcquire.Run(ctx, l.sender, l.keys(r.Key), r.token, l.fences.mint, r.Owner, r.TTL.Milliseconds(), r.entry, again, mine).Result()
	if err != nil {
		return impls.Hold{}, err
	}
	if fence, isNew := reply.(int64); isNew {
		l.taken.note(r.Key, again) // a waiter that is granted so has other waiters behind it
		return l.hold(r, impls.Grant{Token: r.token, Fence: fence, Depth: 1, Validity: r.TTL}), nil
	}
	depth, bearer, number, err := standing(reply)
	if err != nil {
		return impls.Hold{}, err
	}
	if depth == 0 {
		if r.last, err = strconv.ParseInt(bearer, 10, 64); err != nil {
			return impls.Hold{}, fmt.Errorf("parse the answer to an acquire: %w", err)
		}
		r.lookIn = lookIn(r.TTL, time.Duration(number)*time.Millisecond)
		l.taken.note(r.Key, true)
		return impls.Hold{}, impls.ErrBusy
	}
	if number == 0 { // the fencing token of the outer hold
		number = known
	}
	return l.hold(r, impls.Grant{Token: bearer, Fence: number, Depth: int(depth), Validity: r.TTL}), nil
}

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
	return 0, "", 0, fmt.Errorf("parse the answer to an acquire: unexpected %v", reply)
}

// mine returns the token and the fencing token of the owner's hold in this process, or "" and 0 if there is no hold.
func (l *fencedLock) mine(key, owner string) (token string, fence int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.last[ownedKey{key, owner}]; h != nil {
		return h.Grant.Token, h.Grant.Fence
	}
	return "", 0
}

const longestLook = time.Second

// handoverPart is the part of the requested lease that a hand-off grants until the first renewal: one in handoverPart.
const handoverPart = 4

// lookIn returns the delay before a waiter repeats its request. The delay is at most one second, an eighth of the
// requested lease (ttl), and the holder's remaining lease (left). After a hand-off, the lease counts from the waiter's
// last request, so a longer delay would leave less of the lease.
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
		outer := 0 // depth of a hold that was lost, and that its owner has entered again before it released it
		if h != nil {
			outer = h.Depth
		}
		h = lease.New(l.life, g, r.TTL, r.start)
		h.Depth = outer
		h.Confirm(sent, g.Validity)
		l.held[g.Token], l.last[ownedKey{g.Key, g.Owner}] = h, h
		next := sent.Add(g.Validity / 3)
		h.Wake(next, func() {
			l.running.Do(func() {
				h.LookAfter(l.env, next, func(ctx context.Context) error { return l.renew(ctx, h) })
				l.mu.Lock()
				defer l.mu.Unlock()
				l.forget(h) // the hold stays in held until its release, so that a late message of its grant does not release it
			})
		})
	}
	h.Depth++
	return impls.Hold{Grant: g, Lost: h.Lost}
}

func (l *fencedLock) renew(ctx context.Context, h *lease.Lease) error {
	return released(fencedRenew.Run(ctx, l.sender, l.keys(h.Grant.Key), h.Grant.Token, h.TTL.Milliseconds()).Int64())
}

// forget removes a hold as that of its owner. The caller must hold mu.
func (l *fencedLock) forget(h *lease.Lease) {
	if of := (ownedKey{h.Grant.Key, h.Grant.Owner}); l.last[of] == h {
		delete(l.last, of)
	}
}

// Probe returns the token of the holder and the remaining lease.
func (l *fencedLock) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	record, left, err := l.Node.Probe(ctx, key)
	token, _, _ := strings.Cut(record, " ")
	return token, left, err
}

func (l *fencedLock) Close() error {
	err := l.listener.close() // also cancels the context of every lease
	l.running.Close()
	return errors.Join(err, l.listener.UniversalClient.Close(), l.UniversalClient.Close())
}
