package redis

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockbench/impls"
	"lockbench/impls/waiting"
)

// Quiet drops what the Redis client says on stderr, for the whole process, of servers that it cannot reach: here they are
// dead on purpose, and each error is returned as well.
func Quiet() { redis.SetLogger(quiet{}) }

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// Node is one Redis server, or a cluster that is as one, and the keys that a lock has there.
type Node struct {
	redis.UniversalClient
	prefix string
}

var _ impls.Prober = Node{}

// openNode connects to the only server of a lock on the single deployment. Several servers are a cluster.
func openNode(env impls.Env) (Node, error) {
	switch len(env.Nodes) {
	case 0:
		return Node{}, errors.New("want a server, got none")
	case 1:
		nodes, err := Connect(env)
		if err != nil {
			return Node{}, err
		}
		return nodes[0], nil
	}
	return connectCluster(env)
}

// careful sets a client up so that it does what a lock asks it, once, and nothing by itself.
func careful(opts *redis.Options) *redis.Options {
	opts.ContextTimeoutEnabled = true // off by default: a cancelled call would return after ReadTimeout
	opts.MaxRetries = -1              // 3 by default: a SET NX resent after a lost reply answers "busy" to its own owner
	opts.DialerRetries = 1
	opts.ReadTimeout, opts.WriteTimeout = waiting.CommandTimeout, waiting.CommandTimeout
	opts.DialTimeout, opts.PoolTimeout = waiting.CommandTimeout, waiting.CommandTimeout
	opts.PoolSize = 1024 // more than the clients of a process: a full pool would be a queue in front of the lock
	opts.Protocol = 2
	opts.DisableIdentity = true
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	opts.ReadBufferSize, opts.WriteBufferSize = 4096, 4096
	return opts
}

func (n Node) Key(key string) string { return n.prefix + key }

// setNXPX is SET key value NX PX ttl: one atomic command.
func (n Node) setNXPX(ctx context.Context, key, value string, ttl time.Duration) error {
	if err := impls.CheckTTL(ttl); err != nil {
		return err
	}
	set := redis.NewBoolCmd(ctx, "SET", n.Key(key), value, "NX", "PX", ttl.Milliseconds())
	if err := n.Process(ctx, set); err != nil || set.Val() {
		return err
	}
	return impls.ErrBusy
}

// deleteIfMine compares and deletes in one script.
func (n Node) deleteIfMine(ctx context.Context, key, token string) error {
	return impls.Affected(compareAndDelete.Run(ctx, n.UniversalClient, []string{n.Key(key)}, token).Int64())
}

// value returns the value of a string key; "" if there is no such key.
func (n Node) value(ctx context.Context, key string) (string, error) {
	value, err := n.Get(ctx, n.Key(key)).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return value, err
}

// Probe asks the server for a string key's value and remaining time.
func (n Node) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	value, err := n.value(ctx, key)
	if err != nil || value == "" {
		return "", 0, err
	}
	return n.timeLeft(ctx, key, value)
}

// timeLeft is what Probe answers of a key that was seen to bear the token.
func (n Node) timeLeft(ctx context.Context, key, token string) (string, time.Duration, error) {
	left, err := n.PTTL(ctx, n.Key(key)).Result()
	switch {
	case err != nil:
		return "", 0, err
	case left == -2: // it went between the two commands
		return "", 0, nil
	case left == -1:
		return token, impls.Unbounded, nil
	}
	return token, left, nil
}
