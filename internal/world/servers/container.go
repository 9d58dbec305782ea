package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	docker "github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"

	"lockbench/internal/world/children"
)

const (
	ownerLabel            = "lockbench.process" // container label with the process ID of lockbench
	containerStartTimeout = 2 * time.Minute     // time limit for starting a container, including pulling its image
	daemonTimeout         = 20 * time.Second    // time limit of a request to a running Docker daemon
)

type contained struct {
	Refusing
	store  Store
	addr   string // address as host:port
	engine *docker.Client
	id     string
}

var _ Node = (*contained)(nil)

func dockerSupported(of Store, d Deployment, clock bool) error {
	switch {
	case of.Image.Name == "":
		return fmt.Errorf("no image of %s is known", of.Product)
	case clock:
		return errors.New("the clock of a container cannot be moved")
	case !d.Contained:
		return fmt.Errorf("the deployment %s is not supported in containers", d.Name)
	}
	return nil
}

func startDocker(ctx context.Context, of Store, d Deployment) (*Group, error) {
	engine, err := docker.New(docker.FromEnv)
	if err != nil {
		return nil, err
	}
	of.Image = of.image()
	of.Image.Command = slices.Concat(of.Image.Command, d.Options)
	g := &Group{Durability: d.Durability, release: []func() error{engine.Close},
		Server: fmt.Sprintf("%s %s (docker, %s)", of.Product, of.Image.version(), of.Image.Name)}
	started, err := StartAll(d.Nodes, func(int) (*contained, error) { return startContainer(ctx, engine, of) })
	for _, n := range started {
		g.Nodes = append(g.Nodes, n)
	}
	if err != nil {
		return nil, errors.Join(err, g.Stop())
	}
	return g, nil
}

// quietly disables the logging and the cleanup container of testcontainers, because the image of the cleanup container
// would have to be pulled. `lockbench clean` finds leftover containers by their label and removes them.
var quietly = sync.OnceFunc(func() {
	log.SetDefault(silence{})
	_ = os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true") // Setenv fails only for an invalid variable name
})

func startContainer(ctx context.Context, engine *docker.Client, of Store) (*contained, error) {
	ctx, cancel := context.WithTimeout(ctx, containerStartTimeout)
	defer cancel()
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	quietly()
	addr := Loopback(port)
	n := &contained{Refusing: Refusing{addr}, store: of, addr: addr, engine: engine}
	c, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		ContainerRequest: of.Image.request(port), Started: true, Logger: silence{}})
	if c != nil {
		n.id = c.GetContainerID()
	}
	if err == nil {
		if err = n.awaitUp(ctx); err != nil {
			err = fmt.Errorf("%w%s", err, output(c))
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a container of %s: %w", of.Image.Name, err), n.Stop())
	}
	return n, nil
}

// output returns the last lines of the container's output as a suffix for an error message. It returns "" if the output
// cannot be read.
func output(c testcontainers.Container) string {
	ctx, cancel := context.WithTimeout(context.Background(), daemonTimeout)
	defer cancel()
	logs, err := c.Logs(ctx)
	if err != nil {
		return ""
	}
	defer logs.Close()
	var log children.Tail
	_, _ = io.Copy(&log, logs) // ignore the error; reading stops when the context ends
	return log.String()
}

type silence struct{}

func (silence) Printf(string, ...any) {}

// request returns a request to create a container. The container's port is reachable from 127.0.0.1 only.
func (i Image) request(port int) testcontainers.ContainerRequest {
	inside := network.MustParsePort(i.Port + "/tcp")
	return testcontainers.ContainerRequest{
		Image: i.Name, Env: i.Environ, Cmd: i.Command, ExposedPorts: []string{inside.String()},
		Labels: map[string]string{ownerLabel: strconv.Itoa(os.Getpid())},
		HostConfigModifier: func(h *container.HostConfig) {
			h.PortBindings = network.PortMap{inside: {{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: strconv.Itoa(port)}}}
		},
	}
}

func (n *contained) serves(ctx context.Context) error {
	if ready := n.store.Image.Ready; ready != nil {
		if err := ready(ctx, n.addr); err != nil {
			return err
		}
	}
	_, err := n.Counters(ctx)
	return err
}

func (n *contained) awaitUp(ctx context.Context) error {
	return Poll(ctx, 10*PollEvery, func(ctx context.Context) error {
		err := n.serves(ctx)
		switch {
		case err == nil:
			return nil
		case !n.Alive():
			return Final(fmt.Errorf("the container exited: %w", err))
		}
		return fmt.Errorf("wait for an answer: %w", err)
	})
}

func (n *contained) URL() string { return n.store.URL(n.addr) }

func (n *contained) Counters(ctx context.Context) (map[string]float64, error) {
	return n.store.Counters(ctx, n.addr)
}

func (n *contained) Alive() bool {
	ctx, cancel := context.WithTimeout(context.Background(), daemonTimeout)
	defer cancel()
	state, err := n.engine.ContainerInspect(ctx, n.id, docker.ContainerInspectOptions{})
	return err == nil && state.Container.State != nil && state.Container.State.Running
}

func order[Options, Result any](n *contained, what string, do func(context.Context, string, Options) (Result, error), options Options) error {
	ctx, cancel := context.WithTimeout(context.Background(), daemonTimeout)
	defer cancel()
	_, err := do(ctx, n.id, options)
	return wrapped(what+" the container at "+n.addr, err)
}

func (n *contained) Pause() error {
	return order(n, "pause", n.engine.ContainerPause, docker.ContainerPauseOptions{})
}

func (n *contained) Resume() error {
	return order(n, "resume", n.engine.ContainerUnpause, docker.ContainerUnpauseOptions{})
}

func (n *contained) Kill() error {
	if !n.Alive() {
		return nil
	}
	if err := order(n, "kill", n.engine.ContainerKill, docker.ContainerKillOptions{Signal: "KILL"}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), daemonTimeout)
	defer cancel()
	return Poll(ctx, PollEvery, func(context.Context) error {
		if n.Alive() {
			return fmt.Errorf("kill the container at %s: still running", n.addr)
		}
		return nil
	})
}

func (n *contained) Restart(ctx context.Context) error {
	if err := n.Kill(); err != nil {
		return err
	}
	if err := order(n, "restart", n.engine.ContainerStart, docker.ContainerStartOptions{}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, daemonTimeout)
	defer cancel()
	return n.awaitUp(ctx)
}

func (n *contained) Stop() error {
	if n.id == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), daemonTimeout)
	defer cancel()
	return wrapped("remove the container at "+n.addr, removeContainer(ctx, n.engine, n.id))
}

// removeContainer removes a container and its volumes. It returns nil if the container does not exist.
func removeContainer(ctx context.Context, engine *docker.Client, id string) error {
	_, err := engine.ContainerRemove(ctx, id, docker.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}

// images caches the results of hasImage by image name.
var images sync.Map

// hasImage reports whether the Docker daemon has an image. The first result is cached, so that the start method stays
// the same during a run.
func hasImage(image string) bool {
	had, known := images.Load(image)
	if !known {
		err := withDaemon(context.Background(), func(ctx context.Context, engine *docker.Client) error {
			_, err := engine.ImageInspect(ctx, image)
			return err
		})
		had, _ = images.LoadOrStore(image, err == nil)
	}
	return had.(bool)
}

var errNoDaemon = errors.New("no Docker daemon answers")

// withDaemon calls do with a client of the Docker daemon that the environment selects. It returns errNoDaemon if the
// daemon does not answer.
func withDaemon(ctx context.Context, do func(context.Context, *docker.Client) error) error {
	engine, err := docker.New(docker.FromEnv)
	if err != nil {
		return err
	}
	defer engine.Close()
	soon, cancel := context.WithTimeout(ctx, AskTimeout)
	defer cancel()
	if _, err := engine.Ping(soon, docker.PingOptions{}); err != nil {
		return fmt.Errorf("%w: %w", errNoDaemon, err)
	}
	ctx, cancel = context.WithTimeout(ctx, daemonTimeout)
	defer cancel()
	return do(ctx, engine)
}

// Leftover is an existing container that a lockbench process started.
type Leftover struct {
	ID    string
	Owner int // process ID of the lockbench process that started the container
	Since time.Time
}

// Containers returns the containers that lockbench processes started. It returns no containers if no Docker daemon
// answers.
func Containers(ctx context.Context) (all []Leftover, err error) {
	err = withDaemon(ctx, func(ctx context.Context, engine *docker.Client) error {
		list, err := engine.ContainerList(ctx, docker.ContainerListOptions{All: true, Filters: docker.Filters{}.Add("label", ownerLabel)})
		for _, c := range list.Items {
			if pid, err := strconv.Atoi(c.Labels[ownerLabel]); err == nil && pid > 0 {
				all = append(all, Leftover{c.ID, pid, time.Unix(c.Created, 0)})
			}
		}
		return err
	})
	if errors.Is(err, errNoDaemon) {
		return nil, nil
	}
	return all, err
}

// Remove removes the container and its volumes.
func (l Leftover) Remove(ctx context.Context) error {
	return withDaemon(ctx, func(ctx context.Context, engine *docker.Client) error { return removeContainer(ctx, engine, l.ID) })
}
