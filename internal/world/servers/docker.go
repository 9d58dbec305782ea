package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	docker "github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
)

// Docker is the way of containers, each on a port of 127.0.0.1.
const Docker = "docker"

const (
	ownerLabel      = "lockbench.process" // the number of the process that started a container
	containerWithin = 2 * time.Minute     // bounds its start, for which an image may have to be fetched
	orderWithin     = 20 * time.Second    // bounds what a running daemon is told to do
)

// contained is a server in a container.
type contained struct {
	notOurs
	local   *local // where it is reached
	product product
	ready   func(context.Context, *local) error
	engine  *docker.Client
	id      string
}

var _ Node = (*contained)(nil)

// atHand are the images, of those that we would ask for, that a daemon had when it was first of interest: a run must not
// change its mind, and where nobody asked for containers nothing is fetched.
var atHand = sync.OnceValue(func() map[string]bool {
	had := map[string]bool{}
	engine, err := docker.New(docker.FromEnv)
	if err != nil || !daemonAnswers() {
		return had
	}
	ctx, cancel := context.WithTimeout(context.Background(), orderWithin)
	defer cancel()
	defer engine.Close()
	for _, i := range images() {
		i, _ = imageOf(i.store)
		_, err := engine.ImageInspect(ctx, i.name)
		had[i.name] = err == nil
	}
	return had
})

func daemonAnswers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), askWithin)
	defer cancel()
	engine, err := docker.New(docker.FromEnv)
	if err != nil {
		return false
	}
	defer engine.Close()
	_, err = engine.Ping(ctx, docker.PingOptions{})
	return err == nil
}

// dockerSupported says why a deployment is not to be had in containers; nil: it is.
func dockerSupported(s store, d deployment, clock bool) error {
	_, known := imageOf(s.name)
	switch {
	case !known:
		return fmt.Errorf("there is no image of %s", s.product)
	case clock:
		return errors.New("the clock of a container is not moved")
	case d.needs != "" && d.name != Durable || d.nodes > 1 && d.name != Five && d.name != FiveDelayed:
		return fmt.Errorf("the deployment %s is not offered in containers", d.name)
	}
	return nil
}

func startDocker(ctx context.Context, s Spec) (*Group, error) {
	of, err := findStore(s.Store)
	if err != nil {
		return nil, err
	}
	d, err := of.deployment(s.Deployment)
	if err != nil {
		return nil, err
	}
	img, _ := imageOf(s.Store)
	g := &Group{How: Docker, Durability: of.durability, release: func() error { return nil }}
	if d.name == Durable {
		g.Durability = onDisk
		img.command = append(img.command, appendOnly()...)
	}
	engine, err := docker.New(docker.FromEnv)
	if err != nil {
		return nil, err
	}
	g.release = engine.Close
	started, err := atOnce(d.nodes, func(int) (*contained, error) { return startContainer(ctx, engine, img) })
	for _, n := range started {
		g.Nodes = append(g.Nodes, n)
		g.Server = fmt.Sprintf("%s %s (docker, %s)", of.product, img.version(), img.name)
	}
	if err != nil {
		return nil, errors.Join(err, g.Stop())
	}
	return g, nil
}

// quietly has the library say nothing beside its errors, and start no helper of its own, which would be one more image to
// fetch: what a killed run left, clean knows by its label.
var quietly = sync.OnceFunc(func() {
	log.SetDefault(silence{})
	_ = os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true") // it fails for no such name
})

// startContainer returns when the server in it answers.
func startContainer(ctx context.Context, engine *docker.Client, img image) (*contained, error) {
	ctx, cancel := context.WithTimeout(ctx, containerWithin)
	defer cancel()
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	quietly()
	n := &contained{local: &local{ports: []int{port}, within: containerWithin}, ready: img.ready, engine: engine}
	n.notOurs, n.product = notOurs{n.local}, img.served(n.local)
	c, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		ContainerRequest: img.request(port), Started: true, Logger: silence{}})
	if c != nil {
		n.id = c.GetContainerID()
	}
	if err == nil {
		if err = n.awaitUp(ctx); err != nil {
			err = fmt.Errorf("%w%s", err, said(c))
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("a container of %s: %w", img.name, err), n.Stop())
	}
	return n, nil
}

// said is the end of what the server in a container wrote, to be put after an error; "": nothing.
func said(c testcontainers.Container) string {
	ctx, cancel := context.WithTimeout(context.Background(), orderWithin)
	defer cancel()
	logs, err := c.Logs(ctx)
	if err != nil {
		return ""
	}
	defer logs.Close()
	text, _ := io.ReadAll(io.LimitReader(logs, 100*logTail)) // it ends, as its context does
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return ""
	}
	return ": " + string(text[max(0, len(text)-logTail):])
}

// silence is what the library says beside its errors.
type silence struct{}

func (silence) Printf(string, ...any) {}

// request asks for a container whose server is reached on a port of 127.0.0.1 and nowhere else.
func (i image) request(port int) testcontainers.ContainerRequest {
	inside := network.MustParsePort(i.port + "/tcp")
	return testcontainers.ContainerRequest{
		Image: i.name, Env: i.environ, Cmd: i.command, ExposedPorts: []string{inside.String()},
		Labels: map[string]string{ownerLabel: strconv.Itoa(os.Getpid())},
		HostConfigModifier: func(h *container.HostConfig) {
			h.PortBindings = network.PortMap{inside: {{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: strconv.Itoa(port)}}}
		},
	}
}

// serves says why the server does not serve yet; nil: it does.
func (n *contained) serves(ctx context.Context) error {
	if n.ready != nil {
		if err := n.ready(ctx, n.local); err != nil {
			return err
		}
	}
	_, err := n.product.counters(ctx)
	return err
}

// awaitUp returns when the server serves, while the container runs.
func (n *contained) awaitUp(ctx context.Context) error {
	for {
		err := n.serves(ctx)
		switch {
		case err == nil:
			return nil
		case !n.Alive():
			return fmt.Errorf("it ended at once: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for it to answer: %w", err)
		case <-time.After(10 * pollEvery):
		}
	}
}

func (n *contained) URL() string { return n.product.URL() }

func (n *contained) Counters(ctx context.Context) (map[string]float64, error) {
	return n.product.counters(ctx)
}

func (n *contained) Alive() bool {
	ctx, cancel := context.WithTimeout(context.Background(), orderWithin)
	defer cancel()
	state, err := n.engine.ContainerInspect(ctx, n.id, docker.ContainerInspectOptions{})
	return err == nil && state.Container.State != nil && state.Container.State.Running
}

// order tells the daemon to do something to the container.
func (n *contained) order(what string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), orderWithin)
	defer cancel()
	if err := do(ctx); err != nil {
		return fmt.Errorf("%s the container at %s: %w", what, n.local, err)
	}
	return nil
}

func (n *contained) Pause() error {
	return n.order("pause", func(ctx context.Context) error {
		_, err := n.engine.ContainerPause(ctx, n.id, docker.ContainerPauseOptions{})
		return err
	})
}

func (n *contained) Resume() error {
	return n.order("resume", func(ctx context.Context) error {
		_, err := n.engine.ContainerUnpause(ctx, n.id, docker.ContainerUnpauseOptions{})
		return err
	})
}

func (n *contained) Kill() error {
	if !n.Alive() {
		return nil
	}
	return n.order("kill", func(ctx context.Context) error {
		if _, err := n.engine.ContainerKill(ctx, n.id, docker.ContainerKillOptions{Signal: "KILL"}); err != nil {
			return err
		}
		for n.Alive() {
			select {
			case <-ctx.Done():
				return fmt.Errorf("it was not seen to end: %w", ctx.Err())
			case <-time.After(pollEvery):
			}
		}
		return nil
	})
}

func (n *contained) Restart(ctx context.Context) error {
	if err := n.Kill(); err != nil {
		return err
	}
	err := n.order("restart", func(ctx context.Context) error {
		_, err := n.engine.ContainerStart(ctx, n.id, docker.ContainerStartOptions{})
		return err
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, orderWithin)
	defer cancel()
	return n.awaitUp(ctx)
}

func (n *contained) Stop() error {
	if n.id == "" {
		return nil
	}
	return n.order("remove", func(ctx context.Context) error { return removeContainer(ctx, n.engine, n.id) })
}

// removeContainer removes it with its data, also one that runs or is gone.
func removeContainer(ctx context.Context, engine *docker.Client, id string) error {
	_, err := engine.ContainerRemove(ctx, id, docker.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}
