// Package servers brings up what a lock talks to. In goes how, what and how many; out comes a group of
// nodes, each with its URL, its counters, and the ways to end it. Everything that is started here also
// ends here: with Stop, or, where the harness is killed, without it.
package servers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// The ways to bring servers up.
const (
	Auto     = "auto"     // local if the server's program is installed, else docker if its daemon has the image, else embedded
	Embedded = "embedded" // for Redis an emulator inside this process: its latency compares with nothing
	Local    = "local"    // child processes on private ports of 127.0.0.1
)

// ErrNoCounters is returned by the nodes that do not count.
var ErrNoCounters = errors.New("this server has no counters")

// ErrUnsupported is returned for what the emulator does not have. Its text is what to do about it.
var ErrUnsupported = errors.New("apt install redis-server")

// Spec says what is wanted.
type Spec struct {
	How        string // Auto, Embedded, Local or External
	Store      string // Redis, ...
	Deployment string // Single, Replica, ...; "" is Single
	Clock      bool   // the nodes' clocks can be moved: Node.Jump

	Remote Remote // where they are, with External
	Self   string // this program, which is a server of some stores itself (see StoreVerb); "": it is not
}

// Node is one server. What goes wrong with it by our doing was seen to take effect when the method returns; after
// an error it must be taken for not injected. The emulator and servers that are not ours refuse all but Kill (the
// emulator), and say so.
type Node interface {
	// URL is where it listens. It stays the same for the node's life. It may have a password in it: it is
	// for who connects, never for a text.
	URL() string
	// Counters are the server's own cumulative figures since its start, by name. What costs it is seen by
	// subtracting two readings; asking is itself a command and is counted. ErrNoCounters: it has none.
	Counters(context.Context) (map[string]float64, error)
	// Alive says whether it has a process, paused or not. One that is not ours is taken to be alive.
	Alive() bool

	// Pause makes the process stand still; connections stay open, and what is sent to it waits. Resume lets it
	// go on. Either is an error of a dead node.
	Pause() error
	Resume() error
	// Kill ends it at once, with no chance to write or to say goodbye. To kill a dead node is no error.
	Kill() error
	// Restart kills it, unless it is dead, and starts it again on the same port with the same options. It
	// returns within seconds, when the node answers: empty, or, of the deployment Durable, with all that it
	// has acknowledged. A node follows again whom it followed.
	Restart(context.Context) error
	// Jump moves its wall clock, forward or (by < 0) back, on top of earlier jumps, for the rest of the node's
	// life. It needs Spec.Clock.
	Jump(ctx context.Context, by time.Duration) error
	// Squeeze makes it short of memory until it evicts a key, and then gives the memory back. Other keys may be
	// evicted too, those that were not used lately first. It is an error if the key is not there, or is not
	// evicted within seconds.
	Squeeze(ctx context.Context, key string) error
	// Unseat ends the session that holds the lock with this key (with its prefix), as an administrator would. It is an
	// error if nobody was seen to hold it, or its session is not seen to end.
	Unseat(ctx context.Context, key string) error

	// Stop ends it, if it is ours, and removes what it left on disk: within seconds, and without asking it to
	// save anything. It may be called again.
	Stop() error
}

// Group is the servers of one trial.
type Group struct {
	Nodes  []Node // those that hold data, the primary first
	How    string // Embedded, Local or External: what Auto came to
	Server string // product, version and how, as a report states it: "redis 7.0.15 (local)"
	// Durability is what has become of a write when it is acknowledged, as a report states it.
	Durability string

	replicated *replicated  // nil: no node follows another; of a cluster the part around which the nodes stand
	cluster    *cluster     // nil: it is none
	release    func() error // what the nodes share; called after the last has stopped
}

// way is one way to bring servers up.
type way struct {
	name  string
	start func(context.Context, Spec) (*Group, error)
}

func ways() []way {
	return []way{{Auto, nil}, {Embedded, startEmbedded}, {Local, startLocal}, {External, startExternal}, {Docker, startDocker}} // auto comes to one of the others
}

// Ways are the names that Spec.How may have.
func Ways() []string {
	var names []string
	for _, w := range ways() {
		names = append(names, w.name)
	}
	return names
}

// nodes is how many servers hold data; 0 where there is no such deployment.
func (s Spec) nodes() int {
	of, _ := findStore(s.Store)
	d, _ := of.deployment(s.Deployment)
	return d.nodes
}

// Supported says why such servers cannot be had; nil where they can. It asks no server.
func (s Spec) Supported() error {
	of, err := findStore(s.Store)
	if err != nil {
		return err
	}
	d, err := of.deployment(s.Deployment)
	if err != nil {
		return err
	}
	switch Resolve(s.How, s.Store) {
	case External:
		named := s.Remote.named(of, d.nodes)
		switch {
		case errors.As(named, new(Absent)):
			return named
		case d.needs != "":
			return fmt.Errorf("%s is not offered on servers of your own", d.needs)
		case named != nil:
			return named
		case s.Clock:
			return errors.New("the clock of a server of your own is not moved")
		}
	case Embedded:
		switch {
		case d.needs != "":
			return fmt.Errorf("the emulator has no %s: %w", d.needs, ErrUnsupported)
		case s.Clock:
			return fmt.Errorf("the emulator has no clock of its own: %w", ErrUnsupported)
		}
	case Docker:
		return dockerSupported(of, d, s.Clock)
	case Local:
		// That there is no redis-server is found when it is started: every run needs one.
		if err := Missing(s.Store); err != nil && s.Store != Redis {
			return Absent{err}
		}
		if s.Clock {
			return clockSupported()
		}
	}
	return nil
}

// Start brings servers up and returns when all of them answer. The context bounds the start only; what
// was started ends with Group.Stop. After an error nothing is left running.
func Start(ctx context.Context, s Spec) (*Group, error) {
	if !slices.Contains(Ways(), s.How) {
		return nil, fmt.Errorf("start servers: unknown way %q (known: %s)", s.How, strings.Join(Ways(), ", "))
	}
	if err := s.Supported(); err != nil {
		return nil, fmt.Errorf("start %s servers: %w", s.How, err)
	}
	i := slices.Index(Ways(), Resolve(s.How, s.Store))
	g, err := ways()[i].start(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("start %s servers: %w", s.How, err)
	}
	return g, nil
}

// Resolve says what a way comes to on this machine, for a store. That a server is installed and does not start
// is an error then: falling back would quietly measure something else. Only Redis has an emulator.
func Resolve(how, store string) string {
	switch {
	case how == Embedded && store != Redis:
		return Local
	case how != Auto:
		return how
	case Missing(store) == nil:
		return Local
	}
	if i, known := imageOf(store); known && atHand()[i.name] {
		return Docker
	}
	if store == Redis {
		return Embedded
	}
	return Local
}

// URLs are the nodes' addresses, in order.
func (g *Group) URLs() []string {
	var urls []string
	for _, n := range g.Nodes {
		urls = append(urls, n.URL())
	}
	return urls
}

// Front are the addresses that a lock asks: of independent servers and of a cluster every one, of others the primary's.
func (g *Group) Front() []string {
	if g.replicated != nil && g.cluster == nil {
		return g.URLs()[:1]
	}
	return g.URLs()
}

// Stop stops every node and returns what went wrong, if anything. It may be called again.
func (g *Group) Stop() error {
	errs := make([]error, len(g.Nodes)+2)
	var all sync.WaitGroup
	for i, n := range g.Nodes {
		all.Go(func() { errs[i] = n.Stop() })
	}
	if g.replicated != nil {
		all.Go(func() { errs[len(g.Nodes)] = g.replicated.close() })
	}
	all.Wait()
	errs[len(g.Nodes)+1] = g.release()
	return errors.Join(errs...)
}
