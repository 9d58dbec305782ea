// Package waiting holds how locks wait: for their turn, for answers, and for their own clean-up.
package waiting

import (
	"context"
	"time"
)

const (
	// CommandTimeout bounds a command whose context does not. It is generous: a command that is given up is
	// indeterminate, and a slow machine must not look like a broken lock.
	CommandTimeout = 5 * time.Second
	// AnswerGrace is how long a command may still take after a waiter's time is over: one that is cut off is
	// indeterminate.
	AnswerGrace = 50 * time.Millisecond
	// WithdrawTimeout bounds the clean-up of an abandoned acquire.
	WithdrawTimeout = time.Second
	// CloseTimeout bounds how long Close waits for a lock's goroutines, whose connections are closed by then.
	CloseTimeout = 2 * time.Second
	// FirstPause and LongestPause bound the pauses between two attempts.
	FirstPause   = time.Millisecond
	LongestPause = 50 * time.Millisecond
)

// Limit bounds a context by a request's wait, if that is positive.
func Limit(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if wait <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, wait)
}

// Patience returns a context that ends when a waiter is to give up, and one that ends AnswerGrace later, so that the
// answer to a command in flight is still read.
func Patience(ctx context.Context, wait time.Duration) (patient, limit context.Context, done func()) {
	if wait <= 0 {
		return ctx, ctx, func() {}
	}
	patient, giveUp := context.WithTimeout(ctx, wait)
	limit, cancel := context.WithTimeout(ctx, wait+AnswerGrace)
	return patient, limit, func() { giveUp(); cancel() }
}

// Detached bounds clean-up that is done even if the caller's context is over.
func Detached(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), timeout)
}
