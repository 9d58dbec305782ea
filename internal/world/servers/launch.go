package servers

import (
	"cmp"
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
	ensembleAttempts = 3 // maximum number of attempts to start an ensemble if ports are taken
)

// Loopback returns the address 127.0.0.1:port.
func Loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// Launcher starts the child processes of one group.
type Launcher struct {
	Keeper  *children.Keeper
	Clock   bool     // value of Spec.Clock
	Options []string // additional command-line options for this deployment

	FreePort func() (int, error) // returns an unused port; replaced in tests

	store Store
	self  string // value of Spec.Self
	group *Group
	given sync.Map // ports that were given to a server
}

func startLocal(ctx context.Context, of Store, d Deployment, s Spec) (*Group, error) {
	if err := of.Absent(); err != nil && d.Missing == nil { // a deployment with a program of its own does not need that of the store
		return nil, err
	}
	of.Product = cmp.Or(d.Product, of.Product)
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

// NewLauncher returns a launcher for servers of a store. It starts no servers.
func NewLauncher(of Store, k *children.Keeper) *Launcher {
	return &Launcher{Keeper: k, store: of, group: &Group{}, FreePort: FreePort}
}

// Add adds a running server to the launcher's group.
func (l *Launcher) Add(n Node, version string) {
	l.group.Nodes = append(l.group.Nodes, n)
	l.group.Server = fmt.Sprintf("%s %s (local)", l.store.Product, version)
}

// OnStop adds a function that Group.Stop calls after it has stopped the nodes. The functions are called in reverse
// order.
func (l *Launcher) OnStop(do func() error) { l.group.release = append(l.group.release, do) }

// Replicate sets Group.Replication of the launcher's group.
func (l *Launcher) Replicate(r Replication) { l.group.Replication = r }

// Each calls do(i) concurrently for each i from 0 to n-1, and joins the errors.
func Each(n int, do func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// StartAll calls start concurrently for each server. It returns the servers that started, in order, and the joined
// errors of the servers that failed.
func StartAll[N any](nodes int, start func(i int) (*N, error)) ([]*N, error) {
	all := make([]*N, nodes)
	err := Each(nodes, func(i int) (err error) { all[i], err = start(i); return err })
	return slices.DeleteFunc(all, func(n *N) bool { return n == nil }), err
}

// FreePort returns a port that is not in use. It does not reserve the port.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// free returns unused TCP ports (parameter ports is their number). For each port, it tries portAttempts times to find
// one that it has not returned before. If all attempts fail, the port may be one that it has returned before.
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

// Start starts one server that listens on several ports (parameter ports is their number). If another program has taken
// a port, Start tries again with other ports. The server's store may differ from the group's store. The caller adds the
// server to the group with Add.
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

// startEnsemble starts the nodes of an ensemble concurrently. Each node has a port for clients and several ports
// (parameter each) for the other nodes. If a port is taken, all nodes are started again with other ports.
func (l *Launcher) startEnsemble(ctx context.Context, nodes, each int) error {
	for attempt := 1; ; attempt++ {
		ports, err := l.free(nodes * each)
		if err != nil {
			return err
		}
		starting, cancel := context.WithCancel(ctx)
		started, err := StartAll(nodes, func(i int) (*Process, error) {
			p, err := l.start(starting, l.store, 1, i, ports)
			if err != nil {
				cancel() // the other nodes would wait for the failed node
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

// Template holds a folder that is slow to create, such as an empty database. Each server gets a copy of the folder. The
// folder is created on first use and kept until this process ends.
type Template struct {
	make func(ctx context.Context, k *children.Keeper, dir string) error

	mu  sync.Mutex // held while the template folder is created
	dir string     // path of the folder; "" before it is created
}

// NewTemplate returns a template. The function of creates the folder. After of has succeeded, it is not called again.
func NewTemplate(of func(context.Context, *children.Keeper, string) error) *Template {
	return &Template{make: of}
}

// CopyTo copies the template to the folder dir, which must not exist yet.
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

const toolTimeout = time.Minute

// RunTool runs a program in a folder and returns an error unless it exits with status 0.
func RunTool(ctx context.Context, k *children.Keeper, dir string, cmd *exec.Cmd) error {
	var log children.Tail
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &log, &log
	c, err := k.Start(cmd)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
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
