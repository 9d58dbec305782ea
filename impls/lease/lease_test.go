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

// TestRenewalsThatAreCutOffAreTold: what was sent and what became of it is told, also where the hold ended on the way;
// what was never sent is not.
func TestRenewalsThatAreCutOffAreTold(t *testing.T) {
	const ttl = 900 * time.Millisecond
	refused, broken := fmt.Errorf("%w: it has expired", impls.ErrNotHeld), errors.New("connection reset")
	for name, c := range map[string]struct {
		released time.Duration // after the acquire
		answer   error         // which comes as the renewal is given up on
		told     error
		none     bool
	}{
		"given back before it was due":      {released: ttl / 4, none: true},
		"confirmed as it was given back":    {released: ttl / 2},
		"refused as it was given back":      {released: ttl / 2, answer: refused, told: impls.ErrNotHeld},
		"unanswered when it was given back": {released: ttl / 2, answer: context.Canceled, told: errUnanswered},
		"its connection broke":              {released: ttl / 2, answer: broken, told: errUnanswered},
		"unanswered when its lease was over": {released: 2 * ttl, answer: context.DeadlineExceeded,
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
						t.Errorf("told of %v", told)
					}
				} else if len(told) != 1 || !errors.Is(told[0], c.told) {
					t.Errorf("told of %v, want one: %v", told, c.told)
				}
			})
		})
	}
}

// TestGrantedTooLate: what is over when it is granted is lost before anybody can ask for its renewal; ending it is no news.
func TestGrantedTooLate(t *testing.T) {
	const ttl = time.Second
	for late, lost := range map[time.Duration]bool{0: false, ttl / 2: false, ttl: true, 2 * ttl: true} {
		synctest.Test(t, func(t *testing.T) {
			asked := time.Now()
			h := New(t.Context(), impls.Grant{Key: "k"}, ttl, asked)
			time.Sleep(late)
			if !h.Confirm(asked, ttl) {
				t.Errorf("%v late: it was over already", late)
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
			close(h.done) // nobody looks after it
			h.End()
		})
	}
}
