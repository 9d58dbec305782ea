package redis

import (
	"context"
	"errors"
	"time"

	"lockbench/impls"
	"lockbench/impls/waiting"
)

// withdraw removes the request from the queue, and releases the lock if it was granted meanwhile. It does so even if the
// caller's context has ended. If withdraw returns nil, the request has no further effect.
func (l *fencedLock) withdraw(ctx context.Context, r *request) error {
	ctx, cancel := waiting.Detached(ctx, waiting.WithdrawTimeout)
	defer cancel()
	if err := l.release(ctx, r.Key, r.token, r.entry); err != nil && !errors.Is(err, impls.ErrNotHeld) {
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
// nested hold is not repeated, because the repetition might free the outer hold, and neither is that of a lost hold.
func (l *fencedLock) Release(ctx context.Context, g impls.Grant) error {
	l.mu.Lock()
	h := l.held[g.Token]
	if h != nil {
		h.Depth--
	}
	last := h != nil && h.Depth == 0
	if last {
		delete(l.held, g.Token)
		l.forget(h)
		l.releasing[g.Token] = true
	}
	l.mu.Unlock()
	if last {
		defer l.endRelease(g.Token)
		last = h.End() // false: the hold was lost
	}
	err := l.free(ctx, g, last && g.Depth <= 1)
	if !last || g.Depth > 1 || err == nil || errors.Is(err, impls.ErrNotHeld) || ctx.Err() != nil {
		return err
	}
	again := l.release(ctx, g.Key, g.Token, "")
	if errors.Is(again, impls.ErrNotHeld) && !h.ExpiredBy(time.Now()) {
		return nil
	}
	return again
}

// free deletes the key of a hold, or hands the lock over if other clients wait. The parameter outermost reports that only another
// client can have changed what the server stores for the hold.
func (l *fencedLock) free(ctx context.Context, g impls.Grant, outermost bool) error {
	if outermost && !l.taken.has(g.Key) {
		deleted, err := compareAndDelete.Run(ctx, l.sender, []string{l.Key(g.Key)}, unawaited(g.Token, g.Owner)).Int64()
		if err != nil || deleted > 0 {
			return err
		}
		l.taken.note(g.Key, true)
	}
	return l.release(ctx, g.Key, g.Token, "")
}

// endRelease records that the release of a token is no longer in flight.
func (l *fencedLock) endRelease(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.releasing, token)
}

func (l *fencedLock) release(ctx context.Context, key, token, entry string) error {
	return released(fencedRelease.Run(ctx, l.sender, l.keys(key), token, l.fences.mint, entry, l.names).Int64())
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
