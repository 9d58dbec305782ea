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

// Client runs operations one after the other and records each.
type Client struct {
	Params *Params

	Process
	number   int32
	recorder *histories.Recorder
	log      *histories.Log
	granted  *atomic.Int64
	expires  *atomic.Bool
	watch    *Watch
	director Director   // nil without a director
	witness  impls.Lock // lock of a process that no fault affects, for probes
	renews   bool       // the lock renews by itself
	guarded  bool       // the operations on the resource show that the process runs
	partner  *Client    // another client, driven by this one; nil if the workload needs none
	done     bool       // this iteration is the last
	gone     bool       // the client was killed or went away: no operation follows

	schedule  *schedule // schedule of all clients; nil: closed arrivals
	keys      []string  // the names of all keys
	iteration uint64
	source    rand.PCG
	rand      *rand.Rand    // randomness of this iteration, from source
	name      string        // the owner name of this life
	named     int32         // the life of name, from 1
	due       time.Duration // intended start of this iteration
	stall     time.Duration // duration of the work in this hold; 0: default
}

// Held is a hold and the number of its acquire.
type Held struct {
	impls.Hold
	number        int64
	call, granted time.Duration // times of its acquire
	lost          bool          // whether its loss was recorded
}

// Leave makes the current iteration the last.
func (c *Client) Leave() { c.done = true }

// Key returns the key of this iteration.
func (c *Client) Key() string { return c.keys[c.Params.key(c.number, c.rand)] }

// Acquire acquires a key. It returns false if the key was refused, the outcome is unknown, or the client has gone.
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
		known = "" // the segment is known at the return
	}
	h.call = c.log.Call(histories.Op{Kind: histories.Acquire, Hold: h.number, Key: known, Due: c.due})
	c.due = 0 // another acquire of the iteration is due at its call
	var err error
	h.Hold, err = c.Lock.Acquire(ctx, impls.Request{Key: key, Owner: c.owner(), TTL: c.Params.TTL, Wait: wait, KeepAlive: true})
	res := result(err)
	res.Key = h.Key // a lock with segments returns the segment, also of a refused acquire
	if err == nil {
		res.Depth, res.Fence = uint16(h.Depth), h.Fence
		res.SentAfter, res.Validity = h.SentAfter, h.Validity
		c.granted.Add(1)
		c.expires.Store(h.Validity > 0)
	}
	h.granted = c.log.Return(res)
	if err == nil && c.renews && h.Depth <= 1 { // renewals belong to the outermost hold
		c.watch.holding(h.Grant, watched{c.log, h.number, h.call})
	}
	return h, err
}

// after stops the client if its process has ended.
func (c *Client) after(err error) {
	if errors.Is(err, ErrGone) {
		c.gone = true
		c.Leave()
	}
}

// Release releases a hold. It first records the loss if no operation has recorded it.
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

// Lost records that a hold ended without a release: the lock reported it, or the client saw its lease expire.
func (c *Client) Lost(h *Held) {
	if h.lost {
		return
	}
	h.lost = true
	at := c.recorder.Since()
	if h.LostAfter != nil {
		at = max(h.granted, h.call+h.LostAfter()) // the report may arrive before the grant
	}
	c.log.Note(histories.Op{Kind: histories.Lost, Outcome: histories.OK, Hold: h.number, Key: h.Key, Call: at})
}

// Work spends time in the critical section, and stops when the lock reports the hold as lost.
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
	case <-h.Hold.Lost: // nil if the lock does not report losses
	}
	switch { // if several are ready, the loss takes precedence
	case waiting.Over(h.Hold.Lost):
		c.Lost(h)
		if c.director != nil { // with faults, query the store about the loss
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

// Read reads the resource. It returns false if it was refused or the outcome is unknown.
func (c *Client) Read(ctx context.Context, h Held) (value int64, ok bool) {
	err := c.use(histories.Op{Kind: histories.Read}, h, func() (err error) {
		value, err = c.Resource.Read(ctx, h.Key, h.Fence)
		return err
	}, &value)
	return value, err == nil
}

// Write writes the resource. It returns false if it was refused or the outcome is unknown.
func (c *Client) Write(ctx context.Context, h Held, value int64) bool {
	return c.use(histories.Op{Kind: histories.Write, Value: value}, h, func() error {
		return c.Resource.Write(ctx, h.Key, value, h.Fence)
	}, &value) == nil
}

// Append adds an order to the resource.
func (c *Client) Append(ctx context.Context, h Held) {
	one := int64(1) // one order
	_ = c.use(histories.Op{Kind: histories.Append}, h, func() error {
		return c.Resource.Append(ctx, h.Key, h.Fence)
	}, &one)
}

// SoldOut records that a buyer found no stock.
func (c *Client) SoldOut(h Held) {
	c.log.Call(histories.Op{Kind: histories.Append, Hold: h.number, Key: h.Key, Fence: h.Fence})
	c.log.Return(histories.Result{Outcome: histories.Refused, Error: "sold out"})
}

// use records an operation on the resource. value is read after the operation.
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

// Probe queries the store for this hold's token, if the lock is a Prober.
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

// Each client's sleeps end only at certain times, one in each 1009 ns: in virtual time no two clients wake at the same
// time, which would leave their order undefined. 1009 is prime; the virtual network uses the same grid.
const wakeups = 1009 * time.Nanosecond

// Sleep waits for a time; in the critical section it is the work.
func (c *Client) Sleep(ctx context.Context, d time.Duration) {
	if d > 0 {
		select {
		case <-c.afterTime(d):
		case <-ctx.Done():
		}
	}
}

// afterTime returns a channel that is ready after a time, at one of the client's wake-up times.
func (c *Client) afterTime(d time.Duration) <-chan time.Time {
	end := time.Duration(time.Now().Add(d).UnixNano())
	return time.After(d + (time.Duration(c.number+1)-end%wakeups+wakeups)%wakeups)
}

// owner returns the client's name for the lock. A client that does not know what it holds continues under another name.
func (c *Client) owner() string {
	if life := c.log.Life(); c.named != life+1 {
		c.name, c.named = fmt.Sprintf("c%d.%d", c.number, life), life+1
	}
	return c.name
}

// result distinguishes definite results from indeterminate ones. When in doubt, it returns indeterminate.
func result(err error) histories.Result {
	switch {
	case err == nil:
		return histories.Result{Outcome: histories.OK}
	case errors.Is(err, impls.ErrBusy), errors.Is(err, impls.ErrNotHeld), errors.Is(err, ErrStale):
		return histories.Result{Outcome: histories.Refused, Error: err.Error()}
	}
	return histories.Result{Outcome: histories.Unknown, Error: err.Error()}
}
