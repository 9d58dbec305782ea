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
	"slices"
	"strconv"
	"sync"
	"time"

	"lockbench/internal/children"
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

// local is a redis-server of our own, with its own folder, on a private port of 127.0.0.1.
type local struct {
	child   *children.Child
	port    int
	dir     string
	version string

	once    sync.Once
	stopped error
}

var _ Node = (*local)(nil)

// launcher is what the nodes of one group are started with.
type launcher struct {
	keeper   *children.Keeper
	program  string
	freePort func() (int, error)
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
	l := launcher{k, program, freePort}
	start := l.independent
	if s.Deployment == Replica {
		start = l.primaryAndReplica
	}
	started, err := start(ctx, size(s.Deployment))
	for _, n := range started {
		g.Nodes = append(g.Nodes, n)
		g.Server = fmt.Sprintf("redis %s (local)", n.version)
	}
	if err != nil {
		return nil, errors.Join(err, g.Stop())
	}
	return g, nil
}

// independent starts so many servers at once, and returns those that came up also where one did not.
func (l launcher) independent(ctx context.Context, nodes int) ([]*local, error) {
	started, errs := make([]*local, nodes), make([]error, nodes)
	var all sync.WaitGroup
	for i := range nodes {
		all.Go(func() { started[i], errs[i] = l.start(ctx) })
	}
	all.Wait()
	return slices.DeleteFunc(started, func(n *local) bool { return n == nil }), errors.Join(errs...)
}

// primaryAndReplica returns when the replica follows and says so. Without its option the primary would wait five
// seconds for other replicas before it sends the first what it has.
func (l launcher) primaryAndReplica(ctx context.Context, _ int) ([]*local, error) {
	primary, err := l.start(ctx, "--repl-diskless-sync-delay", "0")
	if err != nil {
		return nil, err
	}
	replica, err := l.start(ctx, "--replicaof", "127.0.0.1", strconv.Itoa(primary.port))
	if err != nil {
		return []*local{primary}, err
	}
	return []*local{primary, replica}, errors.Join(replica.awaitLink(ctx), askAcknowledged(ctx, primary.addr()))
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
func (l launcher) start(ctx context.Context, options ...string) (*local, error) {
	for attempt := 1; ; attempt++ {
		port, err := l.freePort()
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		n, err := l.startOn(ctx, port, options)
		if err == nil {
			return n, nil
		}
		if !errors.Is(err, errPortTaken) || attempt == portAttempts {
			return nil, fmt.Errorf("%s on port %d: %w", l.program, port, err)
		}
	}
}

func (l launcher) startOn(ctx context.Context, port int, options []string) (*local, error) {
	dir, err := l.keeper.Folder()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	defer log.Close()
	cmd := exec.Command(l.program, append([]string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1",
		"--dir", dir, "--save", "", "--appendonly", "no"}, options...)...)
	// Its output rather than a --logfile: what it has to say against its own arguments comes before any
	// log file is open.
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	c, err := l.keeper.Start(cmd)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	n := &local{child: c, port: port, dir: dir}
	if err := n.awaitUp(ctx); err != nil {
		said := n.lastWords()
		if bytes.Contains(said, []byte("Address already in use")) {
			err = errPortTaken
		}
		_ = n.child.Kill() // not politely: it has been waited for long enough, and Stop says what is left
		return nil, errors.Join(fmt.Errorf("%w; it said:\n%s", err, said), n.Stop())
	}
	return n, nil
}

// awaitUp returns when the server answers, and answers as our child: another server may have taken the
// port, and it would answer in its place while the child is on its way out.
func (n *local) awaitUp(ctx context.Context) error {
	return n.await(ctx, "answer", "server", func(info map[string]string) bool {
		n.version = info["redis_version"]
		return info["process_id"] == strconv.Itoa(n.child.Pid())
	})
}

// awaitLink returns when a replica follows its primary.
func (n *local) awaitLink(ctx context.Context) error {
	return n.await(ctx, "follow its primary", "replication", func(info map[string]string) bool {
		return info["master_link_status"] == "up"
	})
}

// await returns when a section of the server's INFO is as wanted.
func (n *local) await(ctx context.Context, what, section string, is func(info map[string]string) bool) error {
	ctx, cancel := context.WithTimeout(ctx, upWithin)
	defer cancel()
	for {
		if info, err := askInfo(ctx, n.addr(), section); err == nil && is(info) {
			return nil
		}
		select {
		case <-n.child.Done():
			return fmt.Errorf("it ended at once (%v)", n.child.State())
		case <-ctx.Done():
			return fmt.Errorf("wait for it to %s: %w", what, ctx.Err())
		case <-time.After(pollEvery):
		}
	}
}

// lastWords is the end of the server's log.
func (n *local) lastWords() []byte {
	log, err := os.ReadFile(filepath.Join(n.dir, "log"))
	if err != nil {
		return []byte(err.Error())
	}
	return bytes.TrimSpace(log[max(0, len(log)-logTail):])
}

func (n *local) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(n.port)) }

func (n *local) URL() string { return "redis://" + n.addr() }

func (n *local) Counters(ctx context.Context) (map[string]float64, error) {
	info, err := askInfo(ctx, n.addr(), "all")
	if err != nil {
		return nil, fmt.Errorf("counters of %s: %w", n.URL(), err)
	}
	return counters(info)
}

func (n *local) Kill() error { return n.child.Kill() }

// Stop does not ask: nothing that the server holds is of use any more, and asking takes a tenth of a second.
func (n *local) Stop() error {
	n.once.Do(func() { n.stopped = errors.Join(n.child.Kill(), os.RemoveAll(n.dir)) })
	return n.stopped
}
