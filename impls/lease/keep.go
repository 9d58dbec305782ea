package lease

import (
	"context"
	"time"

	"lockbench/impls"
)

// Renewal is how the lease of a session is prolonged.
type Renewal struct {
	Start, Sent time.Time     // of the acquire, and of the request that the lease counts from
	Lasts       time.Duration // as granted by the server
	Renew       func(context.Context) error
	Gone        <-chan struct{} // closed when the server has ended the session; nil: only Renew finds out
}

// Keep makes a grant a hold that lasts as long as the lease of its session, which is renewed.
func (l *Sessions[S]) Keep(s S, g impls.Grant, r Renewal) (impls.Hold, error) {
	g.SentAfter, g.Validity = r.Sent.Sub(r.Start), r.Lasts
	h := New(l.Life, g, r.Lasts, r.Start)
	h.Confirm(r.Sent, r.Lasts)
	run := func() bool {
		h.LookAfter(l.Env, r.Sent.Add(r.Lasts/3), r.Renew)
		return h.abandoned()
	}
	watch := func() {
		select {
		case <-r.Gone:
			h.lose()
		case <-h.ctx.Done():
		}
	}
	return l.keep(s, g, h.Lost, func(context.Context) bool { return h.End() }, run, watch)
}

// KeepOpen makes a grant a hold that lasts as long as its session, which is pinged three times in each period.
func (l *Sessions[S]) KeepOpen(s S, g impls.Grant, period time.Duration, ping func(context.Context) error) (impls.Hold, error) {
	g.Validity = impls.Unbounded
	h := newHeartbeat(l.Life, period, ping)
	return l.keep(s, g, h.lost, h.release, h.run)
}

// keep starts the goroutines that look after a hold. The session is dropped if run reports that it was not released.
func (l *Sessions[S]) keep(s S, g impls.Grant, lost <-chan struct{}, release func(context.Context) bool, run func() bool, also ...func()) (impls.Hold, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Life.Err() != nil {
		return impls.Hold{}, impls.ErrClosed
	}
	l.held[g.Token] = hold[S]{s, release}
	l.running.Go(func() {
		if run() {
			l.drop(s)
		}
	})
	for _, f := range also {
		l.running.Go(f)
	}
	return impls.Hold{Grant: g, Lost: lost}, nil
}
