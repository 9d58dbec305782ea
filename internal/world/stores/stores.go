// Package stores lists the supported stores. Find returns the description of a store, and Start starts its servers.
package stores

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"lockbench/internal/world/servers"
	"lockbench/internal/world/servers/etcd"
	"lockbench/internal/world/servers/ferretdb"
	"lockbench/internal/world/servers/kubernetes"
	"lockbench/internal/world/servers/mongodb"
	"lockbench/internal/world/servers/mysql"
	"lockbench/internal/world/servers/postgres"
	"lockbench/internal/world/servers/redis"
	"lockbench/internal/world/servers/zookeeper"
)

// All returns the stores.
func All() []servers.Store {
	return []servers.Store{redis.Store(), mysql.Store(), postgres.Store(), mongodb.Store(), ferretdb.Store(), zookeeper.Store(), etcd.Store(),
		kubernetes.Store()}
}

// Names returns the valid values of servers.Spec.Store.
func Names() []string {
	var names []string
	for _, s := range All() {
		names = append(names, s.Name)
	}
	return names
}

// Find returns the store with the given name.
func Find(name string) (servers.Store, error) {
	for _, s := range All() {
		if s.Name == name {
			return s, nil
		}
	}
	return servers.Store{}, fmt.Errorf("unknown store %q (known: %s)", name, strings.Join(Names(), ", "))
}

// Start starts the servers of the store that the Spec names.
func Start(ctx context.Context, s servers.Spec) (*servers.Group, error) {
	of, err := Find(s.Store)
	if err != nil {
		return nil, fmt.Errorf("start %s servers: %w", s.How, err)
	}
	return servers.Start(ctx, of, s)
}

// Supported returns an error if the servers of a Spec cannot be started. It connects to no server.
func Supported(s servers.Spec) error {
	of, err := Find(s.Store)
	if err != nil {
		return err
	}
	return servers.Supported(of, s)
}

// Resolve returns the start method that is used for a store on this machine, such as servers.Local. The parameter how is
// the requested method, such as servers.Auto for an automatic choice.
func Resolve(how, store string) string {
	of, err := Find(store)
	if err != nil {
		return how
	}
	return servers.Resolve(how, of)
}

// Missing returns an error if this machine cannot run a store, for example because it is not installed. The error states
// how to install the store.
func Missing(name string) error {
	s, err := Find(name)
	return errors.Join(err, s.Absent())
}

// Product returns a store's product name, as shown in reports.
func Product(name string) string { s, _ := Find(name); return s.Product }

// Provide returns the command that installs a store.
func Provide(name string) string { s, _ := Find(name); return s.Provide }

// RestartTime returns how long a store's server usually takes to restart after a crash. It returns 0 if the store is
// unknown.
func RestartTime(name string) time.Duration { s, _ := Find(name); return s.RestartTime }

// ExpiryDelay returns the longest time from the end of a lease or a session until a store frees what it held. It returns 0 if that is
// negligible or the store is unknown.
func ExpiryDelay(name string) time.Duration { s, _ := Find(name); return s.ExpiryDelay }

// Deployments returns the valid values of servers.Spec.Deployment for a store.
func Deployments(name string) []string { s, _ := Find(name); return s.DeploymentNames() }

// External returns the stores that can use a user's servers, except Redis. Each of them has at most one address. Redis
// may have several addresses.
func External() []servers.Store {
	var all []servers.Store
	for _, s := range All() {
		if s.External != nil && s.Name != servers.Redis {
			all = append(all, s)
		}
	}
	return all
}
