package workers

import (
	"sync/atomic"
	"time"

	"lockbench/impls"
	"lockbench/impls/worker"
)

// holds are the acquires of a process by their ids, for the notices that come of them. One that was refused
// is forgotten, and one that was given back a good while later, since it may be renewed after its release.
type holds map[int64]*hold

type hold struct {
	asked time.Time
	grant impls.Grant
	known bool          // the grant has been read
	early []worker.Line // renewals told before
	over  bool          // nobody waits for its loss any more
	told  bool          // that it is lost
	lost  chan struct{}
	after atomic.Int64 // of the loss, since the acquire
}

// remembered is how many requests ago the acquire of a hold that is over may lie to be known.
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

// lostAfter is the time from the acquire to the loss; to now, for a client that found it out before the lock.
func (h *hold) lostAfter() time.Duration {
	select {
	case <-h.lost:
		return time.Duration(h.after.Load())
	default:
		return time.Since(h.asked)
	}
}

// refused forgets an acquire without a grant. One without an answer has no id: it may be granted yet.
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

// notice takes in what happened by itself. It cannot have happened later than it is read, whatever it says.
func (p *Process) notice(l worker.Line) {
	p.mu.Lock()
	h := p.held[l.Lost+l.Renewed] // it is one of them
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
