package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/internal/world/servers"
)

const (
	evictTimeout   = 10 * time.Second // time limit for the eviction of the key
	restoreTimeout = 10 * time.Second // time limit for restoring the settings and removing the filler keys

	fillerPrefix = servers.Root + "filler:"
	fillerSize   = 128 << 10 // bytes per filler value; large, so that few fillers cause an eviction
	fillerRoom   = 4 << 20   // number of bytes by which maxmemory exceeds the used memory
	fillerBatch  = 8
)

// evict makes the server evict a key. It limits the server's memory and adds filler keys until the key is evicted. The
// server evicts the least recently used keys first. So it may evict fillers before a key that clients use.
func evict(ctx context.Context, addr, key string) error {
	ctx, cancel := context.WithTimeout(ctx, evictTimeout)
	defer cancel()
	return withClient(addr, func(c *redis.Client) error { return evictKey(ctx, c, key) })
}

type setting struct{ name, value string }

func evictKey(ctx context.Context, c *redis.Client, key string) (err error) {
	switch there, err := c.Exists(ctx, key).Result(); {
	case err != nil:
		return err
	case there == 0:
		return errors.New("no such key")
	}
	used, err := usedMemory(ctx, c)
	if err != nil {
		return err
	}
	evictions := c.Subscribe(ctx, "__keyevent@0__:evicted")
	defer evictions.Close()
	if _, err := evictions.Receive(ctx); err != nil { // wait until the subscription is confirmed
		return err
	}
	var before []setting
	fillers := 0
	defer func() { err = errors.Join(err, restore(c, before, fillers)) }()
	for _, s := range []setting{
		{"notify-keyspace-events", "Ee"}, // publish evictions
		{"maxmemory-policy", "allkeys-lru"},
		{"maxmemory", strconv.Itoa(used + fillerRoom)}, // set the memory limit last, after the eviction policy
	} {
		was, err := c.ConfigGet(ctx, s.name).Result()
		if err != nil {
			return err
		}
		before = append(before, setting{s.name, was[s.name]})
		if err := c.ConfigSet(ctx, s.name, s.value).Err(); err != nil {
			return err
		}
	}
	gone := evictions.Channel()
	for filler := strings.Repeat("x", fillerSize); ; fillers += fillerBatch {
		switch found, err := evicted(ctx, gone, key); {
		case err != nil:
			return err
		case found:
			return nil
		}
		pipe := c.Pipeline()
		for i := range fillerBatch {
			pipe.Set(ctx, fillerName(fillers+i), filler, 0)
		}
		if _, err := pipe.Exec(ctx); err != nil && !redis.HasErrorPrefix(err, "OOM") {
			return err
		}
	}
}

func evicted(ctx context.Context, gone <-chan *redis.Message, key string) (bool, error) {
	for {
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("not evicted within %v", evictTimeout)
		case m, ok := <-gone:
			if !ok || m.Payload == key {
				return ok, nil
			}
		default:
			return false, nil
		}
	}
}

// restore restores the server's settings and removes the filler keys. It does so even after an interrupt.
func restore(c *redis.Client, before []setting, fillers int) error {
	ctx, cancel := context.WithTimeout(context.Background(), restoreTimeout)
	defer cancel()
	var errs []error
	for _, s := range slices.Backward(before) {
		errs = append(errs, c.ConfigSet(ctx, s.name, s.value).Err())
	}
	pipe := c.Pipeline()
	for i := range fillers + fillerBatch { // include the keys of a failed batch, because the server may have stored some of them
		pipe.Unlink(ctx, fillerName(i))
	}
	_, err := pipe.Exec(ctx)
	if err = errors.Join(append(errs, err)...); err != nil {
		return fmt.Errorf("restore the memory limit: %w", err)
	}
	return nil
}

func fillerName(i int) string { return fillerPrefix + strconv.Itoa(i) }

func usedMemory(ctx context.Context, c *redis.Client) (int, error) {
	text, err := c.Info(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(parseInfo(text)["used_memory"])
}
