package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"

	"lockbench/internal/world/servers"
)

// sweepBatch is how many keys are looked at, or removed, per command: no command may take long on a server of the user's.
const sweepBatch = 500

func access() *servers.Access {
	return &servers.Access{
		Form: servers.Form{Like: "redis://host:6379", Port: "6379", Secret: true, Anonymous: true, Secure: "rediss",
			Database: regexp.MustCompile(`^[0-9]{0,5}$`)},
		Version: func(ctx context.Context, t servers.Target, _ string) (string, error) {
			info, err := infoOf(ctx, t, "server")
			if err == nil && info["redis_mode"] == "cluster" {
				err = errors.New("it is part of a Redis Cluster, which no lock here is written for")
			}
			return info["redis_version"], err
		},
		Counters: func(ctx context.Context, t servers.Target, _ string) (map[string]float64, error) {
			info, err := infoOf(ctx, t, "all")
			if err != nil {
				return nil, err
			}
			return counters(info)
		},
		Names: func(ctx context.Context, t servers.Target, prefix string, visit func([]string) error) error {
			return scan(ctx, t, prefix, func(_ *redis.Client, keys []string) error { return visit(keys) })
		},
		Remove: func(ctx context.Context, t servers.Target, prefix string) error {
			return scan(ctx, t, prefix, func(c *redis.Client, keys []string) error { return c.Unlink(ctx, keys...).Err() })
		},
	}
}

func remotely(t servers.Target, do func(*redis.Client) error) error {
	opts, err := redis.ParseURL(t.URL(t.Hosts()[0]))
	if err != nil { // its text may quote the URL
		return errors.New("the address cannot be read")
	}
	if config := t.TLS(); config != nil { // the library's own way would not heed the context
		opts.TLSConfig, opts.Dialer = nil, (&tls.Dialer{Config: config}).DialContext
	}
	c := quiet(opts)
	defer c.Close()
	return explain(do(c))
}

func infoOf(ctx context.Context, t servers.Target, section string) (info map[string]string, err error) {
	err = remotely(t, func(c *redis.Client) error {
		text, err := c.Info(ctx, section).Result()
		info = parseInfo(text)
		if err == nil && len(info) == 0 {
			err = errors.New("it does not answer as a Redis server does")
		}
		return err
	})
	return info, err
}

// explain says what to do about the answers that a server gives to strangers.
func explain(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	switch of := Store(); {
	case strings.Contains(text, "NOAUTH"):
		return fmt.Errorf("it wants a password: put it into %s", of.PasswordVariable())
	case strings.Contains(text, "WRONGPASS"), strings.Contains(text, "AUTH"):
		return errors.New("it refuses the user or the password")
	}
	return err
}

// scan visits the keys that begin with a prefix, some at a time, in a way that a busy server hardly notices.
func scan(ctx context.Context, t servers.Target, prefix string, visit func(*redis.Client, []string) error) error {
	return remotely(t, func(c *redis.Client) error {
		for cursor := uint64(0); ; {
			keys, next, err := c.Scan(ctx, cursor, literally(prefix)+"*", sweepBatch).Result()
			if err != nil {
				return err
			}
			var ours []string
			for _, key := range keys {
				if strings.HasPrefix(key, prefix) { // the pattern says so already; this must not be wrong
					ours = append(ours, key)
				}
			}
			if len(ours) > 0 {
				if err := visit(c, ours); err != nil {
					return err
				}
			}
			if cursor = next; cursor == 0 {
				return nil
			}
		}
	})
}

func literally(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(text)
}
