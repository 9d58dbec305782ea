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
	"syscall"
	"time"
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
	child   *child
	port    int
	dir     string
	version string

	once    sync.Once
	stopped error
}

var _ Node = (*local)(nil)

// launcher is what the nodes of one group are started with.
type launcher struct {
	keeper   *keeper
	program  string
	freePort func() (int, error)
}

func startLocal(ctx context.Context, s Spec) (*Group, error) {
	program, err := exec.LookPath(redisProgram)
	if err != nil {
		return nil, fmt.Errorf("%w (apt install %s, or use %s servers)", err, redisProgram, Embedded)
	}
	k, err := newKeeper()
	if err != nil {
		return nil, err
	}
	g := &Group{How: Local, release: k.close}
	l := launcher{k, program, freePort}
	for range s.Nodes {
		n, err := l.start(ctx)
		if err != nil {
			return nil, errors.Join(err, g.Stop())
		}
		g.Nodes = append(g.Nodes, n)
		g.Server = fmt.Sprintf("redis %s (local)", n.version)
	}
	return g, nil
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
func (l launcher) start(ctx context.Context) (*local, error) {
	for attempt := 1; ; attempt++ {
		port, err := l.freePort()
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		n, err := l.startOn(ctx, port)
		if err == nil {
			return n, nil
		}
		if !errors.Is(err, errPortTaken) || attempt == portAttempts {
			return nil, fmt.Errorf("%s on port %d: %w", l.program, port, err)
		}
	}
}

func (l launcher) startOn(ctx context.Context, port int) (*local, error) {
	dir, err := l.keeper.folder()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	defer log.Close()
	cmd := exec.Command(l.program, "--port", strconv.Itoa(port), "--bind", "127.0.0.1",
		"--dir", dir, "--save", "", "--appendonly", "no")
	// Its output rather than a --logfile: what it has to say against its own arguments comes before any
	// log file is open.
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	c, err := l.keeper.start(cmd)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	n := &local{child: c, port: port, dir: dir}
	if err := n.awaitUp(ctx); err != nil {
		said := n.lastWords()
		if bytes.Contains(said, []byte("Address already in use")) {
			err = errPortTaken
		}
		_ = n.child.kill() // not politely: it has been waited for long enough, and Stop says what is left
		return nil, errors.Join(fmt.Errorf("%w; it said:\n%s", err, said), n.Stop())
	}
	return n, nil
}

// awaitUp returns when the server answers, and answers as our child: another server may have taken the
// port, and it would answer in its place while the child is on its way out.
func (n *local) awaitUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, upWithin)
	defer cancel()
	for {
		if info, err := askInfo(ctx, n.addr(), "server"); err == nil &&
			info["process_id"] == strconv.Itoa(n.child.cmd.Process.Pid) {
			n.version = info["redis_version"]
			return nil
		}
		select {
		case <-n.child.done:
			return fmt.Errorf("it ended at once (%v)", n.child.cmd.ProcessState)
		case <-ctx.Done():
			return fmt.Errorf("wait for it to answer: %w", ctx.Err())
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

func (n *local) Kill() error { return n.child.kill() }

func (n *local) Stop() error {
	n.once.Do(func() {
		terminate := func() error { return n.child.cmd.Process.Signal(syscall.SIGTERM) }
		n.stopped = errors.Join(n.child.stop(terminate), os.RemoveAll(n.dir))
	})
	return n.stopped
}
