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
)

// Client does one thing after the other, and records each.
type Client struct {
	Params *Params

	number   int32
	lock     impls.Lock
	recorder *histories.Recorder
	log      *histories.Log
	resource Resource
	granted  *atomic.Int64
	watch    *Watch
	renews   bool    // the lock renews by itself
	partner  *Client // another client, driven by this one; nil where the workload needs none
	done     bool    // no iteration follows

	rand *rand.Rand    // of this iteration
	due  time.Duration // when this iteration was meant to start
}

// Held is a hold and the number of its acquire.
type Held struct {
	impls.Hold
	number int64
	lost   bool // it was noted that the hold is over
}

// Leave says that the client has nothing more to do.
func (c *Client) Leave() { c.done = true }

// Key chooses the key of this iteration.
func (c *Client) Key() string { return c.Params.key(c.rand) }

// Acquire asks for a key; false where it was refused or nobody knows.
func (c *Client) Acquire(ctx context.Context, key string, wait time.Duration) (Held, bool) {
	h := Held{number: c.log.NextHold()}
	known := key
	if _, ok := c.lock.(impls.Segmenter); ok {
		known = "" // which one is asked for is known at the return
	}
	call := c.log.Call(histories.Op{Kind: histories.Acquire, Hold: h.number, Key: known, Due: c.due})
	c.due = 0 // a second acquire of the iteration is due when it is called
	var err error
	h.Hold, err = c.lock.Acquire(ctx, impls.Request{Key: key, Owner: c.owner(), TTL: c.Params.TTL, Wait: wait, KeepAlive: true})
	res := result(err)
	res.Key = h.Key // a lock of several segments says which one it asked for, also when refused
	if err == nil {
		res.Depth, res.Fence = uint16(h.Depth), h.Fence
		res.SentAfter, res.Validity = h.SentAfter, h.Validity
		c.granted.Add(1)
		if c.renews {
			c.watch.holding(h.Grant, watched{c.log, h.number, call})
		}
	}
	c.log.Return(res)
	return h, err == nil
}

// Release gives a hold up.
func (c *Client) Release(ctx context.Context, h Held) {
	c.log.Call(histories.Op{Kind: histories.Release, Hold: h.number, Key: h.Key})
	c.log.Return(result(c.lock.Release(ctx, h.Grant)))
}

// Lost notes that a hold is over without a release: the lock said so, or the client saw its lease run out.
func (c *Client) Lost(h *Held) {
	if !h.lost {
		h.lost = true
		c.log.Note(histories.Op{Kind: histories.Lost, Outcome: histories.OK, Hold: h.number, Key: h.Key, Call: c.recorder.Since()})
	}
}

// Work spends time inside the critical section, and stops when the lock says that the hold is lost.
func (c *Client) Work(ctx context.Context, h *Held, d time.Duration) (held bool) {
	if d <= 0 {
		return true
	}
	select {
	case <-c.after(d):
		return true
	case <-ctx.Done():
		return true
	case <-h.Hold.Lost: // nil, and never ready, where the lock cannot tell
		c.Lost(h)
		return false
	}
}

// Read reads what the lock guards.
func (c *Client) Read(h Held) int64 {
	c.log.Call(histories.Op{Kind: histories.Read, Hold: h.number, Key: h.Key})
	value := c.resource.Read(h.Key)
	c.log.Return(histories.Result{Outcome: histories.OK, Value: value})
	return value
}

// Append adds an order to what the lock guards; sold tells whether there was anything left to order.
func (c *Client) Append(h Held, sold bool) {
	c.log.Call(histories.Op{Kind: histories.Append, Hold: h.number, Key: h.Key})
	res := histories.Result{Outcome: histories.OK, Value: 1}
	if !sold {
		res = histories.Result{Outcome: histories.Refused, Error: "sold out"}
	}
	c.log.Return(res)
}

// Write writes what the lock guards.
func (c *Client) Write(h Held, value int64) {
	c.log.Call(histories.Op{Kind: histories.Write, Hold: h.number, Key: h.Key, Value: value})
	c.resource.Write(h.Key, value)
	c.log.Return(histories.Result{Outcome: histories.OK})
}

// Probe asks the store whether it still bears this hold's token, where the lock can tell.
func (c *Client) Probe(ctx context.Context, h Held) {
	p, ok := c.lock.(impls.Prober)
	if !ok {
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

// instants is how far apart the instants are that a client owns, one of each 1009 ns. A client's sleeps
// end at these only, so that in virtual time no two clients ever wake at once, in an order that nobody
// decided. 1009 is prime, and the virtual network keeps to the same raster.
const instants = 1009 * time.Nanosecond

// Sleep spends time: inside the critical section it is the work.
func (c *Client) Sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-c.after(d):
	case <-ctx.Done():
	}
}

// after is ready after a time, at an instant of the client's own.
func (c *Client) after(d time.Duration) <-chan time.Time {
	end := time.Duration(time.Now().Add(d).UnixNano())
	return time.After(d + (time.Duration(c.number+1)-end%instants+instants)%instants)
}

// owner is who the client is to the lock. One that does not know what it holds goes on as another.
func (c *Client) owner() string { return fmt.Sprintf("c%d.%d", c.number, c.log.Life()) }

// result tells definite answers from indeterminate ones. When in doubt, indeterminate.
func result(err error) histories.Result {
	switch {
	case err == nil:
		return histories.Result{Outcome: histories.OK}
	case errors.Is(err, impls.ErrBusy), errors.Is(err, impls.ErrNotHeld):
		return histories.Result{Outcome: histories.Refused, Error: err.Error()}
	}
	return histories.Result{Outcome: histories.Unknown, Error: err.Error()}
}
