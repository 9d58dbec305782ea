package properties

import (
	"fmt"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// Facts are what judgements share.
type Facts struct {
	Header histories.Header
	Slack  time.Duration
	Bound  time.Duration // Header.FreedWithin
	Counts *checker.Counts
	Past   *projection.Past
	Until  time.Duration // how far the history was judged, known at its end
	Shaken bool          // something was done to servers, or to the whole network: a key may be gone for that reason

	Recovered []time.Duration // from the end of a client to the next grant of what it had, in order
}

// unknownUntil returns until when an acquire that may have taken effect explains that others are refused.
func (f *Facts) unknownUntil(from time.Duration) time.Duration {
	if f.Header.TTL == 0 {
		return histories.Forever
	}
	return from + f.Header.TTL.D() + 2*f.Slack
}

// NewFacts returns what is known before the first event.
func NewFacts(h histories.Header) *Facts {
	return &Facts{Header: h, Slack: h.SlackOr(), Bound: h.FreedWithin(), Counts: &checker.Counts{}, Past: projection.NewPast(h.SlackOr())}
}

// who names the client of a hold and, where the history says how clients were spread, its process.
func (c *Facts) who(h *projection.Hold) string { return c.client(&h.Acquire) }

func (c *Facts) client(op *histories.Op) string {
	switch {
	case op.Client == histories.Harness:
		return "lockbench"
	case c.Fresh(op):
		return "the fresh client of the epilogue"
	case c.Header.Processes > 1:
		return fmt.Sprintf("client %d (process %d)", op.Client, int(op.Client)%c.Header.Processes)
	}
	return fmt.Sprintf("client %d", op.Client)
}

// Fresh tells whether an operation is the epilogue's: those clients are numbered after all others.
func (c *Facts) Fresh(op *histories.Op) bool {
	return c.Header.Clients > 0 && int(op.Client) >= c.Header.Clients
}
