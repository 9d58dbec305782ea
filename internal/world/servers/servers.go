// Package servers starts the servers that locks use. Start takes a Store and a Spec, and returns a Group of nodes. Each
// Node has a URL, counters, and methods that inject faults.
//
// A server runs as a child process, in a container, or as an emulator in this process. A user's own server can be used
// instead. Group.Stop ends the servers that this package has started. Child processes also end if this process is killed.
//
// Each store has a subpackage. Package stores lists the stores.
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

// Start methods, which are the valid values of Spec.How.
const (
	Auto     = "auto"     // Local if the store is installed; else Docker if the Docker daemon has the image; else Embedded
	Embedded = "embedded" // an emulator in this process, only for Redis; its latencies differ from those of a server
	Local    = "local"    // child processes on ports of 127.0.0.1
	External = "external" // servers of the user, which are neither started nor stopped
	Docker   = "docker"   // containers, each with a port of 127.0.0.1
)

// ErrUnsupported is returned for features that the emulator lacks. Its text is the command that installs a real server.
var ErrUnsupported = errors.New("apt install redis-server")

// Spec states which servers to start.
type Spec struct {
	How        string // start method: Auto, Embedded, Local, External or Docker
	Store      string // name of the store, such as Redis
	Deployment string // Single, Replica or another deployment; "": Single
	Clock      bool   // whether Node.MoveClock can move the nodes' clocks

	Remote Remote // servers of the user, used if How is External
	Self   string // path of this program, which can also run the servers of built-in stores (see StoreVerb)
}

// Group holds the servers of one trial.
type Group struct {
	Nodes  []Node // nodes that hold data, the primary first
	How    string // start method that was used: Embedded, Local, External or Docker
	Server string // product, version and start method, such as "redis 7.0.15 (local)"
	// Durability states what a crash does to an acknowledged write. It is shown in reports.
	Durability string

	Replication Replication // nil if no replica can be stalled or promoted

	deployment string    // name of the deployment
	observing  Observing // how the entries of the servers are observed

	release []func() error // functions that Stop calls after it has stopped the nodes, in reverse order
}

// Replication controls the replication within a group. Each method takes or returns the index of a node in Group.Nodes.
type Replication interface {
	Stall(ctx context.Context, i int) error
	Promote(ctx context.Context, i int) error
	AwaitPromotion(ctx context.Context) (int, error)
}

// partitioned is implemented by a Replication with several primaries, each of which holds only some of the keys.
type partitioned interface {
	OrderByKey(ctx context.Context, key string) ([]Node, error)
}

// Ways returns the valid values of Spec.How.
func Ways() []string { return []string{Auto, Embedded, Local, External, Docker} }

// Absent is the error for a store that cannot be used. For example, the store is not installed.
type Absent struct{ Why error }

func (a Absent) Error() string { return a.Why.Error() }

func (a Absent) Unwrap() error { return a.Why }

// Supported returns an error if the servers of a Spec cannot be started. It connects to no server.
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
		// Accept a store with an emulator even if it is not installed. Start then returns the error.
		if err := of.Absent(); err != nil && of.Emulate == nil {
			return Absent{err}
		}
		if d.Missing != nil {
			if err := d.Missing(); err != nil {
				return err
			}
		}
		if s.Clock && of.ClockMissing != nil {
			return of.ClockMissing()
		}
	}
	return nil
}

// Start starts servers and returns when all of them answer. The context limits only the start, not the life of the
// servers. If Start fails, it leaves no server running. Call Group.Stop to stop the servers.
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
		g.How, g.deployment, g.observing = how, d.Name, of.Observing
	}
	return g, err
}

// Resolve returns the start method that is used for the requested method how, for example Local for Auto. If an
// installed server fails to start, no other method is tried. Otherwise lockbench would silently measure another server.
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
			_ = g.Stop() // ignore the error, because the error of Emulate is more useful
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

// Front returns the addresses that a lock connects to. If one primary has all keys and the other nodes are its replicas,
// this is only the primary's address. Otherwise it is the addresses of all nodes.
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

// Stall stops replication to the replica with index i, after the replica has received every acknowledged write. The
// connection stays up, and the replica can still be read. The stall ends when the replica follows another node. If Stall
// fails, the replica is not stalled.
func (g *Group) Stall(ctx context.Context, i int) error {
	return g.following(fmt.Sprintf("stall the link to node %d", i), func(r Replication) error { return r.Stall(ctx, i) })
}

// Promote makes node i the primary. It returns when node i accepts writes and all other running replicas follow node i.
// These replicas are no longer stalled. The old primary stays a primary if it is running. If Promote fails, the group
// may be partly changed.
func (g *Group) Promote(ctx context.Context, i int) error {
	return g.following(fmt.Sprintf("promote node %d", i), func(r Replication) error { return r.Promote(ctx, i) })
}

// AwaitPromotion waits until the Sentinels have promoted another node and the new primary accepts writes. It returns
// the index of the new primary, or an error after a minute.
func (g *Group) AwaitPromotion(ctx context.Context) (i int, err error) {
	err = g.following("await a promotion", func(r Replication) (err error) { i, err = r.AwaitPromotion(ctx); return err })
	return i, err
}

// OrderByKey orders the nodes of a cluster. The primary that holds the key comes first, and its replica comes second.
// OrderByKey has no effect on other groups. It must be called before any fault is injected.
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

// KillLeader kills the leader of an ensemble. It returns when another server has become the leader.
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

// processes returns the nodes as processes. ok is true if all nodes are child processes.
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

// ProcessorTime returns the processor time used so far by the servers' processes and their descendants. It returns
// ErrNoCounters if the servers are not child processes or the system does not report processor times.
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
