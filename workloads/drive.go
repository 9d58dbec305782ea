package workloads

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/histories"
	"lockbench/impls"
)

// Drive holds the configuration of one run of a workload.
type Drive struct {
	Workload  Workload
	Params    Params
	Processes []Process
	Fresh     Process // additional process without workload clients, for the initial writes and the final checks
	Director  Director
	Recorder  *histories.Recorder
	Watch     *Watch        // receives the renewals that locks report to Env.Renewed
	Renews    bool          // the lock renews its leases automatically
	Granted   *atomic.Int64 // number of grants so far, for a progress display
	// Pace blocks until no more iterations may start, or until its context ends. If Pace is nil, iterations start during
	// Params.Duration.
	Pace func(context.Context)

	Unique     bool    // the lock must give each grant a different token
	Rereleases bool    // a release with an unknown outcome is repeated
	Suits      []Habit // habits that suit the lock, for the workload varied

	longest atomic.Int64 // longest validity of a grant, in nanoseconds; 0 if no grant has a lease
	names   []string     // names of the keys
}

// Logs returns the number of logs that a recorder needs: one for each client, and one for the final checks.
func (p *Params) Logs() int { return p.Clients + 1 }

// usualGrace is added to the lease and the timeout of an acquire to get the time after which unfinished operations are
// cancelled. It is longer than the time within which an operation must return (property responsive).
const usualGrace = 1500 * time.Millisecond

// interruptedGrace is the time that clients have to finish their operations after an interrupt.
const interruptedGrace = 2 * time.Second

// Run runs the clients for the configured duration, or until ctx ends. Started iterations may finish, because cancelling them
// would make their outcomes unknown. After Params.Grace (2 s if ctx ended), unfinished iterations are cancelled.
func (d *Drive) Run(ctx context.Context) {
	d.WriteInitial()
	stop, stopNow := d.paced(ctx)
	defer stopNow()
	ops, cut := childContexts(context.WithoutCancel(ctx), d.Params.Clients)
	defer cut()
	over := make(chan any, 1)
	go func() { over <- d.clients(stop, ops, stopNow); stopNow() }()
	<-stop.Done()
	grace := d.Params.Grace
	if grace == 0 {
		grace = d.Params.TTL + d.Params.Wait + usualGrace
	}
	if ctx.Err() != nil {
		grace = interruptedGrace
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	var panicked any
	select {
	case panicked = <-over:
	case <-t.C:
		cut()
		panicked = <-over
	}
	if panicked != nil {
		panic(panicked) // panic in this goroutine, so that the caller can recover
	}
}

// paced returns a context that ends when no more iterations may start.
func (d *Drive) paced(ctx context.Context) (context.Context, context.CancelFunc) {
	if d.Pace == nil {
		return context.WithTimeout(ctx, d.Params.Duration)
	}
	stop, stopNow := context.WithCancel(ctx)
	go func() {
		defer stopNow()
		d.Pace(stop)
	}()
	return stop, stopNow
}

// childContexts returns n contexts and a function that cancels them in order. Cancelling a common parent would end
// the contexts in random order, so a run in virtual time would not be repeatable.
func childContexts(parent context.Context, n int) (all []context.Context, cut func()) {
	var ends []context.CancelFunc
	for range n {
		ctx, end := context.WithCancel(parent)
		all, ends = append(all, ctx), append(ends, end)
	}
	return all, func() {
		for _, end := range ends {
			end()
		}
	}
}

// clients runs all clients. It returns the first panic of a client, which a lock under test may cause, or nil.
func (d *Drive) clients(stop context.Context, ops []context.Context, stopNow func()) any {
	var wg sync.WaitGroup
	panics := make(chan any, d.Params.Clients)
	d.names = d.Params.KeyNames()
	schedule := d.Params.schedule(d.Recorder.Since())
	for n := range d.Params.Clients {
		if !d.Params.Part.Owns(n) {
			continue
		}
		c := d.client(int32(n), d.Processes[n%len(d.Processes)])
		c.director, c.schedule = d.Director, schedule
		if d.Workload.Paired {
			if n%2 == 1 {
				continue
			}
			c.partner = d.client(int32(n+1), d.Processes[(n+1)%len(d.Processes)])
		}
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panics <- fmt.Sprintf("client %d: %v\n%s", n, p, debug.Stack())
					stopNow()
				}
			}()
			c.Sleep(stop, time.Duration(n+1)) // a different delay for each client, so that no two clients start at the same virtual time
			for i := uint64(0); stop.Err() == nil && !c.done; i++ {
				c.iterate(stop, ops[n], i, d.Workload)
			}
		})
	}
	wg.Wait()
	close(panics)
	return <-panics
}

func (d *Drive) client(number int32, p Process) *Client {
	c := &Client{Params: &d.Params, Process: p, number: number, recorder: d.Recorder, log: d.Recorder.Log(number), keys: d.names,
		granted: d.Granted, longest: &d.longest, watch: d.Watch, witness: d.Fresh.Lock, renews: d.Renews, unique: d.Unique, rereleases: d.Rereleases, guarded: d.Workload.Guarded}
	if d.Workload.Varied {
		for _, h := range d.Params.Follows(d.Suits) {
			c.habits[h] = true
		}
	}
	c.rand = rand.New(&c.source)
	return c
}

// iterate waits for the intended start and runs one iteration of the workload. The random numbers of an iteration depend only
// on the seed, the client and the iteration number.
func (c *Client) iterate(stop, ops context.Context, i uint64, w Workload) {
	c.begin(i)
	if c.schedule != nil {
		c.due = c.schedule.next()
		c.Sleep(stop, c.due-c.recorder.Since())
	} else {
		think := time.Duration(0)
		if c.Params.Think > 0 { // the delay is in whole microseconds, because the virtual network uses the nanoseconds to order events
			think = time.Duration(c.rand.Int64N(2 * int64(c.Params.Think))).Truncate(time.Microsecond)
		}
		c.due = c.recorder.Since() + think
		c.Sleep(stop, think)
	}
	if stop.Err() == nil {
		w.Iterate(ops, c)
	}
}

func (c *Client) begin(i uint64) {
	c.iteration, c.stall = i, 0
	c.source.Seed(c.Params.Seed, uint64(c.number)<<40|i)
}

// Leased reports whether the lock has granted a hold that ends with a lease.
func (d *Drive) Leased() bool { return d.longest.Load() > 0 }

// WriteInitial writes and records the initial value of each key, divided among the key's segments. It does nothing if the
// workload has no guarded resource.
func (d *Drive) WriteInitial() {
	if !d.Workload.Guarded {
		return
	}
	d.eachSegment(d.Processes[0].Lock, func(harness *Client, h Held, i, of int) {
		harness.Write(context.Background(), h, int64(d.Params.Initial*(i+1)/of-d.Params.Initial*i/of))
	})
}

// eachSegment calls a function (parameter do) for each segment of each key. A segment is a part of a key that the lock grants
// separately. The function receives a client that performs operations of lockbench, not of the workload.
func (d *Drive) eachSegment(lock impls.Lock, do func(harness *Client, h Held, i, of int)) {
	harness := d.client(histories.Harness, d.Fresh)
	for _, key := range d.Params.KeyNames() {
		segments := SegmentsOf(lock, key)
		for i, segment := range segments {
			do(harness, Held{Hold: impls.Hold{Grant: impls.Grant{Key: segment}}}, i, len(segments))
		}
	}
}

// Epilogue checks the final state of a run. It reads the final values. Then a new client acquires and releases each
// key. The timeout of an acquire (parameter within) is extended if grants had longer leases than requested. All
// acquires together take at most three times this timeout. A key that is not granted in time counts as orphaned.
func (d *Drive) Epilogue(ctx context.Context, within time.Duration) {
	if d.Workload.Guarded {
		d.eachSegment(d.Fresh.Lock, func(harness *Client, h Held, _, _ int) { harness.Read(ctx, h) })
	}
	within += histories.Excess(time.Duration(d.longest.Load()), d.Params.TTL)
	ctx, cancel := context.WithTimeout(ctx, 3*within)
	defer cancel()
	fresh := d.client(int32(d.Params.Clients), d.Fresh)
	for _, key := range d.Params.KeyNames() {
		for range SegmentsOf(d.Fresh.Lock, key) { // one acquire per segment: a lock that splits the key into segments grants a different segment each time
			if ctx.Err() != nil {
				return
			}
			d.acquireAndRelease(ctx, fresh, key, within)
		}
	}
}

// asks is the maximum number of acquires of a key by take. An acquire is repeated only if its outcome is unknown.
const asks = 3

// acquireAndRelease acquires and releases a key. If the outcome of an acquire is unknown, the key may have been
// granted. If the lock has leases, the grant expires, and the acquire is repeated. Otherwise the grant
// never expires, and the acquire is not repeated.
func (d *Drive) acquireAndRelease(ctx context.Context, fresh *Client, key string, within time.Duration) {
	for range asks {
		life := fresh.log.Life()
		h, ok := fresh.Acquire(ctx, key, within)
		if ok {
			fresh.Release(ctx, h)
		}
		if ok || fresh.log.Life() == life || d.longest.Load() == 0 {
			return
		}
	}
}
