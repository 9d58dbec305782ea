package workers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"lockbench/impls"
	"lockbench/impls/worker"
	"lockbench/workloads"
)

// Lock returns the lock that the process runs. The lock has the optional interfaces that the process announces.
func (p *Process) Lock() impls.Lock { return p.LockUnder("") }

// LockUnder is like Lock, but adds a prefix to the names of all keys. Trials in the same process use different prefixes.
// Thus one trial cannot affect the next.
func (p *Process) LockUnder(prefix string) impls.Lock {
	lock := remoteLock{p, prefix}
	var prober impls.Prober
	if p.Can(worker.CanProbe) {
		prober = lock
	}
	var splits impls.Segmenter
	if len(p.Ready.Segments) > 0 {
		splits = segments(p.Ready.Segments)
	}
	return impls.With(lock, prober, splits)
}

type (
	remoteLock struct {
		p      *Process
		prefix string
	}
	segments []string // suffixes of the keys of a segmented lock
)

func (l remoteLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	r := worker.Request{Do: "acquire", Key: l.prefix + req.Key, Owner: req.Owner, TTLMS: milliseconds(req.TTL),
		WaitMS: milliseconds(req.Wait), KeepAlive: req.KeepAlive}
	call := time.Now()
	line, err := l.p.call(ctx, r, req.Wait)
	if err = outcome(line, err); err != nil {
		l.p.refused(line.ID)
		return impls.Hold{Grant: impls.Grant{Key: strings.TrimPrefix(line.Key, l.prefix)}}, err
	}
	g := grantOf(r, line)
	g.Key = strings.TrimPrefix(g.Key, l.prefix)
	g.SentAfter = min(g.SentAfter, time.Since(call)) // the worker measured SentAfter; it must not exceed the elapsed time
	hold := impls.Hold{Grant: g}
	if h := l.p.granted(g); h != nil && l.p.Can(worker.CanTellLoss) {
		hold.Lost, hold.LostAfter = h.lost, h.lostAfter
	}
	return hold, nil
}

// milliseconds converts a duration to milliseconds. It rounds up, so that a short wait does not become 0. A negative
// duration means no limit and becomes -1.
func milliseconds(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

func grantOf(r worker.Request, l worker.Line) impls.Grant {
	return impls.Grant{Key: cmp.Or(l.Key, r.Key), Owner: r.Owner, Token: l.Token, Fence: l.Fence, Depth: l.Depth,
		SentAfter: time.Duration(l.SentAfter), Validity: time.Duration(l.Validity), Ref: l.ID}
}

func (l remoteLock) Release(ctx context.Context, g impls.Grant) error {
	l.p.released(g)
	err := outcome(l.p.call(ctx, l.holdRequest("release", g), 0))
	if err == nil || errors.Is(err, impls.ErrNotHeld) {
		l.p.freed(g)
	}
	return err
}

// holdRequest returns a request for the hold that the grant g created.
func (l remoteLock) holdRequest(do string, g impls.Grant) worker.Request {
	g.Key = l.prefix + g.Key
	return worker.RequestOn(do, g)
}

// Renew extends a grant. It returns an error if the worker process has not announced that it can renew.
func (l remoteLock) Renew(ctx context.Context, g impls.Grant) (impls.Grant, error) {
	if !l.p.Can(worker.CanRenew) {
		return g, fmt.Errorf("renew: the worker %s does not announce the capability %q", l.p.Ready.Name, worker.CanRenew)
	}
	call := time.Now()
	line, err := l.p.call(ctx, l.holdRequest("renew", g), 0)
	if err = outcome(line, err); err == nil {
		g.SentAfter, g.Validity = min(time.Duration(line.SentAfter), time.Since(call)), time.Duration(line.Validity)
	}
	return g, err
}

func (l remoteLock) Close() error { return l.p.Close() }

func (l remoteLock) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	line, err := l.p.call(ctx, worker.Request{Do: "probe", Key: l.prefix + key}, 0)
	return line.Token, time.Duration(line.Left), outcome(line, err)
}

func (s segments) Segments(key string) []string {
	var names []string
	for _, added := range s {
		names = append(names, key+added)
	}
	return names
}

var _ workloads.Resource = (*Process)(nil)

func (p *Process) Read(ctx context.Context, key string, fence int64) (int64, error) {
	line, err := p.call(ctx, worker.Request{Do: "read", Key: key, Fence: fence}, 0)
	return line.Value, outcome(line, err)
}

func (p *Process) Write(ctx context.Context, key string, value, fence int64) error {
	return outcome(p.call(ctx, worker.Request{Do: "write", Key: key, Fence: fence, Value: value}, 0))
}

// Append implements workloads.Resource.
func (p *Process) Append(ctx context.Context, key string, fence int64) error {
	return outcome(p.call(ctx, worker.Request{Do: "append", Key: key, Fence: fence}, 0))
}

// outcome returns the error that a worker's answer reports, or nil. If neither package impls nor package workloads
// defines the error, the request may have taken effect.
func outcome(l worker.Line, err error) error {
	switch {
	case err != nil:
		return err
	case l.OK:
		return nil
	case l.Refused == worker.Busy:
		return impls.ErrBusy
	case l.Refused == worker.NotHeld:
		return impls.ErrNotHeld
	case l.Refused == worker.Stale:
		return workloads.ErrStale
	case l.Refused != "":
		return errors.New("unknown refusal: " + l.Refused)
	}
	return errors.New(l.Error)
}

// holds maps the ID of each acquire request to its hold. A worker reports a renewal or loss with this ID. A refused
// acquire is removed at once. A released hold is kept for a while, because a report may arrive after the release.
type holds map[int64]*hold

type hold struct {
	asked time.Time
	grant impls.Grant
	known bool          // whether the caller has received the grant
	early []worker.Line // renewals that were reported before the grant
	over  bool          // whether the hold was released or lost
	freed bool          // whether the worker confirmed the release
	told  bool          // whether the worker has reported the loss of the hold
	lost  chan struct{}
	after atomic.Int64 // time from the acquire to the loss
}

// remembered is the number of requests after which a released or lost hold may be removed from a holds map. It
// bounds the size of the map.
const remembered = 1 << 16

func (h holds) begin(id int64) {
	h[id] = &hold{asked: time.Now(), lost: make(chan struct{})}
	if len(h) > 2*remembered {
		for old, is := range h {
			if is.over && old < id-remembered {
				delete(h, old)
			}
		}
	}
}

// lostAfter returns the time from the acquire to the loss. If the worker has not reported a loss, it returns the time
// since the acquire.
func (h *hold) lostAfter() time.Duration {
	select {
	case <-h.lost:
		return time.Duration(h.after.Load())
	default:
		return time.Since(h.asked)
	}
}

// Idle reports whether the process has no unanswered request and no hold. A process that Kill or Close ended is not idle.
func (p *Process) Idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.held {
		if !h.freed {
			return false
		}
	}
	return !p.ended && p.failed == nil && len(p.waiting) == 0 && len(p.given) == 0
}

// refused removes the record of a refused acquire. An unanswered acquire has ID 0. Its record is kept, because the
// worker may still grant the lock.
func (p *Process) refused(id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held, id)
}

func (p *Process) granted(g impls.Grant) *hold {
	p.mu.Lock()
	h := p.held[g.Ref]
	if h == nil {
		p.mu.Unlock()
		return nil
	}
	h.grant, h.known = g, true
	early := h.early
	h.early = nil
	p.mu.Unlock()
	for _, l := range early {
		p.tellRenewed(g, l)
	}
	return h
}

func (p *Process) tellRenewed(g impls.Grant, l worker.Line) {
	if p.renewed != nil {
		g.Validity = time.Duration(l.Validity)
		p.renewed(g, time.Duration(l.Elapsed), outcome(l, nil))
	}
}

func (p *Process) released(g impls.Grant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.held[g.Ref]; h != nil {
		h.over = true
	}
}

func (p *Process) freed(g impls.Grant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.held[g.Ref]; h != nil {
		h.freed = true
	}
}

// notice handles a worker's report of a renewal or a loss. It replaces a time in the future with the current time.
func (p *Process) notice(l worker.Line) {
	p.mu.Lock()
	h := p.held[l.Lost+l.Renewed] // a report sets either Lost or Renewed to the ID of the hold; the other is 0
	if h == nil {
		p.mu.Unlock()
		return
	}
	elapsed := min(time.Duration(l.Elapsed), time.Since(h.asked))
	if l.Lost != 0 && !h.told {
		h.told, h.over = true, true
		h.after.Store(int64(elapsed))
		close(h.lost)
	}
	l.Elapsed = int64(elapsed)
	grant, known := h.grant, h.known
	if l.Renewed != 0 && !known {
		h.early = append(h.early, l)
	}
	p.mu.Unlock()
	if l.Renewed != 0 && known {
		p.tellRenewed(grant, l)
	}
}
