package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// The stores: what a lock may talk to.
const (
	Redis     = "redis"
	MySQL     = "mysql" // MariaDB here
	Postgres  = "postgres"
	MongoDB   = "mongodb"
	FerretDB  = "ferretdb" // it speaks MongoDB's protocol, and is not MongoDB
	ZooKeeper = "zookeeper"
	Etcd      = "etcd"
)

// The deployments: how many servers there are, and how they are related.
const (
	Single      = "single"       // one server
	Replica     = "replica"      // a primary, and one replica that follows it
	TwoReplicas = "two-replicas" // a primary, and two replicas that follow it
	Sentinel    = "sentinel"     // the same, and three Sentinels, which promote a replica when the primary is gone
	Five        = "five"         // five independent primaries
	FiveDelayed = "five-delayed" // the same; one that is restarted is kept out for longer than any lease lasts
	Cluster     = "cluster"      // a Redis Cluster: three primaries, each with a replica and with a third of the keys
	Durable     = "durable"      // one server that has on disk what it has acknowledged
	Three       = "three"        // an ensemble of three, which agree by majority
)

// StoreVerb is the first argument with which this program is itself a server, of a store that is a Go module
// (internal/world/builtin). The name of the store and its arguments follow.
const StoreVerb = "store"

// Store describes the servers of one product: how they run as child processes, in containers, or as servers of the
// user's own. A nil function means that the store does not offer it, unless stated otherwise.
type Store struct {
	Name       string
	Product    string // as reports call it
	Provide    string // the command that provides it on this machine
	Durability string // what has become of a write when it is acknowledged, with the settings used here

	Deployments []Deployment
	Missing     func() error         // why it cannot run in child processes; a nil function: it always can
	Emulator    string               // product and version of the emulator
	Emulate     func() (Node, error) // starts an emulator in this process

	// In a child process.
	Within  time.Duration                         // bounds its start
	Prepare func(context.Context, *Process) error // makes its folder ready, once in its life; nil: nothing to do
	Command func(*Process) (*exec.Cmd, error)     // folder and output are set by the caller
	// Ask returns the version of a server that serves and is our child: another server may have taken the port, and it
	// would answer in its place while the child is on its way out.
	Ask          func(context.Context, *Process) (version string, err error)
	ClockMissing func() error                                         // why its clock cannot be moved here
	Jump         func(context.Context, *Process, time.Duration) error // see Node

	// At a port of 127.0.0.1, host:port, whether in a child process or in a container.
	URL      func(addr string) string
	Counters func(ctx context.Context, addr string) (map[string]float64, error)
	Leads    func(ctx context.Context, addr string) (bool, error) // reports whether the server leads its ensemble
	Unseat   func(ctx context.Context, addr, key string) error    // see Node
	Squeeze  func(ctx context.Context, addr, key string) error    // see Node

	Image    Image   // without a name: there is none
	External *Access // nil: a user cannot name servers of it
}

// Deployment describes how one is brought up.
type Deployment struct {
	Name       string
	Nodes      int      // that hold data
	Needs      string   // what only our own servers offer; "": any server will do
	Contained  bool     // it is offered in containers
	Options    []string // the servers' additional command-line options
	Durability string   // "": as the store's
	Peers      int      // ports of each server by which the others of its ensemble reach it
	// Start starts the servers; nil: they only have to be started.
	Start func(ctx context.Context, l *Launcher, nodes int) error
}

// Image describes a store in a container. docker-compose.yml has the same.
type Image struct {
	Name     string // pinned
	Variable string // of the environment, which names another image in its place
	Port     string // that the server listens on in there
	Command  []string
	Environ  map[string]string
	// Ready does once more what it takes until the server serves, and returns why it does not yet; nil: the server serves
	// if it tells its counters.
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

// Absent returns why the store cannot run in child processes, and what to do about it; nil: it can.
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

// DeploymentNames returns the names that Spec.Deployment may have with the store.
func (s Store) DeploymentNames() []string {
	var names []string
	for _, d := range s.Deployments {
		names = append(names, d.Name)
	}
	return names
}

// deployment returns the one with a name; "" is Single.
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
