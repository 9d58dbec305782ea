package servers

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrNoCounters is returned by nodes that do not count.
var ErrNoCounters = errors.New("this server has no counters")

// Node is one server. When a method that injects a fault returns nil, the fault was seen to take effect; after an error
// it must be taken for not injected. The emulator and servers that are not ours refuse all faults but Kill (the emulator).
type Node interface {
	// URL returns where it listens, for its life. It may hold a password: it is for connecting, never for a text.
	URL() string
	// Counters returns the server's own cumulative figures since its start, by name. Subtract two readings to see what
	// something costs; asking is itself a command and is counted. ErrNoCounters: it has none.
	Counters(context.Context) (map[string]float64, error)
	// Alive reports whether it has a process, paused or not. One that is not ours is taken to be alive.
	Alive() bool

	// Pause stops the process; connections stay open, and what is sent to it waits. Resume continues it. Either is an
	// error of a dead node.
	Pause() error
	Resume() error
	// Kill ends it at once, with no chance to write or to say goodbye. To kill a dead node is no error.
	Kill() error
	// Restart kills it, unless it is dead, and starts it again on the same port with the same options. It returns within
	// seconds, when the node answers: empty, or, of the deployment Durable, with all that it has acknowledged. A replica
	// follows its primary again.
	Restart(context.Context) error
	// Jump moves its wall clock, forward or (by < 0) back, on top of earlier jumps, for the rest of the node's life. It
	// needs Spec.Clock.
	Jump(ctx context.Context, by time.Duration) error
	// Squeeze makes it short of memory until it evicts a key, and then gives the memory back. Other keys may be evicted
	// too, least recently used first. It is an error if the key is not there, or is not evicted within seconds.
	Squeeze(ctx context.Context, key string) error
	// Unseat ends the session that holds the lock with this key (with its prefix), as an administrator would. It is an
	// error if no holder was found, or its session is not seen to end.
	Unseat(ctx context.Context, key string) error

	// Stop ends it, if it is ours, and removes what it left on disk: within seconds, and without asking it to save
	// anything. It may be called again.
	Stop() error
}

// Refusing is embedded in nodes to refuse what can only be done to a server of our own: a fault that is not injected must
// not look as if it were.
type Refusing struct {
	Shown string // the node, as it may be shown
}

func (r Refusing) refuse(what string) error {
	return fmt.Errorf("%s %s: that needs a server of our own, of a product that it is known how to do it to", what, r.Shown)
}

func (r Refusing) Pause() error                              { return r.refuse("pause") }
func (r Refusing) Resume() error                             { return r.refuse("resume") }
func (r Refusing) Restart(context.Context) error             { return r.refuse("restart") }
func (r Refusing) Jump(context.Context, time.Duration) error { return r.refuse("move the clock of") }
func (r Refusing) Unseat(context.Context, string) error      { return r.refuse("end a session of") }
func (r Refusing) Squeeze(context.Context, string) error     { return r.refuse("take memory from") }
