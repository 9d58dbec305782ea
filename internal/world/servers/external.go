package servers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// External is the way of servers that a user gives: they were there before, and stay.
const External = "external"

// reachWithin bounds a question to such a server: its network may be slow, and it may not be there at all.
const reachWithin = 5 * time.Second

// external is one server of somebody else's.
type external struct {
	notOurs
	Address
	remote Remote
}

var _ Node = (*external)(nil)

// startExternal starts nothing: it asks each server what it is, all at once, so that one that is not there
// is found out in time.
func startExternal(ctx context.Context, s Spec) (*Group, error) {
	if s.Store != Redis {
		return startTheirs(ctx, s)
	}
	n := s.nodes()
	g := &Group{How: External, release: func() error { return nil }}
	errs, versions := make([]error, n), make([]string, n)
	var all sync.WaitGroup
	for i, a := range s.Remote.Addresses[:n] {
		g.Nodes = append(g.Nodes, &external{notOurs{a}, a, s.Remote})
		all.Go(func() { versions[i], errs[i] = s.Remote.version(ctx, a) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	g.Server = fmt.Sprintf("redis %s (external)", versions[0])
	return g, nil
}

// Reach tells whether a server answers us.
func (r Remote) Reach(ctx context.Context, a Address) error {
	_, err := r.version(ctx, a)
	return err
}

// version is the server's own; that there is none is told in one sentence.
func (r Remote) version(ctx context.Context, a Address) (string, error) {
	info, err := r.info(ctx, a, "server")
	switch {
	case errors.Is(err, context.DeadlineExceeded), err != nil && strings.Contains(err.Error(), "i/o timeout"):
		return "", fmt.Errorf("%s does not answer within %v", a, reachWithin)
	case err != nil:
		return "", fmt.Errorf("%s does not serve us: %w", a, err)
	case info["redis_mode"] == "cluster":
		return "", fmt.Errorf("%s is part of a Redis Cluster, which no lock here is written for", a)
	}
	return info["redis_version"], nil
}

func (n *external) URL() string { return n.Address.URL() }

func (n *external) Counters(ctx context.Context) (map[string]float64, error) {
	info, err := n.remote.info(ctx, n.Address, "all")
	if err != nil {
		return nil, fmt.Errorf("counters of %s: %w", n, err)
	}
	return counters(info)
}

// Alive says true: nothing of ours has ended it.
func (n *external) Alive() bool { return true }

func (n *external) Kill() error { return n.refuse("kill") }

// Stop leaves the server as it is.
func (n *external) Stop() error { return nil }
