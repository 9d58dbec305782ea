package workloads

import "context"

// try asks once and goes away when the answer is no, as a cron job does.
func try() Workload {
	return Workload{
		Name: "try", Figures: true,
		Doc:     "ask once, hold if granted, go away if not: what a refusal costs",
		Iterate: func(ctx context.Context, c *Client) { c.hold(ctx, c.Key(), 0, c.work) },
	}
}
