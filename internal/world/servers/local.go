package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/world/children"
)

const (
	pollEvery    = 2 * time.Millisecond
	portAttempts = 5
	logTail      = 1000 // bytes of a server's log that go into an error
)

// errPortTaken: somebody took a port between finding it free and listening on it.
var errPortTaken = errors.New("the port was taken")

// errStopped: the node was stopped, which is for good.
var errStopped = errors.New("it was stopped for good")

// product is what differs between servers that are child processes of ours. Its methods are called one at a time,
// but for URL, counters and ask.
type product interface {
	// URL is where it listens, for who connects.
	URL() string
	// prepare makes its folder ready, once in its life.
	prepare(context.Context) error
	// command is what to run. Its folder and its output are set by the caller.
	command() (*exec.Cmd, error)
	// ask returns the version of a server that answers with all it has, and answers as our child: another server
	// may have taken the port, and it would answer in its place while the child is on its way out.
	ask(context.Context) (version string, err error)
	counters(context.Context) (map[string]float64, error)
}

// local is a server of our own: a child process with its own folder, on private ports of 127.0.0.1. What can be
// done to one of some products only, those do.
type local struct {
	notOurs
	product product
	keeper  *children.Keeper
	ports   []int // the first is the clients'
	dir     string
	within  time.Duration // bounds its coming up: far more than it takes; a server that hangs must not hang the run
	version string
	freed   []func() error // what else ends with it

	child atomic.Pointer[children.Child] // the process that it is now

	life    sync.Mutex // held while it is started, killed or stopped; guards what follows
	ended   bool       // for good
	stopped error
}

// launcher is what the nodes of one group are started with.
type launcher struct {
	keeper   *children.Keeper
	freePort func() (int, error)
	given    *sync.Map // ports that were found free, and may not be listened on yet
	clock    string    // the library that moves a server's clock; "": none
	self     string    // Spec.Self
}

func startLocal(ctx context.Context, s Spec) (*Group, error) {
	of, err := findStore(s.Store)
	if err != nil {
		return nil, err
	}
	d, err := of.deployment(s.Deployment)
	if err != nil {
		return nil, err
	}
	if err := Missing(s.Store); err != nil {
		return nil, err
	}
	k, err := children.New()
	if err != nil {
		return nil, err
	}
	g := &Group{How: Local, Durability: of.durability, release: k.Close}
	l := launcher{keeper: k, freePort: freePort, given: new(sync.Map), self: s.Self}
	if s.Clock {
		err = l.withClock(ctx, g)
	}
	if err == nil {
		err = d.start(ctx, l, g, d.nodes)
	}
	if err != nil {
		return nil, errors.Join(err, g.Stop())
	}
	return g, nil
}

// add takes a server that came up.
func (g *Group) add(n Node, product, version string) {
	g.Nodes = append(g.Nodes, n)
	g.Server = fmt.Sprintf("%s %s (local)", product, version)
}

// atOnce starts so many servers and returns those that came up, in order, also where one did not.
func atOnce[N any](nodes int, start func(i int) (*N, error)) ([]*N, error) {
	all, errs := make([]*N, nodes), make([]error, nodes)
	var group sync.WaitGroup
	for i := range nodes {
		group.Go(func() { all[i], errs[i] = start(i) })
	}
	group.Wait()
	var started []*N
	for _, n := range all {
		if n != nil {
			started = append(started, n)
		}
	}
	return started, errors.Join(errs...)
}

// freePort finds a port that nobody listens on. Nothing reserves it.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// free finds so many ports, each of them once for all servers of the group, as far as there are others.
func (l launcher) free(ports int) ([]int, error) {
	all := make([]int, ports)
	for i := range all {
		for range portAttempts {
			var err error
			if all[i], err = l.freePort(); err != nil {
				return nil, fmt.Errorf("find a free port: %w", err)
			}
			if _, again := l.given.LoadOrStore(all[i], true); !again {
				break
			}
		}
	}
	return all, nil
}

// start starts one server that listens on so many ports, on others if one was taken meanwhile. A node is made for
// each attempt; what is made of it is what its caller gets.
func start[N any](ctx context.Context, l launcher, ports int, within time.Duration, of func(*local) (*N, product)) (*N, error) {
	for attempt := 1; ; attempt++ {
		free, err := l.free(ports)
		if err != nil {
			return nil, err
		}
		n := &local{keeper: l.keeper, ports: free, within: within}
		made, product := of(n)
		n.product, n.notOurs = product, notOurs{n}
		err = n.create(ctx)
		if err == nil {
			return made, nil
		}
		err = errors.Join(err, n.Stop())
		if !errors.Is(err, errPortTaken) || attempt == portAttempts {
			return nil, fmt.Errorf("server on port %d: %w", n.ports[0], err)
		}
	}
}

// create makes what a node keeps for its life, and runs it.
func (n *local) create(ctx context.Context) (err error) {
	if n.dir, err = n.keeper.Folder(); err != nil {
		return err
	}
	if err := n.product.prepare(ctx); err != nil {
		return err
	}
	return n.run(ctx)
}

// run starts the process and returns when it answers.
func (n *local) run(ctx context.Context) error {
	cmd, err := n.product.command()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(n.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	// Its output rather than a log file of its own: what it has to say against its own arguments comes before any
	// log file is open.
	cmd.Dir, cmd.Stdout, cmd.Stderr = n.dir, log, log
	c, err := n.keeper.Start(cmd)
	if err != nil {
		return err
	}
	n.child.Store(c)
	if err := n.awaitUp(ctx); err != nil {
		said := logged(n.dir)
		if bytes.Contains(bytes.ToLower(said), []byte("address already in use")) {
			err = errPortTaken
		}
		said = end(said)
		// Not politely: it has been waited for long enough.
		return errors.Join(fmt.Errorf("%s: %w; it said:\n%s", filepath.Base(cmd.Path), err, said), c.Kill())
	}
	return nil
}

// awaitUp returns when the server answers.
func (n *local) awaitUp(ctx context.Context) error {
	return n.await(ctx, "answer", func(ctx context.Context) bool {
		version, err := n.product.ask(ctx)
		if err == nil {
			n.version = version
		}
		return err == nil
	})
}

// await returns when something is as wanted, while the server lives.
func (n *local) await(ctx context.Context, what string, is func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, n.within)
	defer cancel()
	for c := n.child.Load(); ; {
		if is(ctx) {
			return nil
		}
		select {
		case <-c.Done():
			return fmt.Errorf("it ended at once (%s)", c.State())
		case <-ctx.Done():
			return fmt.Errorf("wait for it to %s: %w", what, ctx.Err())
		case <-time.After(pollEvery):
		}
	}
}

// logged is the log in a folder.
func logged(dir string) []byte {
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		return []byte(err.Error())
	}
	return log
}

// end is the last of a log: what goes into an error.
func end(log []byte) []byte { return bytes.TrimSpace(log[max(0, len(log)-logTail):]) }

// addr is where clients connect, as host:port.
func (n *local) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(n.ports[0])) }

func (n *local) URL() string { return n.product.URL() }

func (n *local) String() string { return n.addr() }

func (n *local) Counters(ctx context.Context) (map[string]float64, error) {
	c, err := n.product.counters(ctx)
	if err != nil {
		return nil, fmt.Errorf("counters of %s: %w", n, err)
	}
	return c, nil
}

func (n *local) Alive() bool {
	select {
	case <-n.child.Load().Done():
		return false
	default:
		return true
	}
}

func (n *local) Pause() error {
	if err := n.child.Load().Pause(); err != nil {
		return fmt.Errorf("pause %s: %w", n, err)
	}
	return nil
}

func (n *local) Resume() error {
	if err := n.child.Load().Resume(); err != nil {
		return fmt.Errorf("resume %s: %w", n, err)
	}
	return nil
}

// unseater is a product that can end the session of whoever holds a lock.
type unseater interface {
	unseat(ctx context.Context, key string) error
}

func (n *local) Unseat(ctx context.Context, key string) error {
	u, can := n.product.(unseater)
	if !can {
		return n.refuse("end a session of")
	}
	if err := u.unseat(ctx, key); err != nil {
		return fmt.Errorf("end the session that holds %q at %s: %w", key, n, err)
	}
	return nil
}

func (n *local) Kill() error {
	n.life.Lock()
	defer n.life.Unlock()
	return n.child.Load().Kill()
}

func (n *local) Restart(ctx context.Context) error {
	if err := n.restart(ctx); err != nil {
		return fmt.Errorf("restart %s: %w", n, err)
	}
	return nil
}

func (n *local) restart(ctx context.Context) error {
	n.life.Lock()
	defer n.life.Unlock()
	if n.ended {
		return errStopped
	}
	if err := n.child.Load().Kill(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, n.within)
	defer cancel()
	for {
		err := n.run(ctx)
		if !errors.Is(err, errPortTaken) { // a connection of somebody else's may have the number for a moment
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * pollEvery):
		}
	}
}

// Stop does not ask: nothing that the server holds is of use any more, and asking takes a tenth of a second.
func (n *local) Stop() error {
	n.life.Lock()
	defer n.life.Unlock()
	if n.ended {
		return n.stopped
	}
	n.ended = true
	var errs []error
	if c := n.child.Load(); c != nil {
		errs = append(errs, c.Kill())
	}
	for _, free := range n.freed {
		errs = append(errs, free())
	}
	if n.dir != "" {
		errs = append(errs, os.RemoveAll(n.dir))
	}
	n.stopped = errors.Join(errs...)
	return n.stopped
}
