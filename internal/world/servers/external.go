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
	ReachTimeout = 5 * time.Second  // time limit of a request to a user's server, which may be far away
	SweepTimeout = 30 * time.Second // time limit for cleaning up one server, which may have many keys
)

// Access describes how lockbench uses a user's servers. In its functions, a name is the name of a key, row, document or
// znode. All names of a run begin with the run's KeyPrefix.
type Access struct {
	Form

	// Version returns the version of the server. It returns an error if lockbench cannot use the server.
	Version func(ctx context.Context, t Target, host string) (string, error)
	// Counters returns counters by name. It is nil if the server cannot count the commands of one database or client
	// separately.
	Counters func(ctx context.Context, t Target, host string) (map[string]float64, error)
	// Names returns the names of all keys, rows, documents or znodes that begin with the prefix. A name may occur more
	// than once.
	Names func(ctx context.Context, t Target, prefix string) ([]string, error)
	// Remove removes all keys, rows, documents or znodes whose names have the prefix.
	Remove func(ctx context.Context, t Target, prefix string) error
}

// Remote holds the user's servers, which the user gave by address. Lockbench never stops, configures or flushes them.
type Remote struct {
	Targets []Target // one address for each Redis server; at most one address for each other store
	CAFile  string   // file of CA certificates for TLS; "": the certificates of the system
}

// Named reports whether the user gave the address of any server.
func (r Remote) Named() bool { return len(r.Targets) > 0 }

// Of returns the addresses of a store's servers.
func (r Remote) Of(store string) []Target {
	return slices.DeleteFunc(slices.Clone(r.Targets), func(t Target) bool { return t.Store() != store })
}

// TLS reports whether a connection to any server of a store uses TLS.
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

func externalSupported(of Store, d Deployment, s Spec) error {
	if of.External == nil {
		return Absent{errors.New("runs only as part of lockbench: --servers local")}
	}
	switch given := len(s.Remote.servers(of.Name)); {
	case given == 0:
		return Absent{fmt.Errorf("no %s server was named: --%s %s", of.Product, of.Name, of.External.Example)}
	case d.Needs != "":
		return fmt.Errorf("%s is not supported on your own servers", d.Needs)
	case given < d.Nodes:
		return fmt.Errorf("needs %d servers, but --%s names %d", d.Nodes, of.Name, given)
	case s.Clock:
		return errors.New("the clock of your own server cannot be moved")
	}
	return nil
}

type external struct {
	Refusing
	target Target
	host   string
}

var _ Node = (*external)(nil)

// startExternal returns a group of the user's servers. It sends each server a single request, for the version.
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

// version returns the version of one server. The error contains no secrets.
func (t Target) version(ctx context.Context, host string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, ReachTimeout)
	defer cancel()
	// Check with a plain connection first: a client library may retry until the timeout.
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	var version string
	if err == nil {
		conn.Close()
		version, err = t.of.External.Version(ctx, t, host)
	}
	switch {
	case err != nil && (ctx.Err() != nil || strings.Contains(err.Error(), "i/o timeout")):
		return "", &Unreachable{t, host, fmt.Sprintf("no answer within %v", ReachTimeout), false}
	case errors.Is(err, syscall.ECONNREFUSED):
		return "", &Unreachable{t, host, "connection refused", true}
	case err != nil:
		return "", &Unreachable{t, host, plainText(t.hide(err)), false}
	}
	return version, nil
}

// Unreachable is the error for a user's server that cannot be used. The error contains no secrets.
type Unreachable struct {
	Target  Target
	Host    string
	Why     string
	Refused bool // whether the server refused the connection
}

func (u *Unreachable) Error() string { return fmt.Sprintf("reach %s: %s", u.Target.at(u.Host), u.Why) }

// plainText returns the text of an error without the prefixes of Go's net and context packages, such as "dial tcp".
func plainText(err error) string {
	text := regexp.MustCompile(`(dial|read|write) tcp [^ ]+(->[^ ]+)?: |^context [a-z ]+: `).ReplaceAllString(err.Error(), "")
	if text == "EOF" || strings.HasSuffix(text, ": EOF") {
		text = "it closed the connection: another program may listen there"
	}
	return text
}

// Reach connects to every server of the target. It returns an error if a server does not answer or cannot be used.
func (t Target) Reach(ctx context.Context) error {
	return Each(len(t.hosts), func(i int) error {
		_, err := t.version(ctx, t.hosts[i])
		return err
	})
}

func (n *external) URL() string { return n.target.URL(n.host) }

func (n *external) Counters(ctx context.Context) (map[string]float64, error) {
	count := n.target.of.External.Counters
	if count == nil { // the server cannot count lockbench's commands separately
		return nil, fmt.Errorf("%s: %w", n.Shown, ErrNoCounters)
	}
	ctx, cancel := context.WithTimeout(ctx, ReachTimeout)
	defer cancel()
	c, err := count(ctx, n.target, n.host)
	if err != nil {
		return nil, fmt.Errorf("read the counters of %s: %w", n.Shown, n.target.hide(err))
	}
	return c, nil
}

// Alive returns true, because lockbench never ends a user's server.
func (n *external) Alive() bool { return true }

func (n *external) Kill() error { return n.refuse("kill") }

// Stop does nothing, because lockbench never stops a user's server.
func (n *external) Stop() error { return nil }
