// Package stores has the table of the stores, and starts servers by the name of their store.
package stores

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"lockbench/internal/world/servers"
	"lockbench/internal/world/servers/etcd"
	"lockbench/internal/world/servers/ferretdb"
	"lockbench/internal/world/servers/mongodb"
	"lockbench/internal/world/servers/mysql"
	"lockbench/internal/world/servers/postgres"
	"lockbench/internal/world/servers/redis"
	"lockbench/internal/world/servers/zookeeper"
)

// All returns the stores.
func All() []servers.Store {
	return []servers.Store{redis.Store(), mysql.Store(), postgres.Store(), mongodb.Store(), ferretdb.Store(), zookeeper.Store(), etcd.Store()}
}

// Names returns the names that servers.Spec.Store may have.
func Names() []string {
	var names []string
	for _, s := range All() {
		names = append(names, s.Name)
	}
	return names
}

// Find returns the store with a name.
func Find(name string) (servers.Store, error) {
	for _, s := range All() {
		if s.Name == name {
			return s, nil
		}
	}
	return servers.Store{}, fmt.Errorf("unknown store %q (known: %s)", name, strings.Join(Names(), ", "))
}

// Start is servers.Start with the store that the Spec names.
func Start(ctx context.Context, s servers.Spec) (*servers.Group, error) {
	of, err := Find(s.Store)
	if err != nil {
		return nil, fmt.Errorf("start %s servers: %w", s.How, err)
	}
	return servers.Start(ctx, of, s)
}

// Supported returns why such servers cannot be had; nil: they can. It asks no server.
func Supported(s servers.Spec) error {
	of, err := Find(s.Store)
	if err != nil {
		return err
	}
	return servers.Supported(of, s)
}

// Resolve returns what a way to bring servers of a store up comes to on this machine.
func Resolve(how, store string) string {
	of, err := Find(store)
	if err != nil {
		return how
	}
	return servers.Resolve(how, of)
}

// Missing returns why a store cannot run in child processes of ours, and what to do about it; nil: it can.
func Missing(name string) error {
	s, err := Find(name)
	return errors.Join(err, s.Absent())
}

// Product returns what reports call a store: mariadb.
func Product(name string) string { s, _ := Find(name); return s.Product }

// Provide returns the command that provides a store on this machine.
func Provide(name string) string { s, _ := Find(name); return s.Provide }

// Deployments returns the names that servers.Spec.Deployment may have with a store.
func Deployments(name string) []string { s, _ := Find(name); return s.DeploymentNames() }

// External returns the stores whose servers a user may name by one address; Redis's are named by several.
func External() []servers.Store {
	var all []servers.Store
	for _, s := range All() {
		if s.External != nil && s.Name != servers.Redis {
			all = append(all, s)
		}
	}
	return all
}
