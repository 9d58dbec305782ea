package workloads

import (
	"context"
	"time"
)

// Director receives the position of each client before the client continues. It may delay the client, and change its next
// step.
type Director interface {
	At(context.Context, Moment) Order
}

// Moment is a position in a client's run. It is plain data, so that a plan can name it.
type Moment struct {
	Client    int32  `json:"client,omitempty"`
	Iteration uint64 `json:"iteration,omitempty"`
	Point     Point  `json:"point"`
}

// Point is a position in an iteration.
type Point string

const (
	Asking    Point = "asking"    // about to acquire
	Granted   Point = "granted"   // granted, and the grant is recorded
	Working   Point = "working"   // holding: the resource has been read and not yet written
	Releasing Point = "releasing" // about to release
)

// Order changes what a client does next. The zero Order changes nothing.
type Order struct {
	Stall time.Duration // Granted: duration of the work, instead of the default
	Wait  time.Duration // Asking: Wait of the request, instead of the default; 0: default
	Leave bool          // the client stops: it was killed, or abandons its hold
	Rest  bool          // Asking: the client stops, but not because of a fault
}

// at passes the client's position to the director, if any.
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
