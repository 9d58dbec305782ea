package shop

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"lockbench/histories"
)

// shortest is what must be left of a hold, after all that is uncertain was taken from it, for it to be recorded as one.
const shortest = time.Microsecond

// account is what a service did for a buyer, as operations of the history. A service tells times on its own clock, and
// when that began is known within bounds. A grant is recorded no earlier than it may have been read, and what ends the hold no
// later than it may have been sent, so a hold appears shorter than it was, if at all. Where nothing certain is left of it the
// acquire is recorded as unknown, and its release not at all: nothing can be said of such a hold, and nothing is.
type account struct {
	bounds
	sent, received time.Duration // of the request and its answer
	hold           func() int64  // numbers an acquire
	ops            []histories.Op
	last           time.Duration // the return of the last operation
	number         int64         // of the present hold
	unplaced       int           // holds of which nothing certain was left
}

func (a *account) tell(steps []Step) []histories.Op {
	a.last = a.sent
	for len(steps) > 0 {
		n := 1
		for n < len(steps) && steps[n].Kind != histories.Acquire {
			n++
		}
		a.one(steps[:n])
		steps = steps[n:]
	}
	return a.ops
}

// early is the earliest time of the history at which something may have happened, and late the latest.
func (a *account) early(at time.Duration) time.Duration { return max(a.sent, a.earliest+at) }
func (a *account) late(at time.Duration) time.Duration  { return min(a.received, a.latest+at) }

func (a *account) one(steps []Step) {
	a.number = a.hold()
	acquire, inside := a.acquire(steps[0]), steps[1:]
	if acquire.Outcome != histories.OK {
		a.add(acquire)
		return
	}
	end := a.received
	for _, s := range inside {
		if s.Kind == histories.Release || s.Kind == histories.Lost {
			end = min(end, a.early(s.Called))
		}
	}
	room := time.Duration(2*len(inside) + 2) // operations of one client are nanoseconds apart
	placed := a.earliest <= a.latest && end-acquire.Return >= max(shortest, room)
	if !placed {
		a.unplaced++
		acquire.Outcome, acquire.Error = histories.Unknown, "nothing certain is left of the hold"
		acquire.Return = max(a.last+2, min(acquire.Return, a.received-room))
		end = max(a.received, acquire.Return+room)
	}
	a.add(acquire)
	for i, s := range inside {
		switch {
		case s.Kind == histories.Release && placed:
			a.add(a.op(s, end, max(end, a.late(s.Returned))))
		case s.Kind == histories.Lost && placed:
			a.ops = append(a.ops, a.op(s, end, end)) // it runs beside the client's own operations
		case s.Kind != histories.Release && s.Kind != histories.Lost:
			latest := end - time.Duration(2*(len(inside)-i))
			call := min(max(a.last+1, a.early(s.Called)), latest)
			a.add(a.op(s, call, min(max(call, a.late(s.Returned)), latest)))
		}
	}
}

// acquire begins no earlier than what the client did before, and its promise no later than it was asked for.
func (a *account) acquire(s Step) histories.Op {
	sent := a.early(s.Called) + s.SentAfter
	op := a.op(s, max(a.last+1, a.early(s.Called)), a.late(s.Returned))
	op.Return = max(op.Return, op.Call)
	op.SentAfter, op.Validity, op.Depth, op.Fence = max(0, sent-op.Call), s.Validity, s.Depth, s.Fence
	if over := op.Call + op.SentAfter - sent; over > 0 && op.Validity > over {
		op.Validity -= over
	}
	return op
}

func (a *account) op(s Step, call, end time.Duration) histories.Op {
	return histories.Op{Kind: s.Kind, Outcome: s.Outcome, Key: s.Key, Hold: a.number, Value: s.Value, Error: s.Error, Call: call, Return: end}
}

func (a *account) add(op histories.Op) {
	a.ops = append(a.ops, op)
	a.last = op.Return
}

// clocks are what is known of when the services' clocks began, in the time of the history. Each request bounds it: a service
// read it no earlier than it was sent, and its answer was read no earlier than it was about to be sent. All of them run
// alike, since processes of one machine share its monotonic clock; so the tightest bounds of all requests hold for each.
type clocks struct {
	mu sync.Mutex
	of map[int]bounds // by process
}

type bounds struct{ earliest, latest time.Duration }

func newClocks() *clocks { return &clocks{of: map[int]bounds{}} }

// learn takes a request in, by when it was sent and its answer was read, and returns what is known of the service's clock.
func (c *clocks) learn(a *Answer, sent, received time.Duration) bounds {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, known := c.of[a.Process]
	now := bounds{sent - a.Read, received - a.Answered}
	if known {
		now = bounds{max(b.earliest, now.earliest), min(b.latest, now.latest)}
	}
	c.of[a.Process] = now
	return now
}

// Figures are shop.json: what a sale came to.
type Figures struct {
	Form      string        `json:"form"` // of the shop
	Processes int           `json:"processes"`
	Buyers    int           `json:"buyers"`
	Segments  int           `json:"segments"` // that the stock was split in; 1: it was not
	Hold      time.Duration `json:"hold_ns"`  // the work under the lock

	Stock   int     `json:"stock"`
	Sold    int     `json:"sold"`
	Left    int64   `json:"left"`                // of the stock, read at the end
	Refused int     `json:"refused"`             // orders that were answered "sold out"
	Busy    int     `json:"busy"`                // to which the lock was not granted in time
	Unknown int     `json:"unknown"`             // orders without a definite answer
	Seconds float64 `json:"seconds_to_sell_out"` // from the opening to the last order; 0: nothing was sold
	Goodput float64 `json:"goodput_per_second"`  // orders, until all was sold
	P50     int64   `json:"order_p50_ns"`        // of orders that were sold
	P99     int64   `json:"order_p99_ns"`
	Late    int     `json:"late"`                 // orders sent when all was sold
	Reached int     `json:"late_reached_service"` // of those, as the services counted them
	LateP50 int64   `json:"late_p50_ns"`

	LockCommands  *float64 `json:"lock_commands_per_order"`  // that the lock's servers executed until all was sold; null: they do not count
	StockCommands *float64 `json:"stock_commands_per_order"` // of the stock's Redis
	Unplaced      int      `json:"unplaced_holds"`           // of which nothing certain was left to record
}

// Figures are what the sale came to, but for what is read elsewhere: the form, the stock and what servers count.
func (s *Sale) Figures(ctx context.Context) (Figures, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.figures
	f := c.Figures
	f.Processes, f.Buyers, f.Hold, f.Stock = len(s.Services), len(s.clients), s.Params.Hold, s.Params.Stock
	f.P50, f.P99, f.LateP50 = int64(percentile(c.orders, 0.5)), int64(percentile(c.orders, 0.99)), int64(percentile(c.turned, 0.5))
	if f.Sold > 0 {
		f.Seconds = (c.ended - s.started).Seconds()
		f.Goodput = float64(f.Sold) / f.Seconds
	}
	for _, p := range s.Services {
		r, err := p.Reached(ctx)
		if err != nil {
			return f, err
		}
		f.Reached += r.Late
	}
	return f, nil
}

// percentile is the smallest time that so many of all are not above; 0 of none.
func percentile(times []time.Duration, rank float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[max(0, int(math.Ceil(rank*float64(len(sorted))))-1)]
}
