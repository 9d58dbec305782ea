package servers

import (
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

	"lockbench/internal/world/children"
)

const (
	portAttempts     = 5
	ensembleAttempts = 3 // bounds how often an ensemble begins anew, since a port was taken
)

// Local127 returns a port of 127.0.0.1 as host:port.
func Local127(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// Launcher starts the child processes of one group.
type Launcher struct {
	Keeper  *children.Keeper
	Clock   bool     // Spec.Clock
	Options []string // of the deployment

	FreePort func() (int, error) // finds a port that nobody listens on

	store Store
	self  string // Spec.Self
	group *Group
	given sync.Map // ports that were found free, and may not be listened on yet
}

func startLocal(ctx context.Context, of Store, d Deployment, s Spec) (*Group, error) {
	if err := of.Absent(); err != nil {
		return nil, err
	}
	k, err := children.New()
	if err != nil {
		return nil, err
	}
	l := NewLauncher(of, k)
	l.Clock, l.Options, l.self = s.Clock, d.Options, s.Self
	l.group.Durability = d.Durability
	l.OnStop(k.Close)
	if d.Start == nil {
		d.Start = func(ctx context.Context, l *Launcher, nodes int) error { return l.startEnsemble(ctx, nodes, d.Peers) }
	}
	if err := d.Start(ctx, l, d.Nodes); err != nil {
		return nil, errors.Join(err, l.group.Stop())
	}
	return l.group, nil
}

// NewLauncher returns a launcher for a store, whose group has no nodes yet.
func NewLauncher(of Store, k *children.Keeper) *Launcher {
	return &Launcher{Keeper: k, store: of, group: &Group{}, FreePort: freePort}
}

// Add adds a server that came up to the group.
func (l *Launcher) Add(n Node, version string) {
	l.group.Nodes = append(l.group.Nodes, n)
	l.group.Server = fmt.Sprintf("%s %s (local)", l.store.Product, version)
}

// OnStop adds what else ends with the group; what was added last ends first.
func (l *Launcher) OnStop(do func() error) { l.group.release = append(l.group.release, do) }

// Replicate sets how the servers of the group follow each other.
func (l *Launcher) Replicate(r Replication) { l.group.Replication = r }

// Each calls do for each number from 0 to before n, all at once, and returns the errors.
func Each(n int, do func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// AtOnce starts so many servers and returns those that came up, in order, also if others did not.
func AtOnce[N any](nodes int, start func(i int) (*N, error)) ([]*N, error) {
	all := make([]*N, nodes)
	err := Each(nodes, func(i int) (err error) { all[i], err = start(i); return err })
	return slices.DeleteFunc(all, func(n *N) bool { return n == nil }), err
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
func (l *Launcher) free(ports int) ([]int, error) {
	all := make([]int, ports)
	for i := range all {
		for range portAttempts {
			var err error
			if all[i], err = l.FreePort(); err != nil {
				return nil, fmt.Errorf("find a free port: %w", err)
			}
			if _, again := l.given.LoadOrStore(all[i], true); !again {
				break
			}
		}
	}
	return all, nil
}

// Start starts one server that listens on so many ports, on others if one was taken meanwhile. A store may differ from
// the group's in its functions. What it starts is not yet the group's: see Add.
func (l *Launcher) Start(ctx context.Context, of Store, ports int) (*Process, error) {
	return l.start(ctx, of, ports, 0, nil)
}

func (l *Launcher) start(ctx context.Context, of Store, ports, number int, peers []int) (*Process, error) {
	for attempt := 1; ; attempt++ {
		free, err := l.free(ports)
		if err != nil {
			return nil, err
		}
		p := &Process{store: of, Number: number, Peers: peers, keeper: l.Keeper, Self: l.self, Ports: free}
		p.Shown = p.Addr()
		if err = p.create(ctx); err == nil {
			return p, nil
		}
		err = errors.Join(err, p.Stop())
		if !errors.Is(err, errPortTaken) || attempt == portAttempts {
			return nil, fmt.Errorf("server on port %d: %w", p.Ports[0], err)
		}
	}
}

// startEnsemble starts so many servers at once, which know each other by ports that are found before: so many for each.
// If one of those was taken meanwhile, all begin again with others.
func (l *Launcher) startEnsemble(ctx context.Context, nodes, each int) error {
	for attempt := 1; ; attempt++ {
		ports, err := l.free(nodes * each)
		if err != nil {
			return err
		}
		starting, cancel := context.WithCancel(ctx)
		started, err := AtOnce(nodes, func(i int) (*Process, error) {
			p, err := l.start(starting, l.store, 1, i, ports)
			if err != nil {
				cancel() // the others would wait for it
			}
			return p, err
		})
		cancel()
		if errors.Is(err, errPortTaken) && attempt < ensembleAttempts {
			if err = Each(len(started), func(i int) error { return started[i].Stop() }); err == nil {
				continue
			}
		}
		for _, p := range started {
			l.Add(p, p.version)
		}
		return err
	}
}

// Template is a folder that takes long to make, and of which each server gets a copy: a database as it is before it is
// used. The first call makes it; it lives as long as this process, with a keeper of its own.
type Template struct {
	make func(ctx context.Context, k *children.Keeper, dir string) error

	mu  sync.Mutex // held while it is made
	dir string     // "": it is not made yet
}

// NewTemplate returns a template that is made in a folder by a function, at most once.
func NewTemplate(of func(context.Context, *children.Keeper, string) error) *Template {
	return &Template{make: of}
}

// CopyTo copies the template to a folder that is not there yet.
func (t *Template) CopyTo(ctx context.Context, dir string) error {
	from, err := t.made(ctx)
	if err != nil {
		return err
	}
	return os.CopyFS(dir, os.DirFS(from))
}

func (t *Template) made(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dir != "" {
		return t.dir, nil
	}
	k, err := children.New()
	if err != nil {
		return "", err
	}
	dir, err := k.Folder()
	if err == nil {
		err = t.make(ctx, k, dir)
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir), k.Close())
	}
	t.dir = dir
	return dir, nil
}

// makeWithin bounds a program that makes something: far more than it takes.
const makeWithin = time.Minute

// RunToEnd runs a program that makes something in a folder, and fails where the program does.
func RunToEnd(ctx context.Context, k *children.Keeper, dir string, cmd *exec.Cmd) error {
	var log children.Tail
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &log, &log
	c, err := k.Start(cmd)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, makeWithin)
	defer cancel()
	select {
	case <-c.Done():
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("%s: %w", filepath.Base(cmd.Path), ctx.Err()), c.Kill())
	}
	if state := c.State(); state != "exit status 0" {
		return fmt.Errorf("%s: %s%s", filepath.Base(cmd.Path), state, &log)
	}
	return nil
}
