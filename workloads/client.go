package workloads

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/impls/waiting"
)

// Client does one thing after the other, and records each.
type Client struct {
	Params *Params

	Process
	number   int32
	recorder *histories.Recorder
	log      *histories.Log
	granted  *atomic.Int64
	expires  *atomic.Bool
	watch    *Watch
	director Director   // nil: nothing goes wrong on purpose
	witness  impls.Lock // of a process that no fault touches: for questions to the store
	renews   bool       // the lock renews by itself
	guarded  bool       // what is done under the lock shows by itself that the process runs
	partner  *Client    // another client, driven by this one; nil where the workload needs none
	done     bool       // no iteration follows
	gone     bool       // nor anything else: it was killed, or went away

	schedule  *schedule // of all clients; nil: each begins as soon as it can
	keys      []string  // the names of all
	iteration uint64
	source    rand.PCG
	rand      *rand.Rand    // of this iteration: it draws from source
	name      string        // of this life
	named     int32         // the life that it is of, from 1
	due       time.Duration // when this iteration was meant to start
	stall     time.Duration // so long is the work of this hold; 0: as usual
}

// Held is a hold and the number of its acquire.
type Held struct {
	impls.Hold
	number        int64
	call, granted time.Duration // of its acquire
	lost          bool          // it was noted that the hold is over
}

// Leave says that the client has nothing more to do.
func (c *Client) Leave() { c.done = true }

// Key chooses the key of this iteration.
func (c *Client) Key() string { return c.keys[c.Params.key(c.number, c.rand)] }

// Acquire asks for a key; false where it was refused, nobody knows, or the client has gone.
func (c *Client) Acquire(ctx context.Context, key string, wait time.Duration) (Held, bool) {
	order := c.at(ctx, Asking)
	if c.gone || order.Rest {
		return Held{}, false
	}
	if order.Wait > 0 {
		wait = order.Wait
	}
	h, err := c.ask(ctx, key, wait)
	c.after(err)
	if err != nil {
		return h, false
	}
	c.stall = c.at(ctx, Granted).Stall
	return h, !c.gone
}

func (c *Client) ask(ctx context.Context, key string, wait time.Duration) (Held, error) {
	h := Held{number: c.log.NextHold()}
	known := key
	if _, ok := c.Lock.(impls.Segmenter); ok {
		known = "" // which one is asked for is known at the return
	}
	h.call = c.log.Call(histories.Op{Kind: histories.Acquire, Hold: h.number, Key: known, Due: c.due})
	c.due = 0 // a second acquire of the iteration is due when it is called
	var err error
	h.Hold, err = c.Lock.Acquire(ctx, impls.Request{Key: key, Owner: c.owner(), TTL: c.Params.TTL, Wait: wait, KeepAlive: true})
	res := result(err)
	res.Key = h.Key // a lock of several segments says which one it asked for, also when refused
	if err == nil {
		res.Depth, res.Fence = uint16(h.Depth), h.Fence
		res.SentAfter, res.Validity = h.SentAfter, h.Validity
		c.granted.Add(1)
		c.expires.Store(h.Validity > 0)
	}
	h.granted = c.log.Return(res)
	if err == nil && c.renews && h.Depth <= 1 { // what it renews is the outermost, and counted from there
		c.watch.holding(h.Grant, watched{c.log, h.number, h.call})
	}
	return h, err
}

// after looks at how an operation came out: the client of a process that is no more does nothing more.
func (c *Client) after(err error) {
	if errors.Is(err, ErrGone) {
		c.gone = true
		c.Leave()
	}
}

// Release gives a hold up. That it was lost is noted where nothing looked since.
func (c *Client) Release(ctx context.Context, h Held) {
	if c.at(ctx, Releasing); c.gone {
		return
	}
	if waiting.Over(h.Hold.Lost) {
		c.Lost(&h)
	}
	c.log.Call(histories.Op{Kind: histories.Release, Hold: h.number, Key: h.Key})
	err := c.Lock.Release(ctx, h.Grant)
	c.log.Return(result(err))
	c.after(err)
}

// Lost notes that a hold is over without a release: the lock said so, or the client saw its lease run out.
func (c *Client) Lost(h *Held) {
	if h.lost {
		return
	}
	h.lost = true
	at := c.recorder.Since()
	if h.LostAfter != nil {
		at = max(h.granted, h.call+h.LostAfter()) // the notice may overtake the grant
	}
	c.log.Note(histories.Op{Kind: histories.Lost, Outcome: histories.OK, Hold: h.number, Key: h.Key, Call: at})
}

// Work spends time inside the critical section, and stops when the lock says that the hold is lost.
func (c *Client) Work(ctx context.Context, h *Held, d time.Duration) (held bool) {
	if c.at(ctx, Working); c.gone {
		return false
	}
	if c.stall > 0 {
		d, c.stall = c.stall, 0
	}
	if d <= 0 {
		return true
	}
	select {
	case <-c.afterTime(d):
	case <-ctx.Done():
	case <-h.Hold.Lost: // nil, and never ready, where the lock cannot tell
	}
	switch { // of several at once the loss counts
	case waiting.Over(h.Hold.Lost):
		c.Lost(h)
		if c.director != nil { // is it really lost? Without a fault nobody wonders
			c.probe(ctx, c.witness, *h)
		}
		return false
	case ctx.Err() != nil:
		return true
	}
	if !c.guarded && c.Running != nil {
		c.after(c.Running(ctx))
	}
	return true
}

// Read reads what the lock guards; false where it was refused, or nobody knows.
func (c *Client) Read(ctx context.Context, h Held) (value int64, ok bool) {
	err := c.use(histories.Op{Kind: histories.Read}, h, func() (err error) {
		value, err = c.Resource.Read(ctx, h.Key, h.Fence)
		return err
	}, &value)
	return value, err == nil
}

// Write writes what the lock guards; false where it was refused, or nobody knows.
func (c *Client) Write(ctx context.Context, h Held, value int64) bool {
	return c.use(histories.Op{Kind: histories.Write, Value: value}, h, func() error {
		return c.Resource.Write(ctx, h.Key, value, h.Fence)
	}, &value) == nil
}

// Append adds an order to what the lock guards.
func (c *Client) Append(ctx context.Context, h Held) {
	one := int64(1) // order
	_ = c.use(histories.Op{Kind: histories.Append}, h, func() error {
		return c.Resource.Append(ctx, h.Key, h.Fence)
	}, &one)
}

// SoldOut records a buyer who found nothing left to order.
func (c *Client) SoldOut(h Held) {
	c.log.Call(histories.Op{Kind: histories.Append, Hold: h.number, Key: h.Key, Fence: h.Fence})
	c.log.Return(histories.Result{Outcome: histories.Refused, Error: "sold out"})
}

// use records an operation on what the lock guards. The value is read when it has come to its end.
func (c *Client) use(op histories.Op, h Held, do func() error, value *int64) error {
	if c.gone {
		return ErrGone
	}
	op.Hold, op.Key, op.Fence = h.number, h.Key, h.Fence
	c.log.Call(op)
	err := do()
	res := result(err)
	if err == nil {
		res.Value = *value
	}
	c.log.Return(res)
	c.after(err)
	return err
}

// Probe asks the store whether it still bears this hold's token, where the lock can tell.
func (c *Client) Probe(ctx context.Context, h Held) { c.probe(ctx, c.Lock, h) }

func (c *Client) probe(ctx context.Context, by impls.Lock, h Held) {
	p, ok := by.(impls.Prober)
	if !ok || c.gone {
		return
	}
	c.log.Call(histories.Op{Kind: histories.Probe, Hold: h.number, Key: h.Key})
	token, left, err := p.Probe(ctx, h.Key)
	res := result(err)
	switch {
	case err != nil:
	case token == "":
		res.Value = histories.ProbeFree
	case token == h.Token:
		res.Value, res.Validity = histories.ProbeMine, left
	default:
		res.Value, res.Validity = histories.ProbeOther, left
	}
	c.log.Return(res)
}

// A client's sleeps end only at instants of its own, one in each 1009 ns: in virtual time no two clients wake at once, in an
// order that nothing decides. 1009 is prime, and the virtual network uses the same raster.
const instants = 1009 * time.Nanosecond

// Sleep spends time: inside the critical section it is the work.
func (c *Client) Sleep(ctx context.Context, d time.Duration) {
	if d > 0 {
		select {
		case <-c.afterTime(d):
		case <-ctx.Done():
		}
	}
}

// afterTime is ready after a time, at an instant of the client's own.
func (c *Client) afterTime(d time.Duration) <-chan time.Time {
	end := time.Duration(time.Now().Add(d).UnixNano())
	return time.After(d + (time.Duration(c.number+1)-end%instants+instants)%instants)
}

// owner is who the client is to the lock. One that does not know what it holds goes on as another.
func (c *Client) owner() string {
	if life := c.log.Life(); c.named != life+1 {
		c.name, c.named = fmt.Sprintf("c%d.%d", c.number, life), life+1
	}
	return c.name
}

// result tells definite answers from indeterminate ones. When in doubt, indeterminate.
func result(err error) histories.Result {
	switch {
	case err == nil:
		return histories.Result{Outcome: histories.OK}
	case errors.Is(err, impls.ErrBusy), errors.Is(err, impls.ErrNotHeld), errors.Is(err, ErrStale):
		return histories.Result{Outcome: histories.Refused, Error: err.Error()}
	}
	return histories.Result{Outcome: histories.Unknown, Error: err.Error()}
}
