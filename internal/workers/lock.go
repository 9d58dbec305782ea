package workers

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"lockbench/impls"
	"lockbench/impls/worker"
	"lockbench/workloads"
)

// Lock is the lock that lives in the process. What it can do beside the usual is what the process can.
func (p *Process) Lock() impls.Lock {
	switch {
	case len(p.Ready.Segments) > 0 && p.Can(worker.CanProbe):
		return splitLock{probedLock{remoteLock{p}}}
	case p.Can(worker.CanProbe):
		return probedLock{remoteLock{p}}
	}
	return remoteLock{p}
}

type (
	remoteLock struct{ p *Process }
	probedLock struct{ remoteLock }
	splitLock  struct{ probedLock }
)

var (
	_ impls.Lock      = remoteLock{}
	_ impls.Renewer   = remoteLock{}
	_ impls.Prober    = probedLock{}
	_ impls.Segmenter = splitLock{}
)

func (l remoteLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	r := worker.Request{Do: "acquire", Key: req.Key, Owner: req.Owner, TTLMS: req.TTL.Milliseconds(),
		WaitMS: req.Wait.Milliseconds(), KeepAlive: req.KeepAlive}
	within := req.Wait
	if req.Wait < 0 {
		r.WaitMS, within = -1, -1
	}
	line, err := l.p.call(ctx, r, within)
	if err = outcome(line, err); err != nil {
		return impls.Hold{Grant: impls.Grant{Key: line.Key}}, err
	}
	g := grantOf(r, line)
	hold := impls.Hold{Grant: g}
	if h := l.p.granted(g); h != nil && l.p.Can(worker.CanTellLoss) {
		hold.Lost, hold.LostAfter = h.lost, func() time.Duration { return time.Duration(h.after.Load()) }
	}
	return hold, nil
}

// grantOf is what an acquire was granted.
func grantOf(r worker.Request, l worker.Line) impls.Grant {
	g := impls.Grant{Key: l.Key, Owner: r.Owner, Token: l.Token, Fence: l.Fence, Depth: l.Depth,
		SentAfter: time.Duration(l.SentAfter), Validity: time.Duration(l.Validity), Ref: l.ID}
	if g.Key == "" {
		g.Key = r.Key
	}
	return g
}

func (l remoteLock) Release(ctx context.Context, g impls.Grant) error {
	return outcome(l.p.call(ctx, worker.RequestOn("release", g), 0))
}

// Renew extends a grant, where the process can.
func (l remoteLock) Renew(ctx context.Context, g impls.Grant) (impls.Grant, error) {
	line, err := l.p.call(ctx, worker.RequestOn("renew", g), 0)
	if err = outcome(line, err); err == nil {
		g.SentAfter, g.Validity = time.Duration(line.SentAfter), time.Duration(line.Validity)
	}
	return g, err
}

func (l remoteLock) Close() error { return l.p.Close() }

func (l probedLock) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	line, err := l.p.call(ctx, worker.Request{Do: "probe", Key: key}, 0)
	return line.Token, time.Duration(line.Left), outcome(line, err)
}

func (l splitLock) Segments(key string) []string {
	var names []string
	for _, s := range l.p.Ready.Segments {
		names = append(names, key+s)
	}
	return names
}

// The process is also the way to what the lock guards.
var _ workloads.Resource = (*Process)(nil)

func (p *Process) Read(ctx context.Context, key string, fence int64) (int64, error) {
	line, err := p.call(ctx, worker.Request{Do: "read", Key: key, Fence: fence}, 0)
	return line.Value, outcome(line, err)
}

func (p *Process) Write(ctx context.Context, key string, value, fence int64) error {
	return outcome(p.call(ctx, worker.Request{Do: "write", Key: key, Fence: fence, Value: value}, 0))
}

func (p *Process) Append(ctx context.Context, key string, fence int64) error {
	return outcome(p.call(ctx, worker.Request{Do: "append", Key: key, Fence: fence}, 0))
}

// outcome is a line as an error. What is neither ok nor one of the known refusals is indeterminate.
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
		return errors.New("refused for a reason that the protocol does not know: " + l.Refused)
	}
	return errors.New(l.Error)
}

// holds are the acquires of a process by their ids, for the notices that come of them. Those that ended
// long ago are forgotten.
type holds map[int64]*hold

type hold struct {
	grant impls.Grant
	known bool // the grant has been read
	lost  chan struct{}
	once  bool
	after atomic.Int64 // of the loss, since the acquire
}

// remembered is how many requests ago an acquire may lie to be known.
const remembered = 1 << 16

func (h holds) begin(id int64) {
	h[id] = &hold{lost: make(chan struct{})}
	if len(h) > 2*remembered {
		for old := range h {
			if old < id-remembered {
				delete(h, old)
			}
		}
	}
}

func (p *Process) granted(g impls.Grant) *hold {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.held[g.Ref]
	if h != nil {
		h.grant, h.known = g, true
	}
	return h
}

// notice takes in what happened by itself.
func (p *Process) notice(l worker.Line) {
	p.mu.Lock()
	h := p.held[l.Lost+l.Renewed]
	known := h != nil && h.known
	if h != nil && l.Lost != 0 && !h.once {
		h.once = true
		h.after.Store(l.Elapsed)
		close(h.lost)
	}
	p.mu.Unlock()
	if l.Renewed != 0 && known && p.renewed != nil {
		g := h.grant
		g.Validity = time.Duration(l.Validity)
		p.renewed(g, time.Duration(l.Elapsed), outcome(l, nil))
	}
}
