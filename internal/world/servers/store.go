package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Names of the stores.
const (
	Redis      = "redis"
	MySQL      = "mysql" // MySQL or MariaDB; lockbench itself starts MariaDB
	Postgres   = "postgres"
	MongoDB    = "mongodb"
	FerretDB   = "ferretdb" // server for MongoDB's protocol that stores data in SQLite
	ZooKeeper  = "zookeeper"
	Etcd       = "etcd"
	Kubernetes = "kubernetes" // stand-in for the API server of Kubernetes, with its Lease objects only
)

// Names of the deployments. A deployment determines how many servers run and how the servers are connected.
const (
	Single      = "single"       // a single server
	Replica     = "replica"      // a primary and one replica
	TwoReplicas = "two-replicas" // a primary and two replicas
	Sentinel    = "sentinel"     // a primary, two replicas, and three Sentinels that promote a replica if the primary fails
	Five        = "five"         // five independent primaries
	FiveDelayed = "five-delayed" // like Five, but a restarted server stays unavailable for longer than the longest lease
	Cluster     = "cluster"      // a Redis Cluster: three primaries, each with a third of the keys and one replica
	Durable     = "durable"      // one server that syncs every write to disk
	Valkey      = "valkey"       // one server of Valkey, which has the protocol of Redis
	Three       = "three"        // an ensemble of three servers that decide by majority
)

// StoreVerb is the first command-line argument with which this program runs a server of a built-in store. The next
// arguments are the name of the store and the server's arguments. See internal/world/builtin.
const StoreVerb = "store"

// Store describes the servers of one product: how they run as child processes or in containers, and how to use a user's
// servers. Unless stated otherwise, a nil function means that the store does not support the feature.
type Store struct {
	Name       string
	Product    string // name of the product in reports
	Provide    string // command that installs the store
	Durability string // for reports: what a crash does to an acknowledged write under lockbench's settings
	// ExpiryDelay is the longest time from the end of a lease or a session until the store frees what it held; 0: negligible.
	ExpiryDelay time.Duration

	Deployments []Deployment
	Missing     func() error         // returns an error if this machine cannot run the store in child processes; may be nil
	Emulator    string               // product and version of the emulator
	Emulate     func() (Node, error) // starts an emulator in this process

	// Fields for child processes.
	StartTimeout time.Duration                         // time limit for starting a server
	RestartTime  time.Duration                         // usual time of a restart after a crash, on a busy machine; 0: below 100 ms
	Prepare      func(context.Context, *Process) error // prepares the folder of a new server; may be nil
	Command      func(*Process) (*exec.Cmd, error)     // returns the command that runs the server; the caller sets the working directory and the output
	// Ask returns the version of the server if it is ready. Another server may have taken the port. So Ask fails if the
	// server is not the child process in its argument.
	Ask          func(context.Context, *Process) (version string, err error)
	ClockMissing func() error                                         // returns an error if this machine cannot move the server's clock; may be nil
	MoveClock    func(context.Context, *Process, time.Duration) error // implements Node.MoveClock

	// The functions below are for servers in child processes and containers. The address of these servers is
	// 127.0.0.1:port.
	URL        func(addr string) string
	Counters   func(ctx context.Context, addr string) (map[string]float64, error)
	Leads      func(ctx context.Context, addr string) (bool, error)       // reports whether the server is the leader of its ensemble
	EndSession func(ctx context.Context, addr, key string, of Role) error // implements Node.EndSession
	Evict      func(ctx context.Context, addr, key string) error          // implements Node.Evict
	// Enter implements Node.Enter. It is nil if the store has no states.
	Enter func(ctx context.Context, addr string, s State) (leave func() error, err error)

	Observing Observing // zero value: the entries of the store cannot be observed

	Image    Image   // zero value: the store cannot run in containers
	External *Access // nil: lockbench cannot use a user's servers
}

// Deployment describes how a store's servers are deployed.
type Deployment struct {
	Name      string
	Nodes     int      // number of nodes that hold data
	Needs     string   // required feature that the emulator and a user's servers lack; "": none
	Contained bool     // whether the servers can run in containers
	Options   []string // additional command-line options of the servers
	Product   string   // replaces Store.Product if it is not ""
	// Missing returns an error if this machine lacks what the deployment needs beyond the store; may be nil.
	Missing    func() error
	Durability string // replaces Store.Durability if it is not ""
	Peers      int    // number of additional ports of each server, for connections from other servers
	// Start starts the servers. If Start is nil, lockbench starts them concurrently. Each Process then gets the list of
	// the ports for connections between the servers.
	Start func(ctx context.Context, l *Launcher, nodes int) error
}

// Image describes the container image of a store, as in docker-compose.yml.
type Image struct {
	Name     string // image name with a pinned version
	Variable string // environment variable that can name a different image
	Port     string // port of the server inside the container
	Command  []string
	Environ  map[string]string
	// Ready performs the next step of the server's setup. It returns an error until the server is ready. If Ready is
	// nil, the server is ready when Counters succeeds.
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

// Absent returns an error if this machine cannot run the store, for example because it is not installed. The error
// states how to install the store.
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
