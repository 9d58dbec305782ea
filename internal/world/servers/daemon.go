package servers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	docker "github.com/moby/moby/client"
)

// images are those that a daemon was asked for, and whether it had them.
var images sync.Map

// atHand reports whether a daemon had an image when it was first of interest: a run must not change its mind, and if
// nobody asked for containers nothing is fetched.
func atHand(image string) bool {
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

var errNoDaemon = errors.New("no daemon answers")

// withDaemon asks the daemon that the environment names for something, if it answers.
func withDaemon(ctx context.Context, do func(context.Context, *docker.Client) error) error {
	engine, err := docker.New(docker.FromEnv)
	if err != nil {
		return err
	}
	defer engine.Close()
	soon, cancel := context.WithTimeout(ctx, AskWithin)
	defer cancel()
	if _, err := engine.Ping(soon, docker.PingOptions{}); err != nil {
		return fmt.Errorf("%w: %w", errNoDaemon, err)
	}
	ctx, cancel = context.WithTimeout(ctx, orderWithin)
	defer cancel()
	return do(ctx, engine)
}

// Leftover is a container that one of our processes started.
type Leftover struct {
	ID    string
	Owner int // the number of the process
	Since time.Time
}

// Containers returns the containers of this program's processes, also of those that are gone; none if no daemon answers.
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

// Remove removes the container and its data.
func (l Leftover) Remove(ctx context.Context) error {
	return withDaemon(ctx, func(ctx context.Context, engine *docker.Client) error { return removeContainer(ctx, engine, l.ID) })
}
