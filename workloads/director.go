package workloads

import (
	"context"
	"time"
)

// Director is notified at each Point of a client's iteration. The client waits for the returned Order, which may change the
// client's next step.
type Director interface {
	At(context.Context, Moment) Order
}

// Moment is a point in a client's run, such as the grant in its third iteration. It can be stored as JSON in a fault plan.
type Moment struct {
	Client    int32  `json:"client,omitempty"`
	Iteration uint64 `json:"iteration,omitempty"`
	Point     Point  `json:"point"`
}

// Point is a step of an iteration, such as the grant.
type Point string

const (
	Asking    Point = "asking"    // before the client acquires a key
	Granted   Point = "granted"   // after the acquire was granted and recorded in the history
	Working   Point = "working"   // in the critical section: after the read of the resource and before the write
	Releasing Point = "releasing" // before the client releases a hold
)

// Order instructs a client to change what it does next, for example to work longer or to stop. The zero value changes
// nothing.
type Order struct {
	Stall  time.Duration // duration of the work, used only at the point Granted; 0: default
	Wait   time.Duration // timeout of the acquire at the point Asking, or of the release at the point Releasing; 0: default
	Cancel bool          // at the point Asking: cancel the context of the acquire after Wait, and do not shorten its timeout
	Spent  time.Duration // part of the work that has passed while the client waited for this Order, used at the points Granted and Working
	Leave  bool          // the client stops without a release: it was killed or goes away
	Rest   bool          // the client stops without a fault; used only at the point Asking
}

// reach informs the Director, which injects faults, that the client has reached the step p of an
// iteration. It returns the Director's Order, which states what the client does next. Without a Director, it returns
// the zero Order.
func (c *Client) reach(ctx context.Context, p Point) Order {
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
