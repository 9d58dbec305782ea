package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// The stores that locks use.
const (
	Redis     = "redis"
	MySQL     = "mysql" // run as MariaDB
	Postgres  = "postgres"
	MongoDB   = "mongodb"
	FerretDB  = "ferretdb" // MongoDB's protocol over SQLite
	ZooKeeper = "zookeeper"
	Etcd      = "etcd"
)

// The deployments: the number of servers and how they are related.
const (
	Single      = "single"       // one server
	Replica     = "replica"      // a primary and one replica
	TwoReplicas = "two-replicas" // a primary and two replicas
	Sentinel    = "sentinel"     // TwoReplicas and three Sentinels, which promote a replica if the primary fails
	Five        = "five"         // five independent primaries
	FiveDelayed = "five-delayed" // Five; a restarted server is kept out for longer than the longest lease
	Cluster     = "cluster"      // a Redis Cluster: three primaries with a third of the keys each, and a replica of each
	Durable     = "durable"      // one server that syncs every write to disk
	Three       = "three"        // an ensemble of three servers that agree by majority
)

// StoreVerb is the first argument with which this program runs a server that is a Go module (internal/world/builtin). The
// name of the store and its arguments follow.
const StoreVerb = "store"

// Store describes the servers of one product: how they run as child processes, in containers, or as the user's own servers.
// A nil function means that the store does not support it, unless stated otherwise.
type Store struct {
	Name       string
	Product    string // name in reports
	Provide    string // command that installs it
	Durability string // effect of a crash on an acknowledged write, with the settings used here

	Deployments []Deployment
	Missing     func() error         // returns the reason why it cannot run in child processes; nil: it always can
	Emulator    string               // product and version of the emulator
	Emulate     func() (Node, error) // starts an emulator in this process

	// For child processes.
	StartTimeout time.Duration                         // bounds the start of a server
	Prepare      func(context.Context, *Process) error // prepares the folder of a new server; may be nil
	Command      func(*Process) (*exec.Cmd, error)     // the caller sets the folder and the output
	// Ask returns the version of the server if it is ready and is the given child. Another server may have taken the port.
	Ask          func(context.Context, *Process) (version string, err error)
	ClockMissing func() error                                         // returns the reason why clocks cannot be moved; nil: they can
	MoveClock    func(context.Context, *Process, time.Duration) error // see Node

	// For child processes and containers. addr is a host:port of 127.0.0.1.
	URL        func(addr string) string
	Counters   func(ctx context.Context, addr string) (map[string]float64, error)
	Leads      func(ctx context.Context, addr string) (bool, error) // reports whether the server leads its ensemble
	EndSession func(ctx context.Context, addr, key string) error    // see Node
	Evict      func(ctx context.Context, addr, key string) error    // see Node

	Image    Image   // the zero value: not supported
	External *Access // nil if a user cannot name such servers
}

// Deployment describes how a deployment is started.
type Deployment struct {
	Name       string
	Nodes      int      // nodes that hold data
	Needs      string   // a feature that only servers started by lockbench have; "": none
	Contained  bool     // supported in containers
	Options    []string // additional command-line options of the servers
	Durability string   // "": as the store's
	Peers      int      // ports per server for the other members of its ensemble
	// Start starts the servers. If it is nil, they form an ensemble.
	Start func(ctx context.Context, l *Launcher, nodes int) error
}

// Image describes a store in a container, as in docker-compose.yml.
type Image struct {
	Name     string // with a pinned version
	Variable string // environment variable that names another image
	Port     string // of the server inside the container
	Command  []string
	Environ  map[string]string
	// Ready does the next step of the server's setup and returns an error until the server is ready. If it is nil, the
	// server is ready when it answers Counters.
	Ready func(ctx context.Context, addr string) error
}

func (s Store) image() Image {
	i := s.Image
	if other := os.Getenv(i.Variable); other != "" {
		i.Name = other
	}
	return i
}

func (i Image) version() string {
	_, tag, _ := strings.Cut(i.Name[strings.LastIndex(i.Name, "/")+1:], ":")
	return tag
}

// Absent returns the reason why the store cannot run in child processes and how to install it, or nil.
func (s Store) Absent() error {
	if s.Missing == nil {
		return nil
	}
	err := s.Missing()
	if err != nil && s.Provide != "" {
		err = fmt.Errorf("%w: %s", err, s.Provide)
	}
	return err
}

// DeploymentNames returns the valid values of Spec.Deployment for the store.
func (s Store) DeploymentNames() []string {
	var names []string
	for _, d := range s.Deployments {
		names = append(names, d.Name)
	}
	return names
}

func (s Store) deployment(name string) (Deployment, error) {
	if name == "" {
		name = Single
	}
	for _, d := range s.Deployments {
		if d.Name != name {
			continue
		}
		if d.Durability == "" {
			d.Durability = s.Durability
		}
		return d, nil
	}
	return Deployment{}, fmt.Errorf("unknown deployment %q (known for %s: %s)", name, s.Name, strings.Join(s.DeploymentNames(), ", "))
}
