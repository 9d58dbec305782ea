package servers

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// theirEtcd has keys, most of them bound to leases.
func theirEtcd() theirs {
	return theirs{
		store: Etcd,
		version: func(ctx context.Context, t Target, host string) (string, error) {
			c, err := t.etcd(ctx, host)
			if err != nil {
				return "", err
			}
			defer c.Close()
			status, err := c.Status(ctx, "http://"+host)
			if err != nil {
				return "", err
			}
			return status.Version, nil
		},
		names: func(ctx context.Context, t Target, prefix string) ([]string, error) {
			c, err := t.etcd(ctx, t.hosts...)
			if err != nil {
				return nil, err
			}
			defer c.Close()
			found, err := c.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
			if err != nil {
				return nil, err
			}
			var names []string
			for _, kv := range found.Kvs {
				names = append(names, string(kv.Key))
			}
			return names, nil
		},
		remove: func(ctx context.Context, t Target, prefix string) error {
			c, err := t.etcd(ctx, t.hosts...)
			if err != nil {
				return err
			}
			defer c.Close()
			_, err = c.Delete(ctx, prefix, clientv3.WithPrefix())
			return err
		},
	}
}

func (t Target) etcd(ctx context.Context, hosts ...string) (*clientv3.Client, error) {
	var endpoints []string
	for _, h := range hosts {
		endpoints = append(endpoints, "http://"+h)
	}
	return clientv3.New(clientv3.Config{Endpoints: endpoints, Context: ctx, Logger: zap.NewNop(), DialTimeout: reachWithin,
		Username: t.user, Password: t.password})
}
