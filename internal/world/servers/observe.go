package servers

import (
	"context"
	"crypto/tls"
	"errors"
	"slices"
	"time"
)

// Entry is one entry of a store as an Observer read it. In Redis, an entry is a key.
type Entry struct {
	Name string
	Hash uint64        // hash of the content; never 0
	Left time.Duration // remaining lease, at most Observing.Step too long; Unending if the entry does not expire
}

// Unending is the remaining lease of an entry that does not expire.
const Unending time.Duration = -1

// Observer reads entries of one server through a separate connection. It never changes the server.
type Observer interface {
	// Entries returns the entries whose names begin with prefix. If the store can search for it, entries whose names
	// contain prefix are included. An entry that exists during the whole call is always returned. The result is a state
	// that the server had during the call. If further calls would fail too, the error is ErrNotObserved.
	Entries(ctx context.Context, prefix string) ([]Entry, error)
	// Counters returns the amounts that the observer itself has added to the counters of the server (see Node).
	Counters() map[string]float64
	Close() error
}

// Observing describes how the entries of a store are observed. The zero value means that the store cannot be observed.
type Observing struct {
	Open func(url string, secure *tls.Config) (Observer, error)
	Step time.Duration // precision of the leases that the server reports
}

// ErrNotObserved is returned if the entries of a server cannot be observed.
var ErrNotObserved = errors.New("the entries of these servers cannot be observed")

// ObservedStep returns the precision of observed leases, or 0 if the servers cannot be observed.
func (g *Group) ObservedStep() time.Duration {
	if len(g.observed()) == 0 {
		return 0
	}
	return g.observing.Step
}

// Observe opens an Observer for each server on which a lock depends. If a lock needs a majority of independent servers,
// these are all servers. Otherwise it is a single server: the only server, the primary, or any member of an ensemble.
func (g *Group) Observe() (all []Observer, err error) {
	for _, n := range g.observed() {
		var secure *tls.Config
		if e, ok := n.(*external); ok {
			secure = e.target.TLS()
		}
		o, err := g.observing.Open(n.URL(), secure)
		if err != nil {
			for _, o := range all {
				err = errors.Join(err, o.Close())
			}
			return nil, err
		}
		all = append(all, o)
	}
	if len(all) == 0 {
		err = ErrNotObserved
	}
	return all, err
}

// observed returns the nodes to observe. It returns no nodes for a Redis Cluster, whose entries are distributed over its
// nodes.
func (g *Group) observed() []Node {
	switch {
	case g.observing.Open == nil || len(g.Nodes) == 0 || g.deployment == Cluster:
		return nil
	case slices.Contains([]string{Five, FiveDelayed}, g.deployment):
		return g.Nodes
	}
	return g.Nodes[:1]
}
