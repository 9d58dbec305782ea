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

// Fenced is the strongest lock that one Redis server allows. It has fencing tokens, re-entrancy, renewal with a loss
// signal, and a queue of waiters. A release hands the lock off to the first waiter, so waiters need not poll often.
//
// The server stores one list per lock, in the format of lua/fenced_acquire.lua. The first element describes the hold, and
// the other elements the waiters. The list of a free lock is kept, because it contains the last fencing token. The lock
// needs Redis 6.2, for LPOP with a count.
//
// After a hand-off, the lease is a quarter of the requested lease until the first renewal. A dead waiter therefore delays
// the next waiter by at most that quarter. The waiter counts this shorter lease from its last request.
//
// If the reply to a nested acquire is lost, the stored depth may be too high until the lease expires.
//
// A new fencing token is the last token plus 1, or the server's time in microseconds if that is greater. Tokens therefore
// increase even if the server has lost the last token, unless the server's clock is behind. A nested grant has the token of
// its hold, or a new token if this process does not know the hold.
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
	mint    string // source of new fencing tokens: "clock" or "count"
	running waiting.Group

	mu        sync.Mutex // guards the fields below; never held across a command
	held      map[string]*lease.Lease
	last      map[ownedKey]*lease.Lease // latest hold by owner and key
	releasing map[string]bool           // tokens of holds whose release is in flight
}

var _ impls.Prober = (*fencedLock)(nil) // fencedLock overrides Node.Probe

// openFenced opens the lock. mint is the source of new fencing tokens: "clock" for the server's time, "count" for a
// counter.
func openFenced(env impls.Env, mint string) (impls.Lock, error) {
	n, err := openNode(env)
	if err != nil {
		return nil, err
	}
	l := &fencedLock{Node: n, env: env, mint: mint, held: map[string]*lease.Lease{}, last: map[ownedKey]*lease.Lease{}, releasing: map[string]bool{}}
	l.listener = &listener{Node: n, id: impls.Token(env.Rand), names: n.prefix + "granted:", stray: l.unexpected,
		waiters: map[string]*waiter{}}
	l.life, l.end = context.WithCancel(context.Background())
	return l, nil
}

func (l *fencedLock) keys(key string) []string { return []string{l.Key(key)} }

type request struct {
	impls.Request
	*waiter
	token    string
	place    string // process id and duration of the lease after a hand-off, in the format of a queue entry; "" for a try, which is not queued
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
	r := &request{Request: req, token: impls.Token(l.env.Rand), start: time.Now(), handover: max(req.TTL/handoverPart, time.Millisecond)}
	if req.Wait == 0 {
		hold, err := l.ask(ctx, r)
		if err != nil && !errors.Is(err, impls.ErrBusy) {
			_ = l.withdraw(ctx, r) // err stays indeterminate: the acquire may reach the server after the release that withdraw sends
		}
		return hold, err
	}
	patient, limit, done := waiting.Timeouts(ctx, req.Wait)
	defer done()
	if l.life.Err() != nil {
		return impls.Hold{}, fmt.Errorf("%w: nothing was requested: %w", impls.ErrBusy, impls.ErrClosed)
	}
	l.listen()
	r.place = l.id + " " + tenDigits(r.handover)
	var leave func()
	r.waiter, leave = l.join(r.token)
	defer leave()
	return l.wait(patient, limit, r)
}

// tenDigits formats a duration in milliseconds with exactly ten digits, as the scripts require. The maximum is
// 9,999,999,999 ms, about 115 days.
func tenDigits(lease time.Duration) string {
	ms := strconv.FormatInt(min(lease.Milliseconds(), 9_999_999_999), 10)
	return "0000000000"[len(ms):] + ms
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
		if r.last, err = strconv.ParseInt(bearer, 10, 64); err != nil {
			return impls.Hold{}, fmt.Errorf("parse the answer to an acquire: %w", err)
		}
		r.lookIn = lookIn(r.TTL, time.Duration(number)*time.Millisecond)
		return impls.Hold{}, impls.ErrBusy
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

// mine returns the token of the owner's hold in this process, or "" if there is no hold.
func (l *fencedLock) mine(key, owner string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.last[ownedKey{key, owner}]; h != nil {
		return h.Grant.Token
	}
	return ""
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
		h = lease.New(l.life, g, r.TTL, r.start)
		h.Confirm(sent, g.Validity)
		l.held[g.Token], l.last[ownedKey{g.Key, g.Owner}] = h, h
		next := sent.Add(g.Validity / 3)
		h.Wake(next, func() {
			l.running.Do(func() {
				h.LookAfter(l.env, next, func(ctx context.Context) error { return l.renew(ctx, h) })
				l.mu.Lock()
				defer l.mu.Unlock()
				l.drop(h) // a later Release then asks the server whether the hold still exists
			})
		})
	}
	h.Depth++
	return impls.Hold{Grant: g, Lost: h.Lost}
}

func (l *fencedLock) renew(ctx context.Context, h *lease.Lease) error {
	return released(fencedRenew.Run(ctx, l.UniversalClient, l.keys(h.Grant.Key), h.Grant.Token, tenDigits(h.TTL)).Int64())
}

// drop removes a hold from the lock's maps. The caller must hold mu.
func (l *fencedLock) drop(h *lease.Lease) {
	if l.held[h.Grant.Token] == h {
		delete(l.held, h.Grant.Token)
	}
	if of := (ownedKey{h.Grant.Key, h.Grant.Owner}); l.last[of] == h {
		delete(l.last, of)
	}
}

// withdraw removes the request from the queue, and releases the lock if it was granted meanwhile. It does so even if the
// caller's context has ended. If withdraw returns nil, the request has no further effect.
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

// unexpected handles a grant message if no waiter has the token. It releases the grant unless this process has the hold or is
// releasing it. The message may arrive that late if the waiter has the grant from the reply to a repeated request. A second release
// could reach the server first, and the caller's own release would then be refused.
func (l *fencedLock) unexpected(key, token string) {
	l.mu.Lock()
	mine := l.held[token] != nil || l.releasing[token]
	l.mu.Unlock()
	if mine {
		return
	}
	l.running.Go(func() {
		ctx, cancel := context.WithTimeout(l.life, waiting.WithdrawTimeout)
		defer cancel()
		_ = l.release(ctx, key, token, "") // if the release fails, the grant expires
	})
}

// Release stops the renewals and then releases the hold. After an indeterminate error, Release repeats the request once. If
// the repeated request finds no hold although the lease has not expired, the first request succeeded. The release of a
// nested hold is not repeated, because the repetition might free the outer hold.
func (l *fencedLock) Release(ctx context.Context, g impls.Grant) error {
	l.mu.Lock()
	h := l.held[g.Token]
	if h != nil {
		h.Depth--
	}
	last := h != nil && h.Depth == 0
	if last {
		l.drop(h)
		l.releasing[g.Token] = true
	}
	l.mu.Unlock()
	if last {
		defer l.endRelease(g.Token)
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

// endRelease records that the release of a token is no longer in flight.
func (l *fencedLock) endRelease(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.releasing, token)
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

// Probe returns the token of the holder and the remaining lease. It reads the server's time before the lock's record, so a
// renewal between the two reads does no harm.
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
	err := l.listener.close() // also cancels the context of every lease
	l.running.Close()
	return errors.Join(err, l.UniversalClient.Close())
}
