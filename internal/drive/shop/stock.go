package shop

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// stockTimeout bounds a command to the stock's Redis.
const stockTimeout = 5 * time.Second

// Stock is what is for sale: a number for each key that the lock may grant, in a Redis that the lock knows nothing of. It
// trusts the lock: between a read and the write that follows it anybody may write.
type Stock struct {
	client *redis.Client
	prefix string
}

// OpenStock opens a client of the stock's Redis; it connects when it is first used.
func OpenStock(url, prefix string) (*Stock, error) {
	opts, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("the URL of the stock's Redis cannot be read")
	}
	opts.ContextTimeoutEnabled, opts.MaxRetries, opts.Protocol, opts.DisableIdentity = true, -1, 2, true
	opts.ReadTimeout, opts.WriteTimeout, opts.DialTimeout, opts.PoolTimeout = stockTimeout, stockTimeout, stockTimeout, stockTimeout
	opts.DialerRetries = 1
	opts.PoolSize = 1024 // more than there are buyers: a full pool would be a queue under the lock
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &Stock{redis.NewClient(opts), prefix}, nil
}

func (s *Stock) key(key string) string { return s.prefix + "stock:" + key }

// Keys are where the stock of several keys stands.
func (s *Stock) Keys(keys []string) []string {
	var all []string
	for _, k := range keys {
		all = append(all, s.key(k))
	}
	return all
}

// Read reads how much is left. The stock looks at no fencing token.
func (s *Stock) Read(ctx context.Context, key string, _ int64) (int64, error) {
	return s.client.Get(ctx, s.key(key)).Int64()
}

// Write writes how much is left.
func (s *Stock) Write(ctx context.Context, key string, value, _ int64) error {
	return s.client.Set(ctx, s.key(key), value, 0).Err()
}

// Append does nothing: an order is the answer that its buyer reads.
func (*Stock) Append(context.Context, string, int64) error { return nil }

// Close closes its connections.
func (s *Stock) Close() error { return s.client.Close() }
