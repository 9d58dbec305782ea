package lease

import (
	"context"
	"lockbench/impls"
	"time"
)

// Renewal is how the lease of a session is prolonged.
type Renewal struct {
	Start, Sent time.Time     // of the acquire, and of the request that the lease counts from
	Lasts       time.Duration // as granted by the server
	Renew       func(context.Context) error
	Gone        <-chan struct{} // closed when the server has ended the session; nil: only Renew finds out
}

// leaseKeeper keeps the lease of a session.
type leaseKeeper struct {
	*Lease
	env impls.Env
	Renewal
}

func (k *leaseKeeper) run() bool {
	k.LookAfter(k.env, k.Sent.Add(k.Lasts/3), k.Renew)
	return k.abandoned()
}

func (k *leaseKeeper) release(context.Context) bool { return k.End() }

// Keep makes a grant a hold that lasts as long as the lease of its session, which is renewed.
func (l *Sessions[S]) Keep(s S, g impls.Grant, r Renewal) (impls.Hold, error) {
	g.SentAfter, g.Validity = r.Sent.Sub(r.Start), r.Lasts
	h := New(l.Life, g, r.Lasts, r.Start)
	return l.keep(s, g, h.Lost, &leaseKeeper{h, l.Env, r}, func() {
		h.Confirm(r.Sent, r.Lasts)
		if r.Gone == nil {
			return
		}
		l.running.Go(func() {
			select {
			case <-r.Gone:
				h.lose()
			case <-h.ctx.Done():
			}
		})
	})
}

// KeepOpen makes a grant a hold that lasts as long as its session, which is pinged three times in each period.
func (l *Sessions[S]) KeepOpen(s S, g impls.Grant, period time.Duration, ping func(context.Context) error) (impls.Hold, error) {
	g.Validity = impls.Unbounded
	h := &heartbeat{ping: ping, period: period, lost: make(chan struct{}), released: make(chan struct{}), done: make(chan struct{})}
	h.life, h.cut = context.WithCancel(l.Life)
	return l.keep(s, g, h.lost, h, func() {})
}

func (l *Sessions[S]) keep(s S, g impls.Grant, lost <-chan struct{}, k keeper, begin func()) (impls.Hold, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return impls.Hold{}, impls.ErrClosed
	}
	begin()
	l.held[g.Token] = hold[S]{k, s}
	l.running.Go(func() {
		if k.run() {
			l.drop(s)
		}
	})
	return impls.Hold{Grant: g, Lost: lost}, nil
}
