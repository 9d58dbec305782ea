package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
)

// theirs is how servers of a user's own are spoken to, of a store other than Redis: one file each. A name is that of a
// row, a document, a node or a key, and begins with KeyPrefix where it is of a run.
type theirs struct {
	store string
	// version is what is there, or why it does not serve us.
	version func(ctx context.Context, t Target, host string) (string, error)
	// names are those that begin with a prefix.
	names func(ctx context.Context, t Target, prefix string) ([]string, error)
	// remove removes what has one of the names, all of which begin with the prefix.
	remove func(ctx context.Context, t Target, prefix string) error
}

func allTheirs() []theirs {
	return []theirs{theirMySQL(), theirPostgres(), theirMongoDB(), theirZooKeeper(), theirEtcd()}
}

func (t Target) theirs() theirs {
	for _, o := range allTheirs() {
		if o.store == t.store {
			return o
		}
	}
	panic("a target of an unknown store") // ParseTarget refuses it
}

// Of are the servers of a store that a user named; false: none.
func (r Remote) Of(store string) (Target, bool) {
	for _, t := range r.Targets {
		if t.store == store {
			return t, true
		}
	}
	return Target{}, false
}

// Absent says that a whole store is not to be had: it is what is left out, whatever lock asks for it.
type Absent struct{ Why error }

func (a Absent) Error() string { return a.Why.Error() }

func (a Absent) Unwrap() error { return a.Why }

// named says why so many servers of a store cannot be had from those that a user named.
func (r Remote) named(of store, wanted int) error {
	given, flag, like := len(r.Addresses), "--redis", "redis://host:6379"
	if of.name != Redis {
		f, err := formOf(of.name)
		if err != nil {
			return Absent{errors.New("lockbench runs it itself, with --servers local")}
		}
		t, _ := r.Of(of.name)
		given, flag, like = len(t.hosts), "--"+of.name, f.like
	}
	switch {
	case given == 0:
		return Absent{fmt.Errorf("no %s of your own was named: %s %s", of.product, flag, like)}
	case given < wanted:
		return fmt.Errorf("it needs %d servers, and %s names %d", wanted, flag, given)
	}
	return nil
}

// their is one server of somebody else's.
type their struct {
	notOurs
	target Target
	host   string
}

var _ Node = (*their)(nil)

// startTheirs starts nothing: it asks each server what it is, all at once.
func startTheirs(ctx context.Context, s Spec) (*Group, error) {
	t, ok := s.Remote.Of(s.Store)
	if !ok {
		return nil, fmt.Errorf("no server of %s was named", s.Store)
	}
	n := s.nodes()
	g := &Group{How: External, release: func() error { return nil }}
	errs, versions := make([]error, n), make([]string, n)
	var all sync.WaitGroup
	for i, host := range t.hosts[:n] {
		g.Nodes = append(g.Nodes, &their{notOurs{t}, t, host})
		all.Go(func() { versions[i], errs[i] = t.version(ctx, host) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	of, err := findStore(s.Store)
	if err != nil {
		return nil, err
	}
	g.Server = fmt.Sprintf("%s %s (external)", of.product, versions[0])
	return g, nil
}

// version is the server's own; that there is none is told in one sentence, without secrets.
func (t Target) version(ctx context.Context, host string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	// A client library may go on trying for as long as it may.
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	var version string
	if err == nil {
		conn.Close()
		version, err = t.theirs().version(ctx, t, host)
	}
	switch {
	case err != nil && (ctx.Err() != nil || strings.Contains(err.Error(), "i/o timeout")):
		return "", fmt.Errorf("%s does not answer within %v", t.at(host), reachWithin)
	case err != nil:
		return "", fmt.Errorf("%s does not serve us: %w", t.at(host), t.hide(err))
	}
	return version, nil
}

// at is the target with one of its servers, as it may be shown.
func (t Target) at(host string) Target {
	t.hosts = []string{host}
	return t
}

// Reach tells whether every server of a target answers us.
func (t Target) Reach(ctx context.Context) error {
	errs := make([]error, len(t.hosts))
	var all sync.WaitGroup
	for i, host := range t.hosts {
		all.Go(func() { _, errs[i] = t.version(ctx, host) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// Runs counts what each run has there.
func (t Target) Runs(ctx context.Context) (map[string]int, error) {
	names, err := t.names(ctx, keyRoot)
	if err != nil {
		return nil, err
	}
	runs := map[string]int{}
	for _, name := range names {
		if m := runOf.FindStringSubmatch(name); m != nil {
			if _, ok := RunBegan(m[1]); ok {
				runs[m[1]]++
			}
		}
	}
	return runs, nil
}

func (t Target) names(ctx context.Context, prefix string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, sweepWithin)
	defer cancel()
	names, err := t.theirs().names(ctx, t, prefix)
	if err != nil {
		return nil, fmt.Errorf("look through %s: %w", t, t.hide(err))
	}
	return names, nil
}

// Remove removes what a run has there.
func (t Target) Remove(ctx context.Context, run string) error {
	if _, ok := RunBegan(run); !ok {
		return errors.New("remove what a run left: that is not the id of one")
	}
	ctx, cancel := context.WithTimeout(ctx, sweepWithin)
	defer cancel()
	if err := t.theirs().remove(ctx, t, KeyPrefix(run)); err != nil {
		return fmt.Errorf("remove from %s: %w", t, t.hide(err))
	}
	return nil
}

// afterAll is the first name, in the order of bytes, after all that begin with a prefix that ends with a colon.
func afterAll(prefix string) string { return strings.TrimSuffix(prefix, ":") + ";" }

func (n *their) URL() string { return n.target.URL(n.host) }

// Counters are none: they would be of whatever else it serves.
func (n *their) Counters(context.Context) (map[string]float64, error) {
	return nil, fmt.Errorf("%s: %w", n.target.at(n.host), ErrNoCounters)
}

// Alive says true: nothing of ours has ended it.
func (n *their) Alive() bool { return true }

func (n *their) Kill() error { return n.refuse("kill") }

// Stop leaves the server as it is.
func (n *their) Stop() error { return nil }
