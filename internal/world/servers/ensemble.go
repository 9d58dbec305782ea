package servers

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// deposeWithin bounds the wait for another leader.
const deposeWithin = 20 * time.Second

// leader is a product whose servers choose one of them to lead.
type leader interface {
	// leads tells whether it leads now, as it says itself.
	leads(context.Context) (bool, error)
}

// Depose kills the server that leads, and returns when another says that it does.
func (g *Group) Depose(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, deposeWithin)
	defer cancel()
	old, err := g.awaitLeader(ctx, nil)
	if err == nil {
		err = old.Kill()
	}
	if err == nil {
		_, err = g.awaitLeader(ctx, old)
	}
	if err != nil {
		return fmt.Errorf("kill the leader: %w", err)
	}
	return nil
}

// awaitLeader returns the server that leads and is not another.
func (g *Group) awaitLeader(ctx context.Context, not *local) (*local, error) {
	for {
		for _, n := range g.Nodes {
			l, ok := n.(interface{ ours() *local })
			if !ok {
				return nil, errors.New("it needs servers of our own that choose a leader")
			}
			of, ok := l.ours().product.(leader)
			if !ok {
				return nil, errors.New("it needs servers that choose a leader")
			}
			if l.ours() == not {
				continue
			}
			if leads, err := of.leads(ctx); err == nil && leads {
				return l.ours(), nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for one to lead: %w", ctx.Err())
		case <-time.After(10 * pollEvery):
		}
	}
}

func (n *local) ours() *local { return n }

// peer is a server that came up in an ensemble.
type peer struct {
	node    Node
	version string
}

// ensembleAttempts bounds how often an ensemble begins anew, since a port was taken.
const ensembleAttempts = 3

// startEnsemble starts so many servers at once, which know each other by ports that are found before: so many for each.
// Where one of those was taken meanwhile, all begin again with others. It adds those that came up also where one did not.
func startEnsemble(ctx context.Context, l launcher, g *Group, product string, nodes, each int,
	one func(ctx context.Context, i int, ports []int) (peer, error)) error {
	for attempt := 1; ; attempt++ {
		ports, err := l.free(nodes * each)
		if err != nil {
			return err
		}
		starting, cancel := context.WithCancel(ctx)
		started, err := atOnce(nodes, func(i int) (*peer, error) {
			m, err := one(starting, i, ports)
			if err != nil {
				cancel() // the others would wait for it
				return nil, err
			}
			return &m, nil
		})
		cancel()
		if errors.Is(err, errPortTaken) && attempt < ensembleAttempts {
			var ends []error
			for _, m := range started {
				ends = append(ends, m.node.Stop())
			}
			if err = errors.Join(ends...); err == nil {
				continue
			}
		}
		for _, m := range started {
			g.add(m.node, product, m.version)
		}
		return err
	}
}
