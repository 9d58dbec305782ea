package workloads

import (
	"context"
	"time"
)

// Director is told where each client is, before the client goes on. It may delay the client, and change what the client does
// next.
type Director interface {
	At(context.Context, Moment) Order
}

// Moment is a place in what a client does. It is plain data, so that a plan can name it.
type Moment struct {
	Client    int32  `json:"client,omitempty"`
	Iteration uint64 `json:"iteration,omitempty"`
	Point     Point  `json:"point"`
}

// Point is a place in an iteration.
type Point string

const (
	Asking    Point = "asking"    // about to ask for the lock
	Granted   Point = "granted"   // it was, and the grant is recorded
	Working   Point = "working"   // at work under the lock: what is guarded has been read, and not yet written
	Releasing Point = "releasing" // about to give it back
)

// Order is what a client is to do other than usual. The zero Order is to go on.
type Order struct {
	Stall time.Duration // Granted: work for so long, rather than for the usual time
	Wait  time.Duration // Asking: wait for so long, rather than for the usual time; 0: as usual
	Leave bool          // the client does nothing any more: it was killed, or abandons what it holds
	Rest  bool          // Asking: it asks no more, and that is no fault
}

// at tells the director, if there is one, where the client is.
func (c *Client) at(ctx context.Context, p Point) Order {
	if c.director == nil {
		return Order{}
	}
	o := c.director.At(ctx, Moment{c.number, c.iteration, p})
	if o.Leave {
		c.gone = true
	}
	if o.Leave || o.Rest {
		c.Leave()
	}
	return o
}
