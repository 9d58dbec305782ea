package observe

import (
	"context"
	"hash/fnv"
	"time"

	"lockbench/impls"
	"lockbench/internal/world/servers"
)

// ProbedStep is the precision of the leases that a lock reports in answer to a probe.
const ProbedStep = time.Millisecond

// probes reads the keys of a lock by asking the lock. It serves for stores whose entries lockbench cannot read.
type probes struct {
	impls.Prober
	Keys
}

// Entries implements servers.Observer. It returns an entry for each held key, whose content is the stored token.
func (p probes) Entries(ctx context.Context, _ string) (all []servers.Entry, err error) {
	for _, name := range p.Names {
		token, left, err := p.Probe(ctx, name)
		if err != nil {
			return nil, err
		}
		if token == "" {
			continue
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(token))
		e := servers.Entry{Name: p.Prefix + name, Hash: max(1, h.Sum64()), Left: servers.Unending}
		if left != impls.Unbounded {
			e.Left = left + ProbedStep // the lock may round down
		}
		all = append(all, e)
	}
	return all, nil
}

// Counters implements servers.Observer. The commands of a probe are not counted.
func (probes) Counters() map[string]float64 { return nil }

// Close implements servers.Observer. The lock is closed with its process.
func (probes) Close() error { return nil }
