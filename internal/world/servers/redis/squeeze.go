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
	squeezeWithin = 10 * time.Second // bounds the wait for the eviction
	relaxWithin   = 10 * time.Second // bounds the giving back

	fillerPrefix = servers.Root + "filler:"
	fillerSize   = 128 << 10 // bytes: large, so that few fit and each new one costs another key its place
	fillerRoom   = 4 << 20   // bytes that are left to fill
	fillerBatch  = 8
)

// squeeze leaves the server so little memory that it must throw keys away, and fills that until it has thrown
// this one away. A key that is in use is as fresh as the fillers, which live for milliseconds, so one of them or
// it goes by chance; one that is not goes first.
func squeeze(ctx context.Context, addr, key string) error {
	ctx, cancel := context.WithTimeout(ctx, squeezeWithin)
	defer cancel()
	return withClient(addr, func(c *redis.Client) error { return evict(ctx, c, key) })
}

type setting struct{ name, value string }

func evict(ctx context.Context, c *redis.Client, key string) (err error) {
	switch there, err := c.Exists(ctx, key).Result(); {
	case err != nil:
		return err
	case there == 0:
		return errors.New("it does not have the key")
	}
	used, err := usedMemory(ctx, c)
	if err != nil {
		return err
	}
	evictions := c.Subscribe(ctx, "__keyevent@0__:evicted")
	defer evictions.Close()
	if _, err := evictions.Receive(ctx); err != nil { // that it listens
		return err
	}
	var before []setting
	fillers := 0
	defer func() { err = errors.Join(err, relax(c, before, fillers)) }()
	for _, s := range []setting{
		{"notify-keyspace-events", "Ee"}, // the server says itself what it evicts
		{"maxmemory-policy", "allkeys-lru"},
		{"maxmemory", strconv.Itoa(used + fillerRoom)}, // the last to be set and the first to be set back
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
			return false, fmt.Errorf("it was not seen to be evicted within %v", squeezeWithin)
		case m, ok := <-gone:
			if !ok || m.Payload == key {
				return ok, nil
			}
		default:
			return false, nil
		}
	}
}

// relax gives the memory back, also after an interrupt: everything is as it was, but for what was evicted.
func relax(c *redis.Client, before []setting, fillers int) error {
	ctx, cancel := context.WithTimeout(context.Background(), relaxWithin)
	defer cancel()
	var errs []error
	for _, s := range slices.Backward(before) {
		errs = append(errs, c.ConfigSet(ctx, s.name, s.value).Err())
	}
	pipe := c.Pipeline()
	for i := range fillers + fillerBatch { // and those of a batch that failed
		pipe.Unlink(ctx, fillerName(i))
	}
	_, err := pipe.Exec(ctx)
	if err = errors.Join(append(errs, err)...); err != nil {
		return fmt.Errorf("give the memory back: %w", err)
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
