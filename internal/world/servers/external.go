package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	ReachWithin = 5 * time.Second  // bounds a question to a server of the user's: its network may be slow, or it may not be there
	SweepWithin = 30 * time.Second // bounds the cleanup after a trial; a server may have very many keys
)

// Access describes how servers of the user's own are named and spoken to. A name is that of a key, a row, a document or
// a znode, and begins with KeyPrefix if it is of a run.
type Access struct {
	Form

	// Version returns what is there, or why it does not serve us.
	Version func(ctx context.Context, t Target, host string) (string, error)
	// Counters is nil if they cannot be told from what else the server does.
	Counters func(ctx context.Context, t Target, host string) (map[string]float64, error)
	// Names returns the names that begin with a prefix; one may be there twice.
	Names func(ctx context.Context, t Target, prefix string) ([]string, error)
	// Remove removes what has a name that begins with the prefix.
	Remove func(ctx context.Context, t Target, prefix string) error
}

// Remote is the servers that a user named: not ours, so nothing there is stopped, set or emptied.
type Remote struct {
	Targets []Target // of Redis one for each server, of the other stores one at most
	CAFile  string   // certificates to trust with TLS; "": the system's
}

// Named reports whether there are any.
func (r Remote) Named() bool { return len(r.Targets) > 0 }

// Of returns what was named of a store.
func (r Remote) Of(store string) []Target {
	return slices.DeleteFunc(slices.Clone(r.Targets), func(t Target) bool { return t.Store() != store })
}

// TLS reports whether any server of a store is reached through it.
func (r Remote) TLS(store string) bool {
	return slices.ContainsFunc(r.Of(store), func(t Target) bool { return t.TLS() != nil })
}

func (r Remote) servers(store string) []*external {
	var all []*external
	for _, t := range r.Of(store) {
		for _, host := range t.hosts {
			all = append(all, &external{Refusing{t.at(host).String()}, t, host})
		}
	}
	return all
}

// externalSupported returns why such servers cannot be had from those that a user named.
func externalSupported(of Store, d Deployment, s Spec) error {
	if of.External == nil {
		return Absent{errors.New("lockbench runs it itself, with --servers local")}
	}
	switch given := len(s.Remote.servers(of.Name)); {
	case given == 0:
		return Absent{fmt.Errorf("no %s of your own was named: --%s %s", of.Product, of.Name, of.External.Like)}
	case d.Needs != "":
		return fmt.Errorf("%s is not offered on servers of your own", d.Needs)
	case given < d.Nodes:
		return fmt.Errorf("it needs %d servers, and --%s names %d", d.Nodes, of.Name, given)
	case s.Clock:
		return errors.New("the clock of a server of your own is not moved")
	}
	return nil
}

type external struct {
	Refusing
	target Target
	host   string
}

var _ Node = (*external)(nil)

// startExternal starts nothing: it asks all servers at once what they are.
func startExternal(ctx context.Context, of Store, d Deployment, s Spec) (*Group, error) {
	g, versions := &Group{}, make([]string, d.Nodes)
	for _, n := range s.Remote.servers(of.Name)[:d.Nodes] {
		g.Nodes = append(g.Nodes, n)
	}
	err := Each(d.Nodes, func(i int) (err error) {
		n := g.Nodes[i].(*external)
		versions[i], err = n.target.version(ctx, n.host)
		return err
	})
	g.Server = fmt.Sprintf("%s %s (external)", of.Product, versions[0])
	return g, err
}

// version returns the server's own. Its errors have no secrets.
func (t Target) version(ctx context.Context, host string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, ReachWithin)
	defer cancel()
	// A client library may go on trying for as long as it may.
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	var version string
	if err == nil {
		conn.Close()
		version, err = t.of.External.Version(ctx, t, host)
	}
	switch {
	case err != nil && (ctx.Err() != nil || strings.Contains(err.Error(), "i/o timeout")):
		return "", &Unreachable{t, host, fmt.Sprintf("it does not answer within %v", ReachWithin), false}
	case errors.Is(err, syscall.ECONNREFUSED):
		return "", &Unreachable{t, host, "connection refused", true}
	case err != nil:
		return "", &Unreachable{t, host, plainText(t.hide(err)), false}
	}
	return version, nil
}

// Unreachable is the error for a server that a user named and that does not serve. It has no secrets.
type Unreachable struct {
	Target  Target
	Host    string
	Why     string
	Refused bool // nothing listens at Host
}

func (u *Unreachable) Error() string { return fmt.Sprintf("reach %s: %s", u.Target.at(u.Host), u.Why) }

// plainText returns the text of an error without the details of Go's network packages.
func plainText(err error) string {
	text := regexp.MustCompile(`(dial|read|write) tcp [^ ]+(->[^ ]+)?: |^context [a-z ]+: `).ReplaceAllString(err.Error(), "")
	if text == "EOF" || strings.HasSuffix(text, ": EOF") {
		text = "it closed the connection: another program may listen there"
	}
	return text
}

// Reach reports whether every server of a target answers us.
func (t Target) Reach(ctx context.Context) error {
	return Each(len(t.hosts), func(i int) error {
		_, err := t.version(ctx, t.hosts[i])
		return err
	})
}

func (n *external) URL() string { return n.target.URL(n.host) }

func (n *external) Counters(ctx context.Context) (map[string]float64, error) {
	count := n.target.of.External.Counters
	if count == nil { // they would be of whatever else it serves
		return nil, fmt.Errorf("%s: %w", n.Shown, ErrNoCounters)
	}
	ctx, cancel := context.WithTimeout(ctx, ReachWithin)
	defer cancel()
	c, err := count(ctx, n.target, n.host)
	if err != nil {
		return nil, fmt.Errorf("counters of %s: %w", n.Shown, n.target.hide(err))
	}
	return c, nil
}

// Alive returns true: nothing of ours has ended it.
func (n *external) Alive() bool { return true }

func (n *external) Kill() error { return n.refuse("kill") }

// Stop leaves the server as it is.
func (n *external) Stop() error { return nil }
