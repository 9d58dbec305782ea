package shop

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"lockbench/histories"
)

// shortest is the minimum duration of a recorded hold.
const shortest = time.Microsecond

// account converts a service's answer to an order into operations for the history. An order is a buyer's attempt to buy an
// item. The offset between the service's clock and the clock of the history is known only within bounds. The recorded times
// are chosen so that a recorded hold is never longer than the real hold. If the bounds leave no time for a hold, the acquire
// is recorded with an unknown outcome, without a release.
type account struct {
	bounds
	sent, received time.Duration // times at which the request was sent and its answer was received
	hold           func() int64  // returns a new hold number
	ops            []histories.Op
	last           time.Duration // end time of the last operation
	number         int64         // number that identifies the current hold in the history
	unplaced       int           // number of holds that could not be recorded because the clock offset is too uncertain
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

// earliestTime converts a time on the service's clock to a time in the history. It returns the earliest possible one.
func (a *account) earliestTime(at time.Duration) time.Duration { return max(a.sent, a.earliest+at) }

// latestTime converts a time on the service's clock to a time in the history. It returns the latest possible one.
func (a *account) latestTime(at time.Duration) time.Duration { return min(a.received, a.latest+at) }

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
			end = min(end, a.earliestTime(s.Called))
		}
	}
	room := time.Duration(2*len(inside) + 2) // minimum duration of the hold: 1 ns for each operation and for each gap between operations
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
			a.add(a.op(s, end, max(end, a.latestTime(s.Returned))))
		case s.Kind == histories.Lost && placed:
			a.ops = append(a.ops, a.op(s, end, end)) // the loss may overlap other operations of the client
		case s.Kind != histories.Release && s.Kind != histories.Lost:
			latest := end - time.Duration(2*(len(inside)-i))
			call := min(max(a.last+1, a.earliestTime(s.Called)), latest)
			a.add(a.op(s, call, min(max(call, a.latestTime(s.Returned)), latest)))
		}
	}
}

// acquire returns the history operation for an acquire. The recorded request time may be later than the actual one. The
// lease validity is then shortened by the difference. Thus the recorded lease does not end too late.
func (a *account) acquire(s Step) histories.Op {
	sent := a.earliestTime(s.Called) + s.SentAfter
	op := a.op(s, max(a.last+1, a.earliestTime(s.Called)), a.latestTime(s.Returned))
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

// clocks holds bounds on the time at which each service's clock started, in history time. A request is sent before the
// service reads it, and answered before the answer is received. So each request can narrow the bounds. All clocks are
// assumed to run at the same rate.
type clocks struct {
	mu sync.Mutex
	of map[int]bounds // bounds by process number
}

type bounds struct{ earliest, latest time.Duration }

func newClocks() *clocks { return &clocks{of: map[int]bounds{}} }

// learn narrows the bounds on the offset between a service's clock and the clock of the history, and returns them. It
// uses the times at which a request was sent and its answer was received.
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

// Figures holds the results of a sale. It is stored as shop.json.
type Figures struct {
	Form      string        `json:"form"` // name of the shop workload
	Processes int           `json:"processes"`
	Buyers    int           `json:"buyers"`
	Segments  int           `json:"segments"` // number of segments of the stock; 1 if it is not split
	Hold      time.Duration `json:"hold_ns"`  // duration of the simulated work under the lock for each order

	Stock   int     `json:"stock"`
	Sold    int     `json:"sold"`
	Left    int64   `json:"left"`                // remaining stock
	Refused int     `json:"refused"`             // number of orders with the answer "sold out"
	Busy    int     `json:"busy"`                // orders that failed because the lock was not granted in time, or was lost
	Unknown int     `json:"unknown"`             // orders with an unknown result
	Seconds float64 `json:"seconds_to_sell_out"` // time from the start of the sale to the last sold order; 0 if nothing was sold
	Goodput float64 `json:"goodput_per_second"`  // successful orders per second, from the start of the sale to the last successful order
	P50     int64   `json:"order_p50_ns"`        // median duration of a successful order
	P99     int64   `json:"order_p99_ns"`
	Late    int     `json:"late"`                 // number of orders sent after the sell-out
	Reached int     `json:"late_reached_service"` // number of these late orders that reached a service
	LateP50 int64   `json:"late_p50_ns"`

	LockCommands  *float64 `json:"lock_commands_per_order"`  // commands that the lock's servers executed until the sell-out, per successful order; null if not counted
	StockCommands *float64 `json:"stock_commands_per_order"` // commands that the Redis server with the stock executed until the sell-out, per successful order
	Unplaced      int      `json:"unplaced_holds"`           // holds that could not be recorded because the clock offset is too uncertain
}

// Figures returns the results of the sale. The fields Form, Left and the command counts remain unset.
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

func percentile(times []time.Duration, rank float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[max(0, int(math.Ceil(rank*float64(len(sorted))))-1)]
}
