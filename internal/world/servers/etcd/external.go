package etcd

import (
	"context"
	"regexp"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"lockbench/internal/world/servers"
)

// access finds keys, most of them bound to leases.
func access() *servers.Access {
	return &servers.Access{
		Form: servers.Form{Like: "host:2379,host:2379", Port: "2379", Many: true, Secret: true, Database: regexp.MustCompile(`^$`),
			Rewrite: func(text string) (string, error) { return strings.Replace(text, "http://", "etcd://", 1), nil }},
		Version: func(ctx context.Context, t servers.Target, host string) (version string, err error) {
			err = at(ctx, t, []string{host}, func(ctx context.Context, c *clientv3.Client) error {
				status, err := c.Status(ctx, "http://"+host)
				if err == nil {
					version = status.Version
				}
				return err
			})
			return version, err
		},
		Names: func(ctx context.Context, t servers.Target, prefix string, visit func([]string) error) error {
			return at(ctx, t, t.Hosts(), func(ctx context.Context, c *clientv3.Client) error {
				found, err := c.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
				if err != nil {
					return err
				}
				var names []string
				for _, kv := range found.Kvs {
					names = append(names, string(kv.Key))
				}
				return visit(names)
			})
		},
		Remove: func(ctx context.Context, t servers.Target, prefix string) error {
			return at(ctx, t, t.Hosts(), func(ctx context.Context, c *clientv3.Client) error {
				_, err := c.Delete(ctx, prefix, clientv3.WithPrefix())
				return err
			})
		},
	}
}

func at(ctx context.Context, t servers.Target, hosts []string, do func(context.Context, *clientv3.Client) error) error {
	return with(ctx, hosts, t.User(), t.Password(), do)
}
