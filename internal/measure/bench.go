package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"lockbench/impls"
	"lockbench/internal/drive/trial"
	"lockbench/internal/measure/spread"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/reports/bench"
	"lockbench/workloads"
)

// Bench runs a plan and writes the results to a folder.
type Bench struct {
	*Plan
	Dir     string
	Forget  bool                             // whether to remove the history of a trial after judging; a history with an unexpected violation is kept
	Setting trial.Setting                    // settings that all trials share
	Crew    *spread.Crew                     // agents that run the clients; nil: this process runs them
	Begin   func(p Progress)                 // function that is called before each trial
	End     func(p Progress, t *bench.Trial) // function that is called after each trial

	groups map[store]*servers.Group
	idle   map[store]idle          // background activity of each store's servers, measured once per block of trials
	trips  map[store]time.Duration // round-trip time of each store, measured once per block of trials
	begun  time.Time
	took   map[bench.Pair]time.Duration // duration of the last trial of each lock under each set of conditions, including overhead
}

// Progress describes the current trial of a bench.
type Progress struct {
	Subject, Point string
	Block, Blocks  int // number of the current block, from 1, and the expected number of blocks; a block has at most one trial of each lock under each set of conditions
	Left           time.Duration
	Granted        *atomic.Int64
}

// The constant fewest is the minimum number of trials required for confidence intervals and self-checks.
const fewest = bench.FewestBlocks

// Run measures one block of trials after another. A block has at most one trial of each planned combination of lock and
// conditions. Run ends after the planned number of blocks, or when all confidence intervals are narrow. It also ends
// when the budget is used up or when ctx is done. Run stores the reason in b.Stopped. It skips trials whose results are
// already in the folder, so it can resume an interrupted bench.
func (b *Bench) Run(ctx context.Context) (err error) {
	b.begun, b.groups, b.took = time.Now(), map[store]*servers.Group{}, map[bench.Pair]time.Duration{}
	defer func() {
		for _, s := range b.stores {
			if g := b.groups[s]; g != nil {
				err = errors.Join(err, g.Stop())
			}
		}
	}()
	for _, s := range b.stores {
		if err := b.start(ctx, s); err != nil {
			return err
		}
	}
	if err := bench.WritePlan(b.Dir, &b.Plan.Plan); err != nil {
		return err
	}
	for block := 0; ; block++ {
		todo, why, err := b.todo(block)
		if err != nil || why != "" {
			b.Stopped = why
			return err
		}
		if cut, err := b.block(ctx, block, todo); err != nil || cut != "" {
			b.Stopped = cut
			return err
		}
	}
}

// start starts the servers of a store, which all trials share.
func (b *Bench) start(ctx context.Context, s store) error {
	g, err := stores.Start(ctx, servers.Spec{How: b.Setting.Servers, Store: s.name, Deployment: s.deployment, Remote: b.Setting.Remote, Self: b.Setting.Self})
	if err != nil {
		return fmt.Errorf("servers for %s: %w", s, err)
	}
	b.groups[s] = g
	for i := range b.Subjects {
		if of := &b.Subjects[i]; of.Store == s.name && of.Deployment == s.deployment {
			of.Server, of.Durability = g.Server, g.Durability
		}
	}
	return nil
}

// todo returns the pairs of lock and conditions to measure in a block, or the reason to end the bench. After MinTrials
// blocks, the bench ends if every lock's confidence interval is narrow. After Trials blocks, todo returns only pairs with a
// wide interval, and the baselines. After MaxTrials blocks, the bench ends.
func (b *Bench) todo(block int) (pairs []bench.Pair, why string, err error) {
	if block < b.MinTrials {
		return b.Pairs, "", nil
	}
	r, err := bench.Read(b.Dir)
	if err != nil {
		return nil, "", err
	}
	wide := slices.DeleteFunc(slices.Clone(b.Pairs), func(p bench.Pair) bool { return b.narrow(r, p) })
	judged := slices.ContainsFunc(wide, func(p bench.Pair) bool { return b.Subjects[p.Subject].Role == bench.Lock })
	switch {
	case !judged:
		return nil, fmt.Sprintf("after %d blocks every interval is within %.0f %% of its median", block, 100*b.Narrow), nil
	case block < b.Trials:
		return b.Pairs, "", nil
	case block < b.MaxTrials:
		return b.withBaselines(wide), "", nil
	}
	return nil, fmt.Sprintf("after %d blocks, as planned", block), nil
}

// narrow reports whether a lock needs no more trials under one set of conditions. It returns true if the confidence
// interval of the goodput is narrow. It also returns true if the goodput was not measured or the lock is unsafe.
func (b *Bench) narrow(r *bench.Results, p bench.Pair) bool {
	row, ok := r.Row(b.Subjects[p.Subject].Name, b.Points[p.Point].ID)
	if !ok {
		return false
	}
	e, measured := row.Estimates["goodput"]
	switch {
	case row.Unsafe != nil || !measured:
		return true
	case e.Low == nil || e.High == nil || e.Median == 0:
		return false
	}
	return *e.High-*e.Low <= 2*b.Narrow*e.Median
}

// withBaselines adds the baselines to pairs of lock and conditions that are measured in one block. Locks are compared
// only with baselines of the same block, so each block needs the baselines.
func (b *Bench) withBaselines(pairs []bench.Pair) []bench.Pair {
	for _, p := range b.Pairs {
		if b.Subjects[p.Subject].Role == bench.Baseline {
			pairs = appendUnique(pairs, p)
		}
	}
	return pairs
}

// order returns pairs of lock and conditions in a random order that depends on the seed and the block number. Round-trip
// measurements come first, because other figures depend on them.
func (b *Bench) order(block int, pairs []bench.Pair) []bench.Pair {
	pairs = slices.Clone(pairs)
	r := rand.New(rand.NewPCG(b.Seed, uint64(block)))
	r.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	others := slices.DeleteFunc(slices.Clone(pairs), b.isPing)
	pings := slices.DeleteFunc(pairs, func(p bench.Pair) bool { return !b.isPing(p) })
	return append(pings, others...)
}

// block runs one trial of each pair of lock and conditions. It skips pairs whose results are already in the folder. If
// the time budget is used up, block stops and returns the reason as its first result.
func (b *Bench) block(ctx context.Context, block int, pairs []bench.Pair) (cut string, err error) {
	b.idle, b.trips = nil, map[store]time.Duration{}
	pairs = b.order(block, pairs)
	for order, p := range pairs {
		if t, err := bench.ReadTrial(b.Dir, b.folder(p, block)); err == nil {
			b.storeRoundTrip(b.Subjects[p.Subject], t)
			continue
		}
		if b.left() < b.took[p] && b.BudgetNS > 0 {
			return fmt.Sprintf("the budget of %s was used up in block %d", time.Duration(b.BudgetNS), block+1), nil
		}
		if err := cmp.Or(ctx.Err(), b.watchIdle(ctx)); err != nil {
			return "", err
		}
		if err := b.one(ctx, p, block, order, pairs[order:]); err != nil {
			return "", err
		}
	}
	return "", nil
}

// watchIdle measures the background activity of every server, unless this was already done in the current block of
// trials.
func (b *Bench) watchIdle(ctx context.Context) error {
	if b.idle != nil {
		return nil
	}
	b.idle = map[store]idle{}
	for _, s := range b.stores {
		var err error
		if b.idle[s], err = watchIdle(ctx, b.groups[s]); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bench) isPing(p bench.Pair) bool { return b.Points[p.Point].ID == pingPoint }

func (b *Bench) left() time.Duration { return time.Duration(b.BudgetNS) - time.Since(b.begun) }

// folder returns the slash-separated path of a trial within the bench folder.
func (b *Bench) folder(p bench.Pair, block int) string {
	return path.Join(b.Points[p.Point].ID, b.Subjects[p.Subject].Name, fmt.Sprintf("%03d", block+1))
}

func (b *Bench) one(ctx context.Context, p bench.Pair, block, order int, left []bench.Pair) error {
	subject, point, begun := b.Subjects[p.Subject], b.Points[p.Point], time.Now()
	t := &bench.Trial{Version: bench.Version, Dir: b.folder(p, block), Subject: subject.Name, Point: point.ID,
		Block: block, Order: order, Started: begun.UTC(), Seed: b.Seed + uint64(block)}
	now := Progress{Subject: subject.Name, Point: point.ID, Block: block + 1, Blocks: max(b.Trials, block+1), Left: b.estimate(block, left), Granted: new(atomic.Int64)}
	b.Begin(now)
	if err := os.MkdirAll(filepath.Join(b.Dir, filepath.FromSlash(t.Dir)), 0o755); err != nil {
		return err
	}
	err := b.measure(ctx, subject, point, t, now.Granted)
	if ctx.Err() != nil {
		return ctx.Err() // no result is stored, so --resume repeats the trial
	}
	if errors.Is(err, trial.ErrDiscarded) || errors.Is(err, spread.ErrDiscarded) {
		t.Discarded, err = err.Error(), nil
	}
	if err != nil {
		return fmt.Errorf("%s at %s: %w", subject.Name, point.ID, err)
	}
	b.storeRoundTrip(subject, t)
	b.took[p] = time.Since(begun)
	if err := bench.WriteTrial(b.Dir, t); err != nil {
		return err
	}
	b.End(now, t)
	return nil
}

// storeRoundTrip stores the round-trip time if t is a ping trial. Later trials on the same servers use this time.
func (b *Bench) storeRoundTrip(s bench.Subject, t *bench.Trial) {
	if t.Point == pingPoint {
		b.trips[store{s.Store, s.Deployment}] = time.Duration(t.Figures["round_trip_p50"] * 1e6)
	}
}

// estimate returns the expected remaining time of the bench: the trials left in the current block (parameter left), and
// all later blocks.
func (b *Bench) estimate(block int, left []bench.Pair) time.Duration {
	one := func(p bench.Pair) time.Duration {
		if d, ok := b.took[p]; ok {
			return d
		}
		return time.Duration(b.Points[p.Point].DurationNS) + trialOverhead
	}
	var sum time.Duration
	for _, p := range left {
		sum += one(p)
	}
	for _, p := range b.Pairs {
		sum += time.Duration(max(0, b.Trials-block-1)) * one(p)
	}
	if b.BudgetNS > 0 {
		sum = min(sum, b.left())
	}
	return sum
}

func (b *Bench) measure(ctx context.Context, s bench.Subject, point bench.Point, t *bench.Trial, granted *atomic.Int64) error {
	at := store{s.Store, s.Deployment}
	switch {
	case point.ID == pingPoint:
		return ping(ctx, b.groups[at], s.Store, t)
	case s.Lock == "":
		return bare(ctx, b.groups[at], servers.KeyPrefix(b.Setting.Run)+"bare:", point, b.idle[at], t)
	}
	c, setting := trial.Cell{Lock: b.locks[s.Name]}, b.setting(s, point, t)
	var err error
	if c.Workload, c.Fault, err = workloadAndFault(point.Workload, point.Fault); err != nil {
		return err
	}
	if s.Deployment != c.Lock.Deployment {
		c.Deployment = s.Deployment
	}
	if b.Crew != nil {
		return b.spread(ctx, c, setting, b.groups[at], duration(s.Params["delay"]), point, t, granted)
	}
	p := &pace{meter: meter{network: &network{delay: duration(s.Params["delay"])}, tally: &impls.Tally{}}, clients: point.Clients, window: time.Duration(point.DurationNS)}
	if point.Fault == "none" {
		p.wakes = c.Lock.Notifies || c.Lock.Session
		setting.Pace, setting.Dial, setting.Tally = p.run, p.network.dial, p.tally
		setting.Lend = func(context.Context, servers.Spec) (*servers.Group, func() error, error) {
			return b.groups[at], func() error { return nil }, nil
		}
	} else {
		p = nil // under a fault, the clients run in other processes, so their round trips and attempts cannot be counted here
	}
	out, err := setting.Try(ctx, c, filepath.Join(b.Dir, filepath.FromSlash(path.Dir(t.Dir))), t.Block, granted)
	if err != nil {
		return err
	}
	if err := measured(b.Dir, out, point, p, b.idle[at], b.trips[at], t); err != nil || !b.Forget || !t.Judged.AsExpected() {
		return err
	}
	file := filepath.Join(b.Dir, filepath.FromSlash(t.Judged.History))
	t.Judged.History = ""
	return os.Remove(file)
}

// setting returns the settings for trials of a subject (a lock or baseline) under one set of conditions.
func (b *Bench) setting(s bench.Subject, point bench.Point, t *bench.Trial) trial.Setting {
	setting := b.Setting
	setting.Trials = 1000 // a repeated trial has a folder number that is 1000 higher, so that no other trial uses the folder
	setting.LockParams = maps.Clone(s.Params)
	delete(setting.LockParams, "delay")
	delete(setting.LockParams, "stall")
	p := workloads.Defaults()
	p.Clients, p.Processes, p.Keys, p.Spread = point.Clients, point.Processes, point.Keys, workloads.Own
	p.Hold, p.Think, p.Wait, p.TTL = time.Duration(point.HoldNS), 0, time.Duration(point.WaitNS), time.Duration(point.TTLNS)
	p.Duration, p.Seed, p.Rate = time.Duration(point.DurationNS), b.Seed, point.Rate // setting.Try adds the block number to the seed
	_ = p.Arrivals.UnmarshalText([]byte(point.Arrivals))                             // no error is possible: the plan was checked
	p.Hiccup = duration(s.Params["stall"])
	setting.Params = p
	return setting
}

func duration(text string) time.Duration {
	d, _ := time.ParseDuration(text) // no error is possible: the text is empty or comes from NewPlan
	return d
}
