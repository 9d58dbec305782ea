// Package servers starts the servers that locks use. Start takes a Store and a Spec, and returns a Group of nodes. Each
// Node has a URL, counters, and methods that inject faults.
//
// A server runs as a child process, in a container or as an emulator in this process, or it is the user's own. Servers that
// this package starts end with Group.Stop, or with the harness if that is killed.
//
// Each store has a subpackage. Package stores lists them.
package servers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/internal/world/children"
)

// The ways to start servers.
const (
	Auto     = "auto"     // Local if the store is installed, else Docker if a daemon has the image, else Embedded
	Embedded = "embedded" // an emulator in this process, Redis only; its latencies are not comparable
	Local    = "local"    // child processes on ports of 127.0.0.1
	External = "external" // the user's servers, which are neither started nor stopped
	Docker   = "docker"   // containers, each on a port of 127.0.0.1
)

// ErrUnsupported is returned for features that the emulator lacks. Its text states the remedy.
var ErrUnsupported = errors.New("apt install redis-server")

// Spec states which servers to start.
type Spec struct {
	How        string // Auto, Embedded, Local, External or Docker
	Store      string // Redis, ...
	Deployment string // Single, Replica, ...; "" is Single
	Clock      bool   // the nodes' clocks can be moved: see Node.MoveClock

	Remote Remote // the user's servers, for External
	Self   string // path of this program, for the stores that it serves itself (see StoreVerb)
}

// Group is the servers of one trial.
type Group struct {
	Nodes  []Node // the nodes that hold data, the primary first
	How    string // Embedded, Local, External or Docker; never Auto
	Server string // product, version and How: "redis 7.0.15 (local)"
	// Durability describes the effect of a crash on an acknowledged write, for reports.
	Durability string

	Replication Replication // nil without replication

	release []func() error // called in reverse order after the nodes have stopped
}

// Replication controls how nodes of a group follow others. A node is named by its index in Group.Nodes.
type Replication interface {
	Stall(ctx context.Context, i int) error
	Promote(ctx context.Context, i int) error
	AwaitPromotion(ctx context.Context) (int, error)
}

// partitioned is a Replication in which each shard has some of the keys.
type partitioned interface {
	OrderByKey(ctx context.Context, key string) ([]Node, error)
}

// Ways returns the valid values of Spec.How.
func Ways() []string { return []string{Auto, Embedded, Local, External, Docker} }

// Absent is the error for a store that is not available, whichever lock uses it.
type Absent struct{ Why error }

func (a Absent) Error() string { return a.Why.Error() }

func (a Absent) Unwrap() error { return a.Why }

// Supported returns the reason why such servers cannot be started, or nil. It contacts no server.
func Supported(of Store, s Spec) error {
	d, err := of.deployment(s.Deployment)
	if err != nil {
		return err
	}
	switch Resolve(s.How, of) {
	case External:
		return externalSupported(of, d, s)
	case Embedded:
		switch {
		case d.Needs != "":
			return fmt.Errorf("the emulator has no %s: %w", d.Needs, ErrUnsupported)
		case s.Clock:
			return fmt.Errorf("the emulator's clock cannot be moved: %w", ErrUnsupported)
		}
	case Docker:
		return dockerSupported(of, d, s.Clock)
	case Local:
		// A missing redis-server is reported by Start, since the emulator cannot replace it in every run.
		if err := of.Absent(); err != nil && of.Emulate == nil {
			return Absent{err}
		}
		if s.Clock && of.ClockMissing != nil {
			return of.ClockMissing()
		}
	}
	return nil
}

// Start starts servers and returns when all of them answer. The context bounds the start only. If it fails, no server is
// left running. Group.Stop stops the servers.
func Start(ctx context.Context, of Store, s Spec) (*Group, error) {
	if !slices.Contains(Ways(), s.How) {
		return nil, fmt.Errorf("start servers: unknown way %q (known: %s)", s.How, strings.Join(Ways(), ", "))
	}
	g, err := start(ctx, of, s)
	if err != nil {
		return nil, fmt.Errorf("start %s servers: %w", s.How, err)
	}
	return g, nil
}

func start(ctx context.Context, of Store, s Spec) (g *Group, err error) {
	if err := Supported(of, s); err != nil {
		return nil, err
	}
	d, err := of.deployment(s.Deployment)
	if err != nil {
		return nil, err
	}
	how := Resolve(s.How, of)
	switch how {
	case Embedded:
		g, err = startEmbedded(of, d)
	case Local:
		g, err = startLocal(ctx, of, d, s)
	case External:
		g, err = startExternal(ctx, of, d, s)
	case Docker:
		g, err = startDocker(ctx, of, d)
	}
	if err == nil {
		g.How = how
	}
	return g, err
}

// Resolve returns the way in which servers are started on this machine if how is requested. There is no fallback for an
// installed server that fails to start: it would silently measure another server.
func Resolve(how string, of Store) string {
	switch {
	case how == Embedded && of.Emulate == nil:
		return Local
	case how != Auto:
		return how
	case of.Absent() == nil:
		return Local
	case of.Image.Name != "" && hasImage(of.image().Name):
		return Docker
	case of.Emulate != nil:
		return Embedded
	}
	return Local
}

func startEmbedded(of Store, d Deployment) (*Group, error) {
	g := &Group{Server: of.Emulator, Durability: "in the memory of lockbench itself"}
	for range d.Nodes {
		n, err := of.Emulate()
		if err != nil {
			_ = g.Stop() // the first error is more useful
			return nil, err
		}
		g.Nodes = append(g.Nodes, n)
	}
	return g, nil
}

// URLs returns the addresses of the nodes, in order.
func (g *Group) URLs() []string {
	var urls []string
	for _, n := range g.Nodes {
		urls = append(urls, n.URL())
	}
	return urls
}

// Front returns the addresses that a lock connects to: the primary's if there is replication, otherwise and for a cluster
// those of all nodes.
func (g *Group) Front() []string {
	if _, all := g.Replication.(partitioned); g.Replication != nil && !all {
		return g.URLs()[:1]
	}
	return g.URLs()
}

// Stop stops every node and joins the errors. Further calls have no effect.
func (g *Group) Stop() error {
	errs := []error{Each(len(g.Nodes), func(i int) error { return g.Nodes[i].Stop() })}
	for _, release := range slices.Backward(g.release) {
		errs = append(errs, release())
	}
	return errors.Join(errs...)
}

func wrapped(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (g *Group) following(what string, do func(Replication) error) error {
	if g.Replication == nil {
		return fmt.Errorf("%s: needs replicated redis-servers started by lockbench", what)
	}
	return wrapped(what, do(g.Replication))
}

// Stall stops replication to node i, a replica, after the replica has received every acknowledged write. The link stays up
// and the replica can be read. The stall ends when the replica follows another node. If Stall fails, no fault was injected.
func (g *Group) Stall(ctx context.Context, i int) error {
	return g.following(fmt.Sprintf("stall the link to node %d", i), func(r Replication) error { return r.Stall(ctx, i) })
}

// Promote makes node i the primary. It returns when node i accepts writes and the other living replicas follow it, which
// ends their stalls. The old primary, if it lives, remains a primary. If Promote fails, the group may be partly changed.
func (g *Group) Promote(ctx context.Context, i int) error {
	return g.following(fmt.Sprintf("promote node %d", i), func(r Replication) error { return r.Promote(ctx, i) })
}

// AwaitPromotion returns when Sentinels have replaced the primary by another node that accepts writes. It returns the index
// of that node. It fails after a minute.
func (g *Group) AwaitPromotion(ctx context.Context) (i int, err error) {
	err = g.following("await a promotion", func(r Replication) (err error) { i, err = r.AwaitPromotion(ctx); return err })
	return i, err
}

// OrderByKey orders the nodes of a cluster so that the primary of a key comes first and its replica second. It has no
// effect on other groups. It must be called before any fault is injected.
func (g *Group) OrderByKey(ctx context.Context, key string) error {
	parts, ok := g.Replication.(partitioned)
	if !ok {
		return nil
	}
	nodes, err := parts.OrderByKey(ctx, key)
	if err == nil {
		g.Nodes = nodes
	}
	return err
}

const electionTimeout = 20 * time.Second

// KillLeader kills the leader and returns when another server leads.
func (g *Group) KillLeader(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, electionTimeout)
	defer cancel()
	old, err := g.awaitLeader(ctx, nil)
	if err == nil {
		err = old.Kill()
	}
	if err == nil {
		_, err = g.awaitLeader(ctx, old)
	}
	return wrapped("kill the leader", err)
}

func (g *Group) awaitLeader(ctx context.Context, not *Process) (leads *Process, err error) {
	processes, ok := g.processes()
	if !ok || processes[0].store.Leads == nil {
		return nil, errors.New("needs an ensemble started by lockbench")
	}
	err = Poll(ctx, 10*PollEvery, func(ctx context.Context) error {
		for _, p := range processes {
			if p == not {
				continue
			}
			if is, err := p.store.Leads(ctx, p.Addr()); err == nil && is {
				leads = p
				return nil
			}
		}
		return errors.New("no server leads")
	})
	return leads, err
}

// processes returns the nodes if all of them are child processes.
func (g *Group) processes() (all []*Process, ok bool) {
	for _, n := range g.Nodes {
		of, ok := n.(interface{ process() *Process })
		if !ok {
			return nil, false
		}
		all = append(all, of.process())
	}
	return all, len(all) > 0
}

// ProcessorTime returns the processor time used so far by the group's processes and their descendants. It returns
// ErrNoCounters if the nodes are not child processes or the system does not report it.
func (g *Group) ProcessorTime() (time.Duration, error) {
	all, ok := g.processes()
	if !ok {
		return 0, ErrNoCounters
	}
	var pids []int
	for _, p := range all {
		pids = append(pids, p.Pid())
	}
	took, err := children.ProcessorTime(pids)
	if errors.Is(err, errors.ErrUnsupported) {
		err = ErrNoCounters
	}
	return took, err
}
