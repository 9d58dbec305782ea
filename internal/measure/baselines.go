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

	"lockbench/internal/drive/trial"
	"lockbench/internal/world/servers"
	"lockbench/reports/bench"
	"lockbench/reports/figures"
)

// The following code measures the baselines ping and bare. These baselines record no history.

// pingFor is the duration of the measurement in a ping trial, which measures round-trip times. A warm-up of a tenth of
// pingFor comes first.
const pingFor = 100 * time.Millisecond

// ping measures the round-trip time to a store that has no other load.
func ping(ctx context.Context, g *servers.Group, store string, t *bench.Trial) error {
	p, err := openPinger(store, g.Front())
	if err != nil {
		return err
	}
	defer p.close()
	ask := func() error {
		ctx, cancel := context.WithTimeout(ctx, askWithin)
		defer cancel()
		if err := p.ask(ctx); err != nil {
			return fmt.Errorf("a round trip to %s: %w", store, err)
		}
		return nil
	}
	if err := ask(); err != nil { // this request opens the connection, so its time is not recorded
		return err
	}
	h := figures.NewHistogram()
	recorded := int64(0) // number of recorded pings; the loop continues until there are enough for a median
	for begun := time.Now(); recorded < figures.SamplesFor(0.5) || time.Since(begun) < pingFor*11/10; {
		start := time.Now()
		if err := ask(); err != nil {
			return err
		}
		if took := time.Since(start); time.Since(begun) > pingFor/10 {
			_ = h.RecordValue(int64(took)) // RecordValue fails only if the round-trip time exceeds one hour
			recorded++
		}
	}
	t.WarmupNS, t.MeasuredNS, t.Steady = int64(pingFor/10), int64(pingFor), true
	t.Figures = bench.Figures{}
	percentiles(t.Figures, "round_trip", histogramOf(h))
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	t.Curves = bench.Curves{"round-trip": string(text)}
	return err
}

// bareScript is the release script of the lock set-px-lua.
const bareScript = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`

// bare measures a loop of two commands: SET NX PX, and a script that compares and deletes. Each client has a separate
// key. No lock on one Redis server can reach a higher goodput. The clients share point.Processes connection pools.
func bare(ctx context.Context, g *servers.Group, prefix string, point bench.Point, i idle, t *bench.Trial) error {
	if point.Contended() {
		return errors.New("bare needs a key for each client")
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
	p.counted(t.Figures, i, sections)
	t.Curves = bench.Curves{}
	return nil
}

// loops runs the clients of the baseline "bare", which acquire and release a key in a loop. It counts their grants.
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
			return errors.New("another client holds the key")
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
