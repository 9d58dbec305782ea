package workloads

import (
	"context"

	"lockbench/impls"
)

// inventory is a flash sale: buyers read the stock, and while there is some left take one off and record an
// order. Two buyers inside at once sell one piece twice; a lock that splits the stock must still sell all.
func inventory() Workload {
	return Workload{
		Name: "inventory", Guarded: true, Verdict: true,
		Doc:     "a flash sale: read the stock, take one off, record an order, until all is sold: never more, never less",
		Adapt:   func(p *Params) { p.Initial = p.Stock },
		Iterate: func(ctx context.Context, c *Client) { c.buy(ctx, c.Key()) },
	}
}

// buy goes from segment to segment until it has bought or found every one of them empty.
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

// SegmentsOf are the keys that a lock may grant for one: the key itself, where it splits none.
func SegmentsOf(lock impls.Lock, key string) []string {
	if s, ok := lock.(impls.Segmenter); ok {
		return s.Segments(key)
	}
	return []string{key}
}
