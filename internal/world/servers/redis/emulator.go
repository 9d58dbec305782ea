package redis

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"

	"lockbench/internal/world/servers"
)

// emulator names it; a test holds its version against go.mod.
const emulator = "miniredis 2.40.0 (embedded emulator)"

// closeWithin bounds the end of the emulator.
const closeWithin = 5 * time.Second

type embedded struct {
	servers.Refusing
	server *miniredis.Miniredis
	ended  atomic.Bool
}

var _ servers.Node = (*embedded)(nil)

func emulate() (servers.Node, error) {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true) // otherwise a key expires only when told to
	if err := m.StartAddr("127.0.0.1:0"); err != nil {
		return nil, err
	}
	return &embedded{Refusing: servers.Refusing{Shown: "redis://" + m.Addr()}, server: m}, nil
}

func (n *embedded) URL() string { return n.Shown }

func (n *embedded) Alive() bool { return !n.ended.Load() }

func (n *embedded) Counters(context.Context) (map[string]float64, error) {
	return nil, fmt.Errorf("%s: %w", emulator, servers.ErrNoCounters)
}

func (n *embedded) Kill() error { return n.Stop() }

// Stop is bounded because the emulator waits for its handlers, and one that blocks in a command can miss
// the signal to end.
func (n *embedded) Stop() error {
	n.ended.Store(true)
	closed := make(chan struct{})
	go func() { n.server.Close(); close(closed) }()
	select {
	case <-closed:
		return nil
	case <-time.After(closeWithin):
		return fmt.Errorf("%s did not close within %v", n.Shown, closeWithin)
	}
}
