package servers

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// embeddedServer names the emulator; a test holds its version against go.mod.
const embeddedServer = "miniredis 2.40.0 (embedded emulator)"

// closeWithin bounds the end of the emulator.
const closeWithin = 5 * time.Second

// embedded is an emulator on a loopback port of this process.
type embedded struct {
	notOurs
	server *miniredis.Miniredis
	url    emulatorURL
	ended  atomic.Bool
}

type emulatorURL string

func (u emulatorURL) String() string { return string(u) }

var _ Node = (*embedded)(nil)

func startEmbedded(_ context.Context, s Spec) (*Group, error) {
	g := &Group{How: Embedded, Server: embeddedServer, Durability: "in the memory of lockbench itself", release: func() error { return nil }}
	for range s.nodes() {
		m := miniredis.NewMiniRedis()
		m.ClockTTL(true) // otherwise a key expires only when told to
		if err := m.StartAddr("127.0.0.1:0"); err != nil {
			_ = g.Stop() // the reason not to start says more
			return nil, err
		}
		url := emulatorURL("redis://" + m.Addr())
		g.Nodes = append(g.Nodes, &embedded{notOurs: notOurs{url}, server: m, url: url})
	}
	return g, nil
}

func (n *embedded) URL() string { return n.url.String() }

func (n *embedded) Alive() bool { return !n.ended.Load() }

func (n *embedded) Counters(context.Context) (map[string]float64, error) {
	return nil, fmt.Errorf("%s: %w", embeddedServer, ErrNoCounters)
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
		return fmt.Errorf("%s did not close within %v", n.url, closeWithin)
	}
}
