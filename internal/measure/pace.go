package measure

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/internal/drive/trial"
	"lockbench/internal/world/servers"
	"lockbench/reports/bench"
	"lockbench/reports/figures"
)

const (
	slice        = 50 * time.Millisecond // of the warm-up, in which grants are counted
	shortWarmUp  = 2 * slice
	longWarmUp   = time.Second
	steadyWithin = 0.1 // of each other are the rates of two slices when nothing warms up any more
	chance       = 3.0 // standard deviations of a count are no difference
)

// pace is a trial's: it lets the rate settle, and then measures for as long as the point says.
type pace struct {
	meter
	clients int
	window  time.Duration
	wakes   bool // the lock's waiters are woken

	before, after reading
	warmup        time.Duration
	steady        bool
	err           error // of the readings
}

// run returns when the window is over, or its context.
func (p *pace) run(ctx context.Context, r trial.Running) {
	begun := time.Now()
	p.steady = p.warm(ctx, r)
	p.warmup = time.Since(begun)
	if p.before, p.err = p.read(ctx, r); p.err != nil {
		return
	}
	wait(ctx, p.window)
	p.after, p.err = p.read(context.WithoutCancel(ctx), r)
}

// warm returns when two slices in a row had the same rate and every client has had its turn, as far as one can tell from
// how many grants there were; false: that did not come about within the time that there is for it.
func (p *pace) warm(ctx context.Context, r trial.Running) bool {
	begun, last, before := time.Now(), r.Granted.Load(), int64(-1)
	for time.Since(begun) < longWarmUp+time.Duration(p.clients)*2*time.Millisecond {
		if !wait(ctx, slice) {
			return false
		}
		now := r.Granted.Load()
		n := now - last
		if before >= 0 && time.Since(begun) >= shortWarmUp && now >= int64(p.clients) && alike(before, n) {
			return true
		}
		last, before = now, n
	}
	return false
}

// alike tells whether two counts may be of the same rate.
func alike(a, b int64) bool {
	diff, mean := float64(max(a-b, b-a)), float64(a+b)/2
	return mean > 0 && (diff <= steadyWithin*mean || diff*diff <= chance*chance*2*mean)
}

// wait tells whether the time was over before the context.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

const (
	mostSlices   = 50
	shortestTime = 10 * time.Millisecond // of a slice
	firstEdge    = 8 * time.Microsecond
	edges        = 44 // half octaves: up to about half a minute
)

// timeline spreads the acquires that were granted over time and latency.
type timeline struct {
	clients int32
	slice   time.Duration
	edges   []int64
	counts  [][]int
}

// newTimeline is for a trial that lasts about so long.
func newTimeline(clients int, length time.Duration) *timeline {
	t := &timeline{clients: int32(clients), slice: max(shortestTime, length/mostSlices)}
	for e := range edges {
		edge := int64(firstEdge) << (e / 2)
		if e%2 == 1 {
			edge = edge * 181 / 128 // the square root of 2, about
		}
		t.edges = append(t.edges, edge)
	}
	t.edges[0] = 0
	return t
}

func (t *timeline) visit(ev histories.Event) {
	op := ev.Op
	if op.Kind != histories.Acquire || !ev.Return || op.Outcome != histories.OK || op.Client < 0 || op.Client >= t.clients {
		return
	}
	row := len(t.edges) - 1
	for row > 0 && t.edges[row] > int64(op.Return-op.Due) {
		row--
	}
	for i := int(op.Return / t.slice); i >= len(t.counts); {
		t.counts = append(t.counts, make([]int, len(t.edges)))
	}
	t.counts[op.Return/t.slice][row]++
}

// timeline is what is kept: rows that nothing ever fell into, at either end, are not.
func (t *timeline) timeline(v *checker.Verdict) *bench.Timeline {
	low, high := len(t.edges), 0
	for _, counts := range t.counts {
		for row, n := range counts {
			if n > 0 {
				low, high = min(low, row), max(high, row)
			}
		}
	}
	if low > high {
		return nil
	}
	out := &bench.Timeline{SliceNS: int64(t.slice), Edges: t.edges[low:min(high+2, len(t.edges))]} // with the upper one of the last row
	for _, counts := range t.counts {
		out.Counts = append(out.Counts, counts[low:high+1])
	}
	for _, f := range v.Faults {
		to := f.To
		if to == histories.StillOpen {
			to = v.Until
		}
		if f.Effective {
			out.Faults = append(out.Faults, bench.Episode{Name: f.Name, FromNS: int64(f.From), ToNS: int64(to)})
		}
	}
	return out
}

// Floors are what is measured beside locks, without a record: there is nothing to judge.

// pingFor is how long a store is asked, after a tenth of that which does not count.
const pingFor = 100 * time.Millisecond

// ping measures the round trip of a store whose servers nobody else uses meanwhile.
func ping(ctx context.Context, g *servers.Group, store string, t *bench.Trial) error {
	p, err := openPinger(store, g.Front())
	if err != nil {
		return err
	}
	defer p.close()
	h := figures.NewHistogram()
	for begun := time.Now(); time.Since(begun) < pingFor*11/10; {
		start := time.Now()
		asking, cancel := context.WithTimeout(ctx, askWithin)
		err := p.ask(asking)
		cancel()
		if err != nil {
			return fmt.Errorf("a round trip to %s: %w", store, err)
		}
		if took := time.Since(start); time.Since(begun) > pingFor/10 {
			_ = h.RecordValue(int64(took)) // one of more than an hour would not be waited for
		}
	}
	t.WarmupNS, t.MeasuredNS, t.Steady = int64(pingFor/10), int64(pingFor), true
	t.Figures = bench.Figures{}
	percentiles(t.Figures, "round_trip", h)
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	t.Curves = bench.Curves{"round-trip": string(text)}
	return err
}

// bareScript is the release that set-px-lua has too.
const bareScript = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`

// bare is what two commands in a loop come to where nobody contends: what a lock of one Redis that is recorded and judged
// can at most reach. Each client has a key of its own; clients share as many connections' pools as there are processes.
func bare(ctx context.Context, g *servers.Group, prefix string, point bench.Point, i idle, t *bench.Trial) error {
	if point.Contended() {
		return errors.New("a loop without waiting stands for nothing where clients contend")
	}
	opts, err := redis.ParseURL(g.Front()[0])
	if err != nil {
		return errURL
	}
	opts.PoolSize = point.Clients
	n := &network{}
	opts.Dialer = n.dial
	var clients []*redis.Client
	for range point.Processes {
		c := redis.NewClient(opts)
		defer c.Close()
		clients = append(clients, c)
	}
	loops := &loops{script: redis.NewScript(bareScript), hold: time.Duration(point.HoldNS), ttl: time.Duration(point.TTLNS)}
	all, running := errgroup.WithContext(ctx)
	for c := range point.Clients {
		all.Go(func() error {
			return loops.run(running, clients[c%len(clients)], fmt.Sprintf("%s%d", prefix, c), fmt.Sprint("c", c))
		})
	}
	p := &pace{meter: meter{network: n}, clients: point.Clients, window: time.Duration(point.DurationNS)}
	begun := time.Now()
	p.run(ctx, trial.Running{Since: func() time.Duration { return time.Since(begun) }, Granted: &loops.done, Group: g})
	loops.over.Store(true)
	if err := errors.Join(all.Wait(), p.err, ctx.Err()); err != nil {
		return err
	}
	sections := float64(p.after.granted - p.before.granted)
	t.WarmupNS, t.MeasuredNS, t.Steady = int64(p.warmup), int64(p.after.at-p.before.at), p.steady
	t.Figures = bench.Figures{"goodput": sections / (p.after.at - p.before.at).Seconds()}
	counted(t.Figures, p.before, p.after, i, sections)
	t.Curves = bench.Curves{}
	return nil
}

// loops take and release, and count.
type loops struct {
	script    *redis.Script
	hold, ttl time.Duration
	done      atomic.Int64
	over      atomic.Bool
}

func (l *loops) run(ctx context.Context, c *redis.Client, key, token string) error {
	for !l.over.Load() {
		took, err := c.SetNX(ctx, key, token, l.ttl).Result()
		if err != nil {
			return err
		}
		if !took {
			return errors.New("somebody else has the key")
		}
		if l.hold > 0 {
			time.Sleep(l.hold)
		}
		if err := l.script.Run(ctx, c, []string{key}, token).Err(); err != nil {
			return err
		}
		l.done.Add(1)
	}
	return nil
}
