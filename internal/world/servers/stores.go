package servers

import (
	"context"
	"fmt"
	"strings"
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

// The deployments: how many servers there are, and what they are to each other.
const (
	Single      = "single"       // one server
	Replica     = "replica"      // a primary, and one replica that follows it
	TwoReplicas = "two-replicas" // a primary, and two replicas that follow it
	Sentinel    = "sentinel"     // the same, and three Sentinels, which promote a replica when the primary is gone
	Five        = "five"         // five primaries that know nothing of each other
	FiveDelayed = "five-delayed" // the same; whoever restarts one keeps it out for longer than any lease lasts
	Cluster     = "cluster"      // a Redis Cluster: three primaries, each with a replica and with a third of the keys
	Durable     = "durable"      // one server that has on disk what it has acknowledged
	Three       = "three"        // an ensemble of three, which agree by majority
)

// StoreVerb is the first argument with which this program is a server itself: of the stores that are Go modules
// (internal/builtin). The name of the store follows, and what is its own.
const StoreVerb = "store"

// store is what there is to know of one: one file each.
type store struct {
	name    string
	product string // as a report calls it
	provide string // the one line that would provide it on this machine
	// durability is what has become of a write when it is acknowledged, with the settings that it is run with here.
	durability string
	// missing says why it cannot run as child processes of ours; nil: it can.
	missing     func() error
	deployments []deployment
}

// deployment is how one is brought up.
type deployment struct {
	name  string
	nodes int    // that hold data
	needs string // what only servers of our own offer; "": any server will do
	start func(ctx context.Context, l launcher, g *Group, nodes int) error
}

func stores() []store {
	return []store{redisStore(), mariadbStore(), postgresStore(), mongoStore(), ferretStore(), zooKeeperStore(), etcdStore()}
}

// Stores are the names that Spec.Store may have.
func Stores() []string {
	var names []string
	for _, s := range stores() {
		names = append(names, s.name)
	}
	return names
}

// Provide is the one line that would provide a store on this machine.
func Provide(name string) string {
	s, err := findStore(name)
	if err != nil {
		return ""
	}
	return s.provide
}

// Product is what a store is called where it is called by its maker's name: mariadb.
func Product(name string) string {
	s, _ := findStore(name)
	return s.product
}

// Missing says why a store cannot run as child processes of ours; nil: it can. Its text is what to do about it.
func Missing(name string) error {
	s, err := findStore(name)
	if err == nil {
		err = s.missing()
	}
	if err != nil && s.provide != "" {
		err = fmt.Errorf("%w: %s", err, s.provide)
	}
	return err
}

func findStore(name string) (store, error) {
	for _, s := range stores() {
		if s.name == name {
			return s, nil
		}
	}
	return store{}, fmt.Errorf("unknown store %q (known: %s)", name, strings.Join(Stores(), ", "))
}

// Deployments are the names that Spec.Deployment may have with a store.
func Deployments(of string) []string {
	s, _ := findStore(of)
	var names []string
	for _, d := range s.deployments {
		names = append(names, d.name)
	}
	return names
}

// deployment knows one by its name; "" is Single.
func (s store) deployment(name string) (deployment, error) {
	if name == "" {
		name = Single
	}
	for _, d := range s.deployments {
		if d.name == name {
			return d, nil
		}
	}
	return deployment{}, fmt.Errorf("unknown deployment %q (known for %s: %s)", name, s.name, strings.Join(Deployments(s.name), ", "))
}
