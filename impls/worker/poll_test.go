package worker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/impls"
)

// TestPoll checks the duration of the wait, and the time of the granted try. Poll may report a definite refusal only if the
// last try was refused.
func TestPoll(t *testing.T) {
	broken := errors.New("the connection broke")
	for name, c := range map[string]struct {
		wait, cancel, granted time.Duration // cancel: time until the context is cancelled; granted: time until a try is granted; 0: never
		fails                 bool
		want                  error
		took                  time.Duration
	}{
		"once":            {want: impls.ErrBusy},
		"at once":         {wait: -1, granted: 1},
		"later":           {wait: -1, granted: 25 * time.Millisecond, took: 30 * time.Millisecond},
		"waited out":      {wait: 25 * time.Millisecond, want: impls.ErrBusy, took: 25 * time.Millisecond},
		"given up":        {wait: -1, cancel: 15 * time.Millisecond, want: impls.ErrBusy, took: 15 * time.Millisecond},
		"nobody knows":    {wait: -1, fails: true, want: broken},
		"at the last try": {wait: 25 * time.Millisecond, granted: 25 * time.Millisecond, took: 25 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.cancel > 0 {
					time.AfterFunc(c.cancel, cancel)
				}
				began := time.Now()
				h, err := Poll(ctx, impls.Request{Wait: c.wait}, 10*time.Millisecond, func() (impls.Grant, error) {
					switch {
					case c.fails:
						return impls.Grant{}, broken
					case c.granted > 0 && time.Since(began) >= c.granted-1:
						return impls.Grant{Token: "t"}, nil
					}
					return impls.Grant{}, impls.ErrBusy
				})
				if took := time.Since(began); !errors.Is(err, c.want) || took != c.took || err == nil && (h.Token != "t" || h.SentAfter != took) {
					t.Errorf("%+v, %v after %v", h.Grant, err, took)
				}
			})
		})
	}
}
