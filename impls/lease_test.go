package impls

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestRenewalsThatAreCutOffAreTold: what was sent and what became of it is told, also where the hold ended on the way;
// what was never sent is not.
func TestRenewalsThatAreCutOffAreTold(t *testing.T) {
	const ttl = 900 * time.Millisecond
	refused, broken := ErrExpired, errors.New("connection reset")
	for name, c := range map[string]struct {
		released time.Duration // after the acquire
		answer   error         // which comes as the renewal is given up on
		told     error
		none     bool
	}{
		"given back before it was due":      {released: ttl / 4, none: true},
		"confirmed as it was given back":    {released: ttl / 2},
		"refused as it was given back":      {released: ttl / 2, answer: refused, told: ErrNotHeld},
		"unanswered when it was given back": {released: ttl / 2, answer: context.Canceled, told: errUnanswered},
		"its connection broke":              {released: ttl / 2, answer: broken, told: errUnanswered},
		"unanswered when its lease was over": {released: 2 * ttl, answer: context.DeadlineExceeded,
			told: errUnanswered},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told []error
				env := Env{Renewed: func(g Grant, sent time.Duration, err error) {
					told = append(told, err)
					if sent != ttl/3 || g.Validity != ttl {
						t.Errorf("sent after %v for %v", sent, g.Validity)
					}
				}}
				renew := func(ctx context.Context) error {
					<-ctx.Done()
					return c.answer
				}
				h := newLease(t.Context(), Grant{Token: "1"}, ttl, time.Now())
				h.confirm(h.start, ttl)
				go h.lookAfter(env, h.start.Add(ttl/3), renew, func() {})
				time.Sleep(c.released)
				h.end()
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
			h := newLease(t.Context(), Grant{Key: "k"}, ttl, asked)
			time.Sleep(late)
			if !h.confirm(asked, ttl) {
				t.Errorf("%v late: it was over already", late)
			}
			select {
			case <-h.lost:
				if !lost {
					t.Errorf("%v late: it is lost", late)
				}
			default:
				if lost {
					t.Errorf("%v late: it is not lost", late)
				}
			}
			close(h.done) // nobody looks after it
			h.end()
		})
	}
}

// TestFirstInTheRow: of servers that do not answer, the first in the row is named, whoever is heard of first.
func TestFirstInTheRow(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		var v votes
		errs := []error{errors.New("a"), errors.New("b"), errors.New("c")}
		for _, at := range order {
			v.missed(answer{at: at, err: errs[at]})
		}
		if v.err != errs[0] {
			t.Errorf("%v: %v", order, v.err)
		}
	}
}
