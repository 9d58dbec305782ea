package impls

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// commandTimeout bounds a command whose context does not. It is generous: a command that is given up on
// is indeterminate, and a slow machine must not look like a broken lock.
const commandTimeout = 5 * time.Second

// Quiet drops what the Redis client says on stderr, for the whole process, of servers that it cannot reach: here they are
// dead on purpose, and each error is returned as well.
func Quiet() { redis.SetLogger(quiet{}) }

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// node is one Redis server, or a cluster that is as one, and the keys that a lock has there.
type node struct {
	redis.UniversalClient
	prefix string
}

// openNode connects to the only server of a lock on the single deployment. Several servers are a cluster.
func openNode(env Env) (node, error) {
	switch len(env.Nodes) {
	case 0:
		return node{}, errors.New("want a server, got none")
	case 1:
		return connect(env, env.Nodes[0])
	}
	return connectCluster(env)
}

// connect opens a client of one server; it dials when it is first used.
func connect(env Env, url string) (node, error) {
	opts, err := reach(env, url)
	if err != nil {
		return node{}, err
	}
	return node{redis.NewClient(careful(opts)), env.Prefix}, nil
}

// careful sets a client up so that it does what a lock asks it, once, and nothing by itself.
func careful(opts *redis.Options) *redis.Options {
	opts.ContextTimeoutEnabled = true // off by default: a cancelled call would return after ReadTimeout
	opts.MaxRetries = -1              // 3 by default: a SET NX resent after a lost reply answers "busy" to its own owner
	opts.DialerRetries = 1
	opts.ReadTimeout, opts.WriteTimeout, opts.DialTimeout, opts.PoolTimeout = commandTimeout, commandTimeout, commandTimeout, commandTimeout
	opts.PoolSize = 1024 // more than the clients of a process: a full pool would be a queue in front of the lock
	opts.Protocol = 2
	opts.DisableIdentity = true
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	opts.ReadBufferSize, opts.WriteBufferSize = 4096, 4096
	return opts
}

// single is what locks on one Redis share that wait by asking again.
type single struct {
	node
	polling
	env Env
}

func openSingle(env Env) (single, error) {
	p, err := newPolling(env)
	if err != nil {
		return single{}, err
	}
	n, err := openNode(env)
	return single{n, p, env}, err
}

func (n node) key(key string) string { return n.prefix + key }

// setNXPX is SET key value NX PX ttl: one atomic command.
func (n node) setNXPX(ctx context.Context, key, value string, ttl time.Duration) error {
	if err := checkTTL(ttl); err != nil {
		return err
	}
	set := redis.NewBoolCmd(ctx, "SET", n.key(key), value, "NX", "PX", ttl.Milliseconds())
	if err := n.Process(ctx, set); err != nil || set.Val() {
		return err
	}
	return ErrBusy
}

// checkTTL refuses what the server would round to nothing.
func checkTTL(ttl time.Duration) error {
	if ttl < time.Millisecond {
		return fmt.Errorf("ttl %v: want at least 1ms", ttl)
	}
	return nil
}

// deleteIfMine compares and deletes in one script.
func (n node) deleteIfMine(ctx context.Context, key, token string) error {
	return notHeldIfNone(compareAndDelete.Run(ctx, n.UniversalClient, []string{n.key(key)}, token).Int64())
}

// drift is how far clocks may run apart within a lease, the server's expiry being counted in milliseconds.
func drift(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }

// detached bounds what must be tried although the caller has gone.
func detached(ctx context.Context, within time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), within)
}

// del is the plain DEL: whoever sends it, the key goes.
func (n node) del(ctx context.Context, key string) error {
	return notHeldIfNone(n.Del(ctx, n.key(key)).Result())
}

// Probe asks the server for a string key's value and remaining time.
func (n node) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	value, err := n.Get(ctx, n.key(key)).Result()
	if errors.Is(err, redis.Nil) {
		return "", 0, nil
	} else if err != nil {
		return "", 0, err
	}
	return n.timeLeft(ctx, key, value)
}

// timeLeft is what Probe answers of a key that was seen to bear the token.
func (n node) timeLeft(ctx context.Context, key, token string) (string, time.Duration, error) {
	left, err := n.PTTL(ctx, n.key(key)).Result()
	switch {
	case err != nil:
		return "", 0, err
	case left == -2: // it went between the two commands
		return "", 0, nil
	case left == -1:
		return token, Unbounded, nil
	}
	return token, left, nil
}

func busyIfNil(err error) error {
	if errors.Is(err, redis.Nil) {
		return ErrBusy
	}
	return err
}

func notHeldIfNone(n int64, err error) error {
	if err == nil && n == 0 {
		return ErrNotHeld
	}
	return err
}
