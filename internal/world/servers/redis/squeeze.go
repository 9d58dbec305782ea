package redis

import (
	"context"
	"errors"
	"fmt"
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

// squeezed are the settings that are changed, and what to.
var squeezed = []struct{ name, value string }{
	{"notify-keyspace-events", "Ee"}, // the server says itself what it evicts
	{"maxmemory-policy", "allkeys-lru"},
	{"maxmemory", ""}, // what is in use, and the room; the last to be set and the first to be set back
}

// squeeze leaves the server so little memory that it must throw keys away, and fills that until it has thrown
// this one away. A key that is in use is as fresh as the fillers, which live for milliseconds, so one of them or
// it goes by chance; one that is not goes first.
func squeeze(ctx context.Context, addr, key string) error {
	ctx, cancel := context.WithTimeout(ctx, squeezeWithin)
	defer cancel()
	return withClient(addr, func(c *redis.Client) error { return evict(ctx, c, key) })
}

func evict(ctx context.Context, c *redis.Client, key string) (err error) {
	switch there, err := c.Exists(ctx, key).Result(); {
	case err != nil:
		return err
	case there == 0:
		return errors.New("it does not have the key")
	}
	before, err := settings(ctx, c)
	if err != nil {
		return err
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
	fillers := 0
	defer func() { err = errors.Join(err, relax(c, before, fillers)) }()
	for _, s := range squeezed {
		if s.value == "" {
			s.value = strconv.Itoa(used + fillerRoom)
		}
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
func relax(c *redis.Client, before map[string]string, fillers int) error {
	ctx, cancel := context.WithTimeout(context.Background(), relaxWithin)
	defer cancel()
	var errs []error
	for i := len(squeezed) - 1; i >= 0; i-- {
		name := squeezed[i].name
		errs = append(errs, c.ConfigSet(ctx, name, before[name]).Err())
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

func settings(ctx context.Context, c *redis.Client) (map[string]string, error) {
	all := map[string]string{}
	for _, s := range squeezed {
		values, err := c.ConfigGet(ctx, s.name).Result()
		if err != nil {
			return nil, err
		}
		all[s.name] = values[s.name]
	}
	return all, nil
}

func usedMemory(ctx context.Context, c *redis.Client) (int, error) {
	text, err := c.Info(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(parseInfo(text)["used_memory"])
}
