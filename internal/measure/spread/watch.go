package spread

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"lockbench/internal/fleet"
	"lockbench/internal/fleet/clocks"
)

// watch reads the clocks of agents before, during and after a trial.
type watch struct {
	fleet *fleet.Coordinator
	names []string
	stop  context.CancelFunc
	work  sync.WaitGroup

	mu        sync.Mutex
	exchanges [][]clocks.Exchange // of each agent
}

// Interval between two exchanges with an agent: the shortest, and the least that each agent adds to it, so that many agents do not
// keep the coordinator busy.
const (
	exchangeInterval = 20 * time.Millisecond
	exchangeEach     = 2 * time.Millisecond
	leastExchanges   = 5
)

func newWatch(f *fleet.Coordinator, names []string) *watch {
	return &watch{fleet: f, names: names, exchanges: make([][]clocks.Exchange, len(names))}
}

// begin starts to read the clocks. It calls lost if an agent does not reply.
func (w *watch) begin(ctx context.Context, lost context.CancelCauseFunc) {
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	interval := max(exchangeInterval, time.Duration(len(w.names))*exchangeEach)
	for i, name := range w.names {
		w.work.Go(func() {
			for heard := time.Now(); ; {
				err := w.exchange(context.WithoutCancel(ctx), i)
				if err == nil {
					heard = time.Now()
				}
				if time.Since(heard) > silence || errors.Is(err, fleet.ErrSilent) {
					lost(fmt.Errorf("%w: agent %s does not reply", ErrDiscarded, name))
				}
				select {
				case <-time.After(interval):
				case <-ctx.Done():
					_ = w.exchange(context.WithoutCancel(ctx), i) // after the trial; without it, the bounds are only wider
					return
				}
			}
		})
	}
}

// exchange reads the clock of an agent once.
func (w *watch) exchange(ctx context.Context, i int) error {
	x, err := w.fleet.Exchange(ctx, w.names[i])
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.exchanges[i] = append(w.exchanges[i], x)
	return nil
}

func (w *watch) end() {
	w.stop()
	w.work.Wait()
}

// offset returns the bounds of an agent's clock.
func (w *watch) offset(i int) (*clocks.Offset, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return clocks.New(w.exchanges[i])
}

// remote returns what the clock of an agent probably shows at a local time. An error in it only makes the agent start early or late.
func (w *watch) remote(i int, local time.Duration) (time.Duration, error) {
	for tries := 0; w.count(i) < leastExchanges && tries < leastExchanges; tries++ {
		_ = w.exchange(context.Background(), i) // tried again
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.exchanges[i]) == 0 {
		return 0, fmt.Errorf("%w: the clock of agent %s cannot be read", ErrDiscarded, w.names[i])
	}
	best := slices.MinFunc(w.exchanges[i], func(a, b clocks.Exchange) int { return int(a.Received - a.Sent - b.Received + b.Sent) })
	return local - best.Sent - (best.Received-best.Sent)/2 + best.Read, nil
}

func (w *watch) count(i int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.exchanges[i])
}
