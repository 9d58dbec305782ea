package redis

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls"
)

// Nodes are independent servers, which a lock has a majority of.
type Nodes []Node

// Connect opens clients of all servers of an Env, which dial when they are first used.
func Connect(env impls.Env) (Nodes, error) { return connectAll(env, careful) }

// ConnectDefault is Connect with the settings that go-redis has by default: it resends what was not answered up to three times,
// and a context that ends does not cut a command off. Only what an emulator does not know is left out.
func ConnectDefault(env impls.Env) (Nodes, error) {
	return connectAll(env, func(opts *redis.Options) *redis.Options {
		c := careful(&redis.Options{})
		opts.DisableIdentity, opts.MaintNotificationsConfig = c.DisableIdentity, c.MaintNotificationsConfig
		return opts
	})
}

func connectAll(env impls.Env, setUp func(*redis.Options) *redis.Options) (Nodes, error) {
	var all Nodes
	for _, url := range env.Nodes {
		opts, err := Options(env, url)
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all = append(all, Node{redis.NewClient(setUp(opts)), env.Prefix})
	}
	return all, nil
}

// Probe asks for the token that a majority of the servers has.
func (all Nodes) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	count, least := map[string]int{}, map[string]time.Duration{}
	var errs []error
	for _, n := range all {
		token, left, err := n.Probe(ctx, key)
		errs = append(errs, err)
		if token == "" {
			continue
		}
		if count[token]++; count[token] == 1 || left < least[token] {
			least[token] = left
		}
		if count[token] == len(all)/2+1 {
			return token, least[token], nil
		}
	}
	return "", 0, errors.Join(errs...)
}

// Close closes the clients.
func (all Nodes) Close() error {
	var errs []error
	for _, n := range all {
		errs = append(errs, n.UniversalClient.Close())
	}
	return errors.Join(errs...)
}
