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

// Drive is a workload about to be driven.
type Drive struct {
	Workload  Workload
	Params    Params
	Processes []Process
	Fresh     Process // one that took no part: the epilogue's, and the harness's own
	Director  Director
	Recorder  *histories.Recorder
	Watch     *Watch        // given to the locks' Env as Renewed
	Renews    bool          // the lock renews by itself
	Granted   *atomic.Int64 // so far, for whoever shows progress
	// Pace, where it is set, returns when no iteration is to begin any more, or its context is over; else that is when
	// the duration is.
	Pace func(context.Context)

	expires atomic.Bool // what the lock granted ends by itself
	names   []string    // of the keys
}

// Logs is how many clients' logs a recorder needs for a drive: the clients' and the epilogue's.
func (p *Params) Logs() int { return p.Clients + 1 }

// interruptedGrace is how long operations under way may take once the run was interrupted.
const interruptedGrace = 2 * time.Second

// Run drives the clients for the duration. When it is over, or ctx ends, no iteration begins; those under way are finished,
// since cutting them off would make them indeterminate. After a bound (Params.Grace; 2 s when interrupted) they are cut off
// anyway.
func (d *Drive) Run(ctx context.Context) {
	d.WriteInitial()
	stop, stopNow := d.paced(ctx)
	defer stopNow()
	ops, cut := each(context.WithoutCancel(ctx), d.Params.Clients)
	defer cut()
	over := make(chan any, 1)
	go func() { over <- d.clients(stop, ops, stopNow); stopNow() }()
	<-stop.Done()
	grace := d.Params.Grace
	if grace == 0 {
		grace = d.Params.TTL + time.Second
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
		panic(panicked) // where the caller can recover it
	}
}

// paced is a context that ends when no iteration is to begin any more.
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

// each returns n contexts, and a function that ends them one after the other: contexts that end with a common parent end in
// any order, which virtual time must not have.
func each(parent context.Context, n int) (all []context.Context, cut func()) {
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

// clients runs them all, and returns what one of them panicked with: a lock under test may.
func (d *Drive) clients(stop context.Context, ops []context.Context, stopNow func()) any {
	var wg sync.WaitGroup
	panics := make(chan any, d.Params.Clients)
	d.names = d.Params.KeyNames()
	schedule := d.Params.schedule(d.Recorder.Since())
	for n := range d.Params.Clients {
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
			c.Sleep(stop, time.Duration(n+1)) // no two start at the same instant of a virtual clock
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
		granted: d.Granted, expires: &d.expires, watch: d.Watch, witness: d.Fresh.Lock, renews: d.Renews, guarded: d.Workload.Guarded}
	c.rand = rand.New(&c.source)
	return c
}

// iterate thinks and then does the workload once. Its randomness depends on the seed, the client and the iteration alone, so
// that leaving out an iteration does not change the others.
func (c *Client) iterate(stop, ops context.Context, i uint64, w Workload) {
	c.begin(i)
	if c.schedule != nil {
		c.due = c.schedule.next()
		c.Sleep(stop, c.due-c.recorder.Since())
	} else {
		think := time.Duration(0)
		if c.Params.Think > 0 { // in whole microseconds: a virtual network tells simultaneous events apart by what is below
			think = time.Duration(c.rand.Int64N(2 * int64(c.Params.Think))).Truncate(time.Microsecond)
		}
		c.due = c.recorder.Since() + think
		c.Sleep(stop, think)
	}
	if stop.Err() == nil {
		w.Iterate(ops, c)
	}
}

// begin makes the client's randomness that of an iteration.
func (c *Client) begin(i uint64) {
	c.iteration, c.stall = i, 0
	c.source.Seed(c.Params.Seed, uint64(c.number)<<40|i)
}

// WriteInitial writes and records what a guarded workload starts from. Each segment of a key has its part.
func (d *Drive) WriteInitial() {
	if !d.Workload.Guarded {
		return
	}
	d.eachSegment(d.Processes[0].Lock, func(harness *Client, h Held, i, of int) {
		harness.Write(context.Background(), h, int64(d.Params.Initial*(i+1)/of-d.Params.Initial*i/of))
	})
}

// eachSegment has the harness do something with what is guarded by each segment of each key.
func (d *Drive) eachSegment(lock impls.Lock, do func(harness *Client, h Held, i, of int)) {
	harness := d.client(histories.Harness, d.Fresh)
	for _, key := range d.Params.KeyNames() {
		segments := SegmentsOf(lock, key)
		for i, segment := range segments {
			do(harness, Held{Hold: impls.Hold{Grant: impls.Grant{Key: segment}}}, i, len(segments))
		}
	}
}

// Epilogue ends every run: the final read of what was guarded, and a fresh client that acquires and releases each key,
// waiting for as long as the lock may need to free it (within). A key that is not granted then is an orphan. It is bounded by
// three times that.
func (d *Drive) Epilogue(ctx context.Context, within time.Duration) {
	if d.Workload.Guarded {
		d.eachSegment(d.Fresh.Lock, func(harness *Client, h Held, _, _ int) { harness.Read(ctx, h) })
	}
	ctx, cancel := context.WithTimeout(ctx, 3*within)
	defer cancel()
	fresh := d.client(int32(d.Params.Clients), d.Fresh)
	for _, key := range d.Params.KeyNames() {
		for range SegmentsOf(d.Fresh.Lock, key) { // a lock that splits a key hands its segments out in turn
			if ctx.Err() != nil {
				return
			}
			d.take(ctx, fresh, key, within)
		}
	}
}

// asks is how often the fresh client asks where nobody answers.
const asks = 3

// take acquires and releases a key. Where nobody answers it asks again, if what it may have taken ends by itself.
func (d *Drive) take(ctx context.Context, fresh *Client, key string, within time.Duration) {
	for range asks {
		life := fresh.log.Life()
		h, ok := fresh.Acquire(ctx, key, within)
		if ok {
			fresh.Release(ctx, h)
		}
		if ok || fresh.log.Life() == life || !d.expires.Load() {
			return
		}
	}
}
