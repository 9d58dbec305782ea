package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"lockbench/internal/world/servers"
)

// closedPort is a port on which no program listens. A server that replicates from this port refuses writes and keeps its
// data.
const closedPort = "1"

// enter puts a server into a state and verifies the read-only and the full state.
func enter(ctx context.Context, addr string, s servers.State) (leave func() error, err error) {
	err = withClient(addr, func(c *redis.Client) error {
		switch s {
		case servers.Empty:
			return c.FlushAll(ctx).Err()
		case servers.Scriptless:
			return c.ScriptFlush(ctx).Err()
		case servers.ReadOnly:
			leave = undo(addr, func(ctx context.Context, c *redis.Client) error { return replicate(ctx, c, "NO", "ONE", "master") })
			return replicate(ctx, c, "127.0.0.1", closedPort, "slave")
		case servers.Full:
			leave, err = fill(ctx, addr, c)
			return err
		}
		return fmt.Errorf("unknown state %s", s)
	})
	if err != nil && leave != nil { // the server may be in the state although no reply arrived; leave it
		err, leave = errors.Join(err, leave()), nil
	}
	return leave, err
}

// undo returns a function that calls do with a new client. The function works even after an interrupt.
func undo(addr string, do func(context.Context, *redis.Client) error) func() error {
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), restoreTimeout)
		defer cancel()
		return withClient(addr, func(c *redis.Client) error { return do(ctx, c) })
	}
}

func replicate(ctx context.Context, c *redis.Client, host, port, role string) error {
	if err := c.Do(ctx, "REPLICAOF", host, port).Err(); err != nil {
		return err
	}
	reply, err := c.Do(ctx, "ROLE").Slice()
	if err == nil && (len(reply) == 0 || reply[0] != role) {
		err = fmt.Errorf("the server reports the role %v, want %s", reply, role)
	}
	return err
}

// fill limits the server's memory to one byte without eviction. A write of a test key must then fail.
func fill(ctx context.Context, addr string, c *redis.Client) (leave func() error, err error) {
	limit, err := c.ConfigGet(ctx, "maxmemory").Result()
	if err != nil {
		return nil, err
	}
	policy, err := c.ConfigGet(ctx, "maxmemory-policy").Result()
	if err != nil {
		return nil, err
	}
	leave = undo(addr, func(ctx context.Context, c *redis.Client) error {
		return errors.Join(c.ConfigSet(ctx, "maxmemory", limit["maxmemory"]).Err(),
			c.ConfigSet(ctx, "maxmemory-policy", policy["maxmemory-policy"]).Err())
	})
	err = errors.Join(c.ConfigSet(ctx, "maxmemory-policy", "noeviction").Err(), c.ConfigSet(ctx, "maxmemory", "1").Err())
	if err != nil {
		return leave, err
	}
	if err := c.Set(ctx, fillerName(0), "x", 0).Err(); !redis.HasErrorPrefix(err, "OOM") {
		return leave, fmt.Errorf("a write was not refused: %v", err)
	}
	return leave, nil
}
