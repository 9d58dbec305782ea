package checker

import (
	"fmt"
	"time"

	"lockbench/histories"
)

// facts are what judgements share.
type facts struct {
	header histories.Header
	slack  time.Duration
	bound  time.Duration // Header.FreedWithin
	counts *Counts
	past   *past
	until  time.Duration // how far the history was judged, known at its end
	shaken bool          // something was done to servers, or to the whole network: a key may be gone for that reason

	recovered []time.Duration // from the end of a client to the next grant of what it had, in order
}

// unknownUntil returns until when an acquire that may have taken effect explains that others are refused.
func (f *facts) unknownUntil(from time.Duration) time.Duration {
	if f.header.TTL == 0 {
		return histories.Forever
	}
	return from + f.header.TTL.D() + 2*f.slack
}

// newFacts returns what is known before the first event.
func newFacts(h histories.Header) *facts {
	return &facts{header: h, slack: h.SlackOr(), bound: h.FreedWithin(), counts: &Counts{}, past: newPast(h.SlackOr())}
}

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
