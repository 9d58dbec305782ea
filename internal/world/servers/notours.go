package servers

import (
	"context"
	"fmt"
	"time"
)

// notOurs refuses what can only be done to a server of our own: a fault that is not injected must not look
// as if it were. A node that is none has it in it.
type notOurs struct {
	shown fmt.Stringer // the node, as it may be shown
}

func (n notOurs) refuse(what string) error {
	return fmt.Errorf("%s %s: that needs a server of our own, of a product that it is known how to do it to", what, n.shown)
}

func (n notOurs) Pause() error                              { return n.refuse("pause") }
func (n notOurs) Resume() error                             { return n.refuse("resume") }
func (n notOurs) Restart(context.Context) error             { return n.refuse("restart") }
func (n notOurs) Jump(context.Context, time.Duration) error { return n.refuse("move the clock of") }
func (n notOurs) Unseat(context.Context, string) error      { return n.refuse("end a session of") }
func (n notOurs) Squeeze(context.Context, string) error     { return n.refuse("take memory from") }
