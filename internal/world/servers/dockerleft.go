package servers

import (
	"context"
	"strconv"
	"time"

	docker "github.com/moby/moby/client"
)

// Leftover is a container that one of our processes started.
type Leftover struct {
	ID    string
	Owner int // the number of the process
	Since time.Time
}

// Containers are the containers of this program's processes, also of those that are gone; none where no daemon answers.
func Containers(ctx context.Context) ([]Leftover, error) {
	if !daemonAnswers() {
		return nil, nil
	}
	engine, err := docker.New(docker.FromEnv)
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	list, err := engine.ContainerList(ctx, docker.ContainerListOptions{All: true, Filters: docker.Filters{}.Add("label", ownerLabel)})
	if err != nil {
		return nil, err
	}
	var all []Leftover
	for _, c := range list.Items {
		if pid, err := strconv.Atoi(c.Labels[ownerLabel]); err == nil && pid > 0 {
			all = append(all, Leftover{c.ID, pid, time.Unix(c.Created, 0)})
		}
	}
	return all, nil
}

// Remove removes the container and its data.
func (l Leftover) Remove(ctx context.Context) error {
	engine, err := docker.New(docker.FromEnv)
	if err != nil {
		return err
	}
	defer engine.Close()
	return removeContainer(ctx, engine, l.ID)
}
