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

	"lockbench/internal/children"

	"github.com/redis/go-redis/v9"
)

const (
	redisProgram = "redis-server"
	upWithin     = 7 * time.Second // far more than it takes; a server that hangs must not hang the run
	pollEvery    = 2 * time.Millisecond
	portAttempts = 5
	logTail      = 1000 // bytes of a server's log that go into an error
)

// errPortTaken: somebody took the port between finding it free and listening on it.
var errPortTaken = errors.New("the port was taken")

// errStopped: the node was stopped, which is for good.
var errStopped = errors.New("it was stopped for good")

// local is a redis-server of our own, with its own folder, on a private port of 127.0.0.1.
type local struct {
	launcher launcher
	command  command
	port     int
	dir      string
	clock    *wallClock // nil: it has the machine's
	version  string

	child atomic.Pointer[children.Child] // the process that it is now

	life    sync.Mutex // held while it is started, killed or stopped; guards what follows
	follows *forwarder // where its primary is reached; nil: it is one
	ended   bool       // for good
	stopped error
}

var _ Node = (*local)(nil)

// command is what a server is run with, once it has a port and a folder.
type command func(*local) ([]string, error)

// data is the command of a server that holds keys. Without its --save it would write them to disk now and then,
// and a replica would keep what it was sent at first.
func data(options ...string) command {
	return func(n *local) ([]string, error) {
		args := []string{"--port", strconv.Itoa(n.port), "--bind", "127.0.0.1", "--dir", n.dir, "--save", "", "--rdb-del-sync-files", "yes"}
		if n.follows != nil {
			args = append(args, "--replicaof", "127.0.0.1", n.follows.port())
		}
		return append(args, options...), nil
	}
}

// launcher is what the nodes of one group are started with.
type launcher struct {
	keeper   *children.Keeper
	program  string
	freePort func() (int, error)
	clock    string // the library that moves a server's clock; "": none
}

func startLocal(ctx context.Context, s Spec) (*Group, error) {
	program, err := exec.LookPath(redisProgram)
	if err != nil {
		return nil, fmt.Errorf("%w (apt install %s, or use %s servers)", err, redisProgram, Embedded)
	}
	k, err := children.New()
	if err != nil {
		return nil, err
	}
	g := &Group{How: Local, release: k.Close}
	l := launcher{keeper: k, program: program, freePort: freePort}
	if s.Clock {
		err = l.withClock(ctx, g)
	}
	if err == nil {
		d, _ := find(s.Deployment)
		err = d.start(ctx, l, g, d.nodes)
	}
	if err != nil {
		return nil, errors.Join(err, g.Stop())
	}
	return g, nil
}

// withClock makes what servers are started with, so that their clocks can be moved.
func (l *launcher) withClock(ctx context.Context, g *Group) error {
	dir, err := l.keeper.Folder()
	if err != nil {
		return err
	}
	g.release = func() error { return errors.Join(os.RemoveAll(dir), l.keeper.Close()) }
	l.clock, err = buildClock(ctx, l.keeper, dir)
	return err
}

// add takes a server that came up.
func (g *Group) add(n *local) {
	g.Nodes = append(g.Nodes, n)
	g.Server = fmt.Sprintf("redis %s (local)", n.version)
}

// startIndependent starts so many servers that know nothing of each other.
func startIndependent(ctx context.Context, l launcher, g *Group, nodes int) error {
	return l.startAll(ctx, g, nodes, data())
}

// startDurable starts a server that has written to disk what it has acknowledged.
func startDurable(ctx context.Context, l launcher, g *Group, nodes int) error {
	return l.startAll(ctx, g, nodes, data("--appendonly", "yes", "--appendfsync", "always"))
}

// startAll starts so many servers at once, and adds those that came up also where one did not.
func (l launcher) startAll(ctx context.Context, g *Group, nodes int, c command) error {
	started, err := atOnce(nodes, func(int) (*local, error) { return l.start(ctx, c, nil) })
	for _, n := range started {
		g.add(n)
	}
	return err
}

// atOnce starts so many servers and returns those that came up, in order, also where one did not.
func atOnce(nodes int, start func(i int) (*local, error)) ([]*local, error) {
	all, errs := make([]*local, nodes), make([]error, nodes)
	var group sync.WaitGroup
	for i := range nodes {
		group.Go(func() { all[i], errs[i] = start(i) })
	}
	group.Wait()
	var started []*local
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

// start starts one server, on another port if the first was taken meanwhile.
func (l launcher) start(ctx context.Context, c command, follows *forwarder) (*local, error) {
	for attempt := 1; ; attempt++ {
		port, err := l.freePort()
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		n := &local{launcher: l, command: c, port: port, follows: follows}
		err = n.create(ctx)
		if err == nil {
			return n, nil
		}
		err = errors.Join(err, n.Stop())
		if !errors.Is(err, errPortTaken) || attempt == portAttempts {
			return nil, fmt.Errorf("%s on port %d: %w", l.program, port, err)
		}
	}
}

// create makes what a node keeps for its life, and runs it.
func (n *local) create(ctx context.Context) (err error) {
	if n.dir, err = n.launcher.keeper.Folder(); err != nil {
		return err
	}
	if n.launcher.clock != "" {
		if n.clock, err = newWallClock(n.dir); err != nil {
			return err
		}
	}
	return n.run(ctx)
}

// run starts the process and returns when it answers.
func (n *local) run(ctx context.Context) error {
	args, err := n.command(n)
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(n.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(n.launcher.program, args...)
	// Its output rather than a --logfile: what it has to say against its own arguments comes before any
	// log file is open.
	cmd.Dir, cmd.Stdout, cmd.Stderr = n.dir, log, log
	if n.clock != nil {
		cmd.Env = n.clock.environ(n.launcher.clock)
	}
	c, err := n.launcher.keeper.Start(cmd)
	if err != nil {
		return err
	}
	n.child.Store(c)
	if err := n.awaitUp(ctx); err != nil {
		said := logEnd(n.dir)
		if bytes.Contains(said, []byte("Address already in use")) {
			err = errPortTaken
		}
		// Not politely: it has been waited for long enough.
		return errors.Join(fmt.Errorf("%w; it said:\n%s", err, said), c.Kill())
	}
	return nil
}

// awaitUp returns when the server answers with all it has, and answers as our child: another server may have
// taken the port, and it would answer in its place while the child is on its way out.
func (n *local) awaitUp(ctx context.Context) error {
	return n.await(ctx, "answer", "all", func(info map[string]string) bool {
		n.version = info["redis_version"]
		ours := info["process_id"] == strconv.Itoa(n.child.Load().Pid())
		return ours && info["loading"] != "1"
	})
}

// await returns when a section of the server's INFO is as wanted.
func (n *local) await(ctx context.Context, what, section string, is func(info map[string]string) bool) error {
	ctx, cancel := context.WithTimeout(ctx, upWithin)
	defer cancel()
	for c := n.child.Load(); ; {
		if info, err := askInfo(ctx, n.addr(), section); err == nil && is(info) {
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

// logEnd is the end of the log in a folder.
func logEnd(dir string) []byte {
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		return []byte(err.Error())
	}
	return bytes.TrimSpace(log[max(0, len(log)-logTail):])
}

func (n *local) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(n.port)) }

func (n *local) URL() string { return "redis://" + n.addr() }

// client is for what is more than one question. The caller closes it.
func (n *local) client() *redis.Client { return quiet(&redis.Options{Addr: n.addr()}) }

func (n *local) Counters(ctx context.Context) (map[string]float64, error) {
	info, err := askInfo(ctx, n.addr(), "all")
	if err != nil {
		return nil, fmt.Errorf("counters of %s: %w", n.URL(), err)
	}
	return counters(info)
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
		return fmt.Errorf("pause %s: %w", n.URL(), err)
	}
	return nil
}

func (n *local) Resume() error {
	if err := n.child.Load().Resume(); err != nil {
		return fmt.Errorf("resume %s: %w", n.URL(), err)
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
		return fmt.Errorf("restart %s: %w", n.URL(), err)
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
	ctx, cancel := context.WithTimeout(ctx, upWithin)
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
	if n.clock != nil {
		errs = append(errs, n.clock.offset.close())
	}
	if n.dir != "" {
		errs = append(errs, os.RemoveAll(n.dir))
	}
	n.stopped = errors.Join(errs...)
	return n.stopped
}
