package workloads

import "context"

// try acquires without waiting, and skips the work if it is refused, as a cron job does.
func try() Workload {
	return Workload{
		Name: "try", Figures: true,
		Doc:     "try once, hold if granted, go away if refused: the cost of a refusal",
		Iterate: func(ctx context.Context, c *Client) { c.hold(ctx, c.Key(), 0, c.work) },
	}
}
