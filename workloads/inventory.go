package workloads

import (
	"context"

	"lockbench/impls"
)

// inventory is a flash sale. Under the lock, a buyer reads the stock. If an item is left, the buyer decrements the stock and
// records an order. If two clients hold the lock at once, they can sell the same item twice. A lock that splits the stock into
// segments must still sell everything.
func inventory() Workload {
	return Workload{
		Name: "inventory", Guarded: true, Verdict: true,
		Doc:     "a flash sale: read the stock, take one off, record an order, until exactly the stock is sold",
		Adapt:   func(p *Params) { p.Initial = p.Stock },
		Iterate: func(ctx context.Context, c *Client) { c.buy(ctx, c.Key()) },
	}
}

// buy tries to buy one item of a product. If the lock splits the stock into segments, buy tries one segment after
// another, until it finds an item or all segments are empty.
func (c *Client) buy(ctx context.Context, product string) {
	segments := SegmentsOf(c.Lock, product)
	empty := map[string]bool{}
	for ctx.Err() == nil {
		h, ok := c.Acquire(ctx, product, c.Params.wait())
		if !ok {
			return
		}
		stock, ok := c.Read(ctx, h)
		if !ok {
			c.Release(ctx, h)
			return
		}
		sold := stock > 0
		if sold && c.Work(ctx, &h, c.Params.Hold) && c.Write(ctx, h, stock-1) {
			c.Append(ctx, h)
		}
		empty[h.Key] = !sold
		soldOut := !sold && len(empty) == len(segments)
		if soldOut {
			c.SoldOut(h)
		}
		c.Release(ctx, h)
		if sold {
			return
		}
		if soldOut {
			c.Leave()
			return
		}
	}
}

// SegmentsOf returns the keys that a lock may grant for a key: its segments if the lock is segmented, and otherwise the
// key itself.
func SegmentsOf(lock impls.Lock, key string) []string {
	if s, ok := lock.(impls.Segmenter); ok {
		return s.Segments(key)
	}
	return []string{key}
}
