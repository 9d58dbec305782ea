package trial

import (
	"context"
	"sync"

	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
)

// Pool lends running servers to trials, because a database takes longer to start than most trials last. It lends each
// server to one trial at a time. If no server is free, it starts another. The zero value is ready to use.
type Pool struct {
	mu   sync.Mutex
	idle map[[2]string][]*servers.Group // running servers that no trial uses, by store and deployment
}

// Lend returns servers and a function that returns them to the pool. It can be used as Setting.Lend.
func (p *Pool) Lend(ctx context.Context, s servers.Spec) (*servers.Group, func() error, error) {
	of := [2]string{s.Store, s.Deployment}
	g := p.take(of)
	if g == nil {
		var err error
		if g, err = stores.Start(ctx, s); err != nil {
			return nil, nil, err
		}
	}
	return g, func() error { p.put(of, g); return nil }, nil
}

func (p *Pool) take(of [2]string) *servers.Group {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.idle[of]
	if len(all) == 0 {
		return nil
	}
	g := all[len(all)-1]
	p.idle[of] = all[:len(all)-1]
	return g
}

func (p *Pool) put(of [2]string, g *servers.Group) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idle == nil {
		p.idle = map[[2]string][]*servers.Group{}
	}
	p.idle[of] = append(p.idle[of], g)
}

// Close stops the servers that no trial uses. The pool can be used after Close.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*servers.Group
	for _, of := range p.idle {
		all = append(all, of...)
	}
	p.idle = nil
	return servers.Each(len(all), func(i int) error { return all[i].Stop() })
}
