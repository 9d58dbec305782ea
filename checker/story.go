package checker

import (
	"fmt"
	"time"

	"lockbench/histories"
)

// who names the client of a hold and, where the history says how clients were spread, its process.
func (c *facts) who(h *hold) string { return c.client(&h.acquire) }

func (c *facts) client(op *histories.Op) string {
	switch {
	case op.Client == histories.Harness:
		return "lockbench"
	case c.fresh(op):
		return "the fresh client of the epilogue"
	case c.header.Processes > 1:
		return fmt.Sprintf("client %d (process %d)", op.Client, int(op.Client)%c.header.Processes)
	}
	return fmt.Sprintf("client %d", op.Client)
}

// fresh tells whether an operation is the epilogue's: those clients are numbered after all others.
func (c *facts) fresh(op *histories.Op) bool {
	return c.header.Clients > 0 && int(op.Client) >= c.header.Clients
}

// ms is a duration in ms, with as many digits as matter.
func ms(d time.Duration) string {
	v := float64(d) / float64(time.Millisecond)
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.1f ms", v)
	case v >= 1:
		return fmt.Sprintf("%.2f ms", v)
	}
	return fmt.Sprintf("%.3f ms", v)
}

// count is a number and its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
