// Package servers brings up what a lock talks to. In goes how, what and how many; out comes a group of
// nodes, each with its URL, its counters, and the ways to end it. Everything that is started here also
// ends here: with Stop, or, where the harness is killed, without it.
package servers

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

// The ways to bring servers up.
const (
	Auto     = "auto"     // local if the server's program is installed, else embedded
	Embedded = "embedded" // an emulator inside this process: its latency compares with nothing
	Local    = "local"    // child processes on private ports of 127.0.0.1
)

// Redis is the one store known so far.
const Redis = "redis"

// The deployments: how many servers there are, and what they are to each other.
const (
	Single  = "single"  // one server
	Replica = "replica" // a primary, and one replica that follows it
	Five    = "five"    // five primaries that know nothing of each other
)

// ErrNoCounters is returned by the nodes that do not count.
var ErrNoCounters = errors.New("this server has no counters")

// ErrUnsupported is returned for a deployment that the chosen way cannot bring up.
var ErrUnsupported = errors.New("the emulator has no replication: apt install redis-server")

// Spec says what is wanted.
type Spec struct {
	How        string // Auto, Embedded, Local or External
	Store      string // Redis
	Deployment string // Single, Replica or Five; "" is Single

	Remote Remote // where they are, with External
}

// Node is one server.
type Node interface {
	// URL is where it listens. It stays the same for the node's life. It may have a password in it: it is
	// for who connects, never for a text.
	URL() string
	// Counters are the server's own cumulative figures since its start, by name. What costs it is seen by
	// subtracting two readings; asking is itself a command and is counted. ErrNoCounters: it has none.
	Counters(context.Context) (map[string]float64, error)
	// Kill ends it at once, with no chance to write or to say goodbye. To kill a dead node is no error.
	Kill() error
	// Stop ends it, if it is ours, and removes what it left on disk: within seconds, and without asking it to
	// save anything. It may be called again.
	Stop() error
}

// Group is the servers of one trial.
type Group struct {
	Nodes  []Node // the primary first
	How    string // Embedded, Local or External: what Auto came to
	Server string // product, version and how, as a report states it: "redis 7.0.15 (local)"

	release func() error // what the nodes share; called after the last has stopped
}

// way is one way to bring servers up.
type way struct {
	name  string
	start func(context.Context, Spec) (*Group, error)
}

func ways() []way {
	return []way{{Auto, startAuto}, {Embedded, startEmbedded}, {Local, startLocal}, {External, startExternal}}
}

// Ways are the names that Spec.How may have.
func Ways() []string {
	var names []string
	for _, w := range ways() {
		names = append(names, w.name)
	}
	return names
}

// size is how many servers a deployment has; 0 where there is no such deployment.
func size(deployment string) int {
	return map[string]int{"": 1, Single: 1, Replica: 2, Five: 5}[deployment]
}

// Supported says why such servers cannot be had; nil where they can. It asks no server.
func (s Spec) Supported() error {
	given := len(s.Remote.Addresses)
	switch {
	case size(s.Deployment) == 0:
		return fmt.Errorf("unknown deployment %q (known: %s, %s, %s)", s.Deployment, Single, Replica, Five)
	case s.How == External && s.Deployment == Replica:
		return errors.New("replication is not offered on servers of your own")
	case s.How == External && size(s.Deployment) > given:
		return fmt.Errorf("it needs %d servers, and --redis names %d", size(s.Deployment), given)
	case Resolve(s.How) == Embedded && s.Deployment == Replica:
		return ErrUnsupported
	}
	return nil
}

// Start brings servers up and returns when all of them answer. The context bounds the start only; what
// was started ends with Group.Stop. After an error nothing is left running.
func Start(ctx context.Context, s Spec) (*Group, error) {
	if s.Store != Redis {
		return nil, fmt.Errorf("start servers: unknown store %q (known: %s)", s.Store, Redis)
	}
	i := slices.Index(Ways(), s.How)
	if i < 0 {
		return nil, fmt.Errorf("start servers: unknown way %q (known: %s)", s.How, strings.Join(Ways(), ", "))
	}
	if err := s.Supported(); err != nil {
		return nil, fmt.Errorf("start %s servers: %w", s.How, err)
	}
	g, err := ways()[i].start(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("start %s servers: %w", s.How, err)
	}
	return g, nil
}

// Resolve says what Auto comes to on this machine; any other way is what it is.
func Resolve(how string) string {
	if how != Auto {
		return how
	}
	if _, err := exec.LookPath(redisProgram); err != nil {
		return Embedded
	}
	return Local
}

func startAuto(ctx context.Context, s Spec) (*Group, error) {
	if Resolve(s.How) == Embedded {
		return startEmbedded(ctx, s)
	}
	// A server that is installed and does not start is an error: falling back would quietly measure
	// something else.
	return startLocal(ctx, s)
}

// URLs are the nodes' addresses, in order.
func (g *Group) URLs() []string {
	var urls []string
	for _, n := range g.Nodes {
		urls = append(urls, n.URL())
	}
	return urls
}

// Stop stops every node and returns what went wrong, if anything. It may be called again.
func (g *Group) Stop() error {
	errs := make([]error, len(g.Nodes)+1)
	var all sync.WaitGroup
	for i, n := range g.Nodes {
		all.Go(func() { errs[i] = n.Stop() })
	}
	all.Wait()
	errs[len(g.Nodes)] = g.release()
	return errors.Join(errs...)
}
