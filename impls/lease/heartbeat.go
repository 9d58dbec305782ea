package lease

import (
	"context"
	"time"
)

// heartbeat looks after a hold whose session has no lease: only a ping finds out that the session has ended.
type heartbeat struct {
	ping     func(context.Context) error
	period   time.Duration
	life     context.Context // of a ping under way
	cut      context.CancelFunc
	lost     chan struct{} // closed when the session is known to be over, or not known to be there
	released chan struct{}
	done     chan struct{} // closed when run has returned
	intact   bool          // it returned because of the release
}

func newHeartbeat(life context.Context, period time.Duration, ping func(context.Context) error) *heartbeat {
	h := &heartbeat{ping: ping, period: period, lost: make(chan struct{}), released: make(chan struct{}), done: make(chan struct{})}
	h.life, h.cut = context.WithCancel(life)
	return h
}

// run pings three times in each period. If a ping fails, or has no answer within the rest of the period, the hold is lost. Its
// session is left until the holder has released it, or has had a period to learn of the loss: else the next would be granted
// before.
func (h *heartbeat) run() bool {
	defer close(h.done)
	defer h.cut()
	tick := time.NewTicker(h.period / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-h.released:
			h.intact = true
			return false
		case <-h.life.Done():
			return true
		}
		ctx, cancel := context.WithTimeout(h.life, h.period*2/3)
		err := h.ping(ctx)
		cancel()
		if err != nil {
			close(h.lost)
			select {
			case <-time.After(h.period):
			case <-h.released:
			case <-h.life.Done():
			}
			return true
		}
	}
}

// release waits for a ping under way, unless the context is over: to cut it off would end the session.
func (h *heartbeat) release(ctx context.Context) bool {
	close(h.released)
	defer context.AfterFunc(ctx, h.cut)()
	<-h.done
	return h.intact
}
