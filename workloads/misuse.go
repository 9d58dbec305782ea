package workloads

import (
	"context"

	"lockbench/impls"
)

// misuse releases holds that the client does not have: a hold that was already released, an expired hold, a hold of
// another owner, and a hold that was never granted. Each release must be refused. Clients work in pairs on one key. The
// client with the even number starts the operations of both.
func misuse() Workload {
	return Workload{
		Name: "misuse", Special: true, Paired: true, Verdict: true,
		Doc: "release twice, after the lease, another owner's hold, and what was never acquired: each must be refused",
		Adapt: func(p *Params) {
			p.shorten()
			p.Clients, p.Processes = max(2, p.Clients&^1), min(2, p.Clients)
			p.Keys, p.Spread = p.Clients/2, Uniform
		},
		Iterate: func(ctx context.Context, c *Client) {
			key := c.Params.keyName(int(c.number) / 2)
			c.hold(ctx, key, c.Params.wait(), func(ctx context.Context, h *Held) { c.Release(ctx, *h) }) // after this function returns, c.hold releases the hold a second time
			c.releaseNeverAcquired(ctx, key)
			c.releaseAnothers(ctx, key)
			c.releaseExpired(ctx, key, false)
			c.releaseExpired(ctx, key, true)
		},
	}
}

// releaseNeverAcquired makes a second client release a key that it never acquired, while this client holds the key.
func (c *Client) releaseNeverAcquired(ctx context.Context, key string) {
	c.hold(ctx, key, c.Params.wait(), func(ctx context.Context, h *Held) {
		other, granted := c.partner.Acquire(ctx, key, 0)
		if !granted {
			other.Grant = impls.Grant{Key: h.Key, Owner: c.partner.owner(), Token: "never"}
		}
		c.partner.Release(ctx, other)
	})
}

// releaseAnothers makes a second client release the key while this client holds it. The second client uses an older
// hold of the key, which it has already released.
func (c *Client) releaseAnothers(ctx context.Context, key string) {
	before, ok := c.partner.Acquire(ctx, key, c.Params.wait())
	if !ok {
		return
	}
	c.partner.Release(ctx, before)
	c.hold(ctx, key, c.Params.wait(), func(ctx context.Context, h *Held) {
		before.number = h.number // record the release with the number of this client's hold
		c.partner.Release(ctx, before)
	})
}

// releaseExpired releases a hold whose lease has certainly expired. If taken is true, a second client holds the key at
// that time.
func (c *Client) releaseExpired(ctx context.Context, key string, taken bool) {
	if c.renews {
		return
	}
	var other Held
	var ok bool
	c.hold(ctx, key, c.Params.wait(), func(ctx context.Context, h *Held) {
		if h.Validity <= 0 {
			return // the hold has no lease, so it cannot expire
		}
		c.Lost(h)
		c.Sleep(ctx, h.Validity+h.Validity/10)
		if taken {
			other, ok = c.partner.Acquire(ctx, key, c.Params.TTL)
		}
	})
	if ok {
		c.partner.Release(ctx, other)
	}
}
