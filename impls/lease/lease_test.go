package lease

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/impls"
)

// TestCancelledRenewalsAreReported checks that each renewal that was sent is reported, even if the hold ends before the
// reply. A renewal that was not sent must not be reported.
func TestCancelledRenewalsAreReported(t *testing.T) {
	const ttl = 900 * time.Millisecond
	refused, broken := fmt.Errorf("%w: it has expired", impls.ErrNotHeld), errors.New("connection reset")
	for name, c := range map[string]struct {
		released time.Duration // time from the acquire to the release
		answer   error         // result of the cancelled renewal
		told     error
		none     bool
	}{
		"released before the renewal was due": {released: ttl / 4, none: true},
		"confirmed at the release":            {released: ttl / 2},
		"refused at the release":              {released: ttl / 2, answer: refused, told: impls.ErrNotHeld},
		"unanswered at the release":           {released: ttl / 2, answer: context.Canceled, told: errUnanswered},
		"its connection broke":                {released: ttl / 2, answer: broken, told: errUnanswered},
		"unanswered when the lease expired": {released: 2 * ttl, answer: context.DeadlineExceeded,
			told: errUnanswered},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told []error
				env := impls.Env{Renewed: func(g impls.Grant, sent time.Duration, err error) {
					told = append(told, err)
					if sent != ttl/3 || g.Validity != ttl {
						t.Errorf("sent after %v for %v", sent, g.Validity)
					}
				}}
				renew := func(ctx context.Context) error {
					<-ctx.Done()
					return c.answer
				}
				h := New(t.Context(), impls.Grant{Token: "1"}, ttl, time.Now())
				h.Confirm(h.start, ttl)
				go h.LookAfter(env, h.start.Add(ttl/3), renew)
				time.Sleep(c.released)
				h.End()
				if c.none {
					if len(told) > 0 {
						t.Errorf("reported %v", told)
					}
				} else if len(told) != 1 || !errors.Is(told[0], c.told) {
					t.Errorf("reported %v, want one: %v", told, c.told)
				}
			})
		})
	}
}

// TestGrantedTooLate checks a grant that arrives after its lease has expired. The hold must be lost at once, and the loss
// must be reported only once.
func TestGrantedTooLate(t *testing.T) {
	const ttl = time.Second
	for late, lost := range map[time.Duration]bool{0: false, ttl / 2: false, ttl: true, 2 * ttl: true} {
		synctest.Test(t, func(t *testing.T) {
			asked := time.Now()
			h := New(t.Context(), impls.Grant{Key: "k"}, ttl, asked)
			time.Sleep(late)
			if !h.Confirm(asked, ttl) {
				t.Errorf("%v late: it had already ended", late)
			}
			select {
			case <-h.Lost:
				if !lost {
					t.Errorf("%v late: it is lost", late)
				}
			default:
				if lost {
					t.Errorf("%v late: it is not lost", late)
				}
			}
			close(h.done) // End waits until the renewal goroutine closes h.done; this test has no such goroutine, so it closes h.done itself
			h.End()
		})
	}
}
