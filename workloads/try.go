package workloads

import "context"

// try is a workload that acquires a key without waiting. If the lock refuses, the client skips the work, as a cron job
// does.
func try() Workload {
	return Workload{
		Name: "try", Figures: true,
		Doc:     "try once, hold if granted, go away if refused: the cost of a refusal",
		Iterate: func(ctx context.Context, c *Client) { c.hold(ctx, c.Key(), 0, c.work) },
	}
}
