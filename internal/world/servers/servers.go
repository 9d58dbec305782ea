// Package servers starts the servers that locks talk to. In go the description of a store and a Spec of how, what and how
// many; out comes a Group of nodes, each with its URL, its counters, and the faults that can be injected into it. A server
// is started as a child process, in a container, as an emulator in this process, or was there before. Everything that is
// started here also ends here: with Stop or, if the harness is killed, without it.
//
// Each store has a package of its own beneath this one; package stores has the table of them.
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

// The ways to bring servers up.
const (
	Auto     = "auto"     // local if the server's program is installed, else docker if its daemon has the image, else embedded
	Embedded = "embedded" // for Redis an emulator inside this process: its latency compares with nothing
	Local    = "local"    // child processes on private ports of 127.0.0.1
	External = "external" // servers of the user's own: they were there before, and stay
	Docker   = "docker"   // containers, each on a port of 127.0.0.1
)

// ErrUnsupported is returned for what the emulator does not have. Its text is what to do about it.
var ErrUnsupported = errors.New("apt install redis-server")

// Spec states what is wanted.
type Spec struct {
	How        string // Auto, Embedded, Local, External or Docker
	Store      string // Redis, ...
	Deployment string // Single, Replica, ...; "" is Single
	Clock      bool   // the nodes' clocks can be moved: Node.Jump

	Remote Remote // where they are, with External
	Self   string // this program, which is a server of some stores itself (see StoreVerb); "": it is not
}

// Group is the servers of one trial.
type Group struct {
	Nodes  []Node // those that hold data, the primary first
	How    string // Embedded, Local, External or Docker: what Auto came to
	Server string // product, version and how, as a report states it: "redis 7.0.15 (local)"
	// Durability is what has become of a write when it is acknowledged, as a report states it.
	Durability string

	Replication Replication // nil: no node follows another

	release []func() error // what the nodes share; called in reverse after the last has stopped
}

// Replication is how some nodes of a group follow others, by their index in Group.Nodes.
type Replication interface {
	Stall(ctx context.Context, i int) error
	Promote(ctx context.Context, i int) error
	AwaitPromotion(ctx context.Context) (int, error)
}

// partitioned is a Replication of which each part has some of the keys.
type partitioned interface {
	Around(ctx context.Context, key string) ([]Node, error)
}

// Ways returns the names that Spec.How may have.
func Ways() []string { return []string{Auto, Embedded, Local, External, Docker} }

// Absent is the error of a store that cannot be had at all, whatever lock asks for it.
type Absent struct{ Why error }

func (a Absent) Error() string { return a.Why.Error() }

func (a Absent) Unwrap() error { return a.Why }

// Supported returns why such servers cannot be had; nil: they can. It asks no server.
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
			return fmt.Errorf("the emulator has no clock of its own: %w", ErrUnsupported)
		}
	case Docker:
		return dockerSupported(of, d, s.Clock)
	case Local:
		// That there is no redis-server is found when it is started: every run needs one.
		if err := of.Absent(); err != nil && of.Emulate == nil {
			return Absent{err}
		}
		if s.Clock && of.ClockMissing != nil {
			return of.ClockMissing()
		}
	}
	return nil
}

// Start brings servers up and returns when all of them answer. The context bounds the start only; what was started ends
// with Group.Stop. After an error nothing is left running.
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

// Resolve returns what a way comes to on this machine. That a server is installed and does not start is an error then:
// falling back would quietly measure something else.
func Resolve(how string, of Store) string {
	switch {
	case how == Embedded && of.Emulate == nil:
		return Local
	case how != Auto:
		return how
	case of.Absent() == nil:
		return Local
	case of.Image.Name != "" && atHand(of.image().Name):
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
			_ = g.Stop() // the reason not to start says more
			return nil, err
		}
		g.Nodes = append(g.Nodes, n)
	}
	return g, nil
}

// URLs returns the nodes' addresses, in order.
func (g *Group) URLs() []string {
	var urls []string
	for _, n := range g.Nodes {
		urls = append(urls, n.URL())
	}
	return urls
}

// Front returns the addresses that a lock talks to: of independent servers and of a cluster every one, of others the
// primary's.
func (g *Group) Front() []string {
	if _, all := g.Replication.(partitioned); g.Replication != nil && !all {
		return g.URLs()[:1]
	}
	return g.URLs()
}

// Stop stops every node and returns what went wrong, if anything. It may be called again.
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
		return fmt.Errorf("%s: it needs redis-servers of our own that follow one another", what)
	}
	return wrapped(what, do(g.Replication))
}

// Stall makes true that node i, a replica, receives nothing more of what its primary does, while the link stays up and
// the replica can be read. It has received all that was acknowledged before. It ends when the replica follows another
// node. An error: no fault was injected.
func (g *Group) Stall(ctx context.Context, i int) error {
	return g.following(fmt.Sprintf("stall the link to node %d", i), func(r Replication) error { return r.Stall(ctx, i) })
}

// Promote makes node i the primary now, and returns when it takes writes and the other living replicas follow it, which
// ends what Stall did to them. The old primary, if it lives, continues as one. An error: the group may be half way.
func (g *Group) Promote(ctx context.Context, i int) error {
	return g.following(fmt.Sprintf("promote node %d", i), func(r Replication) error { return r.Promote(ctx, i) })
}

// AwaitPromotion returns when Sentinels have replaced the primary, which is dead or does not answer, by another node that
// takes writes: its index in Nodes. It waits for a minute at most.
func (g *Group) AwaitPromotion(ctx context.Context) (i int, err error) {
	err = g.following("await a promotion", func(r Replication) (err error) { i, err = r.AwaitPromotion(ctx); return err })
	return i, err
}

// Around orders the nodes of a cluster around a key: the first is the primary that has it, the second its replica. It
// changes nothing of other groups. It must be called before any fault is injected.
func (g *Group) Around(ctx context.Context, key string) error {
	parts, ok := g.Replication.(partitioned)
	if !ok {
		return nil
	}
	nodes, err := parts.Around(ctx, key)
	if err == nil {
		g.Nodes = nodes
	}
	return err
}

// deposeWithin bounds the wait for another leader.
const deposeWithin = 20 * time.Second

// Depose kills the server that leads, and returns when another says that it does.
func (g *Group) Depose(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, deposeWithin)
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
		return nil, errors.New("it needs servers of our own that choose a leader")
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
		return errors.New("none was seen to lead")
	})
	return leads, err
}

// processes returns the nodes if all of them are child processes of ours.
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

// ProcessorTime returns what the group's processes and their children have taken so far. ErrNoCounters: they are not
// ours, or this system does not tell.
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
