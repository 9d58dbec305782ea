package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/internal/world/servers"
)

const (
	scanBatch  = 1000 // number of keys that one SCAN examines
	maxBatches = 2    // maximum number of SCANs per search; limits the work on a user's server with many keys
	maxKnown   = 64   // if more keys are known, keys that no longer exist are forgotten
	maxRounds  = 3    // maximum number of rounds; an observation fails if every round finds a new key
)

// observer reads the keys of one Redis server. In one round trip, it searches for new keys and reads the known keys.
type observer struct {
	client *redis.Client
	types  map[string]string // type of each known key
	sent   *sent
}

// sent counts the commands that were sent, by name. It is a hook of the client library.
type sent struct {
	mu    sync.Mutex
	calls map[string]float64
}

func (s *sent) count(all ...redis.Cmder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range all {
		s.calls["calls."+c.Name()]++
	}
}

func (s *sent) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *sent) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		s.count(c)
		return next(ctx, c)
	}
}

func (s *sent) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, all []redis.Cmder) error {
		s.count(all...)
		return next(ctx, all)
	}
}

func observe(url string, secure *tls.Config) (servers.Observer, error) {
	opts, err := redis.ParseURL(url)
	if err != nil { // do not wrap err, because its text may quote the URL
		return nil, errors.New("invalid address")
	}
	if secure != nil {
		opts.TLSConfig, opts.Dialer = nil, (&tls.Dialer{Config: secure}).DialContext
	}
	opts.MaxRetries = -1
	o := &observer{client: quiet(opts), types: map[string]string{}, sent: &sent{calls: map[string]float64{}}}
	o.client.AddHook(o.sent)
	return o, nil
}

func (o *observer) Counters() map[string]float64 {
	o.sent.mu.Lock()
	defer o.sent.mu.Unlock()
	return maps.Clone(o.sent.calls)
}

func (o *observer) Close() error { return o.client.Close() }

// Entries searches for keys and reads them until a search finds no new key. All keys are read in one transaction, so the
// result is the state at one time.
func (o *observer) Entries(ctx context.Context, prefix string) ([]servers.Entry, error) {
	for range maxRounds {
		pipe := o.client.Pipeline()
		search := pipe.Scan(ctx, 0, containsPattern(prefix), scanBatch)
		names, replies := o.read(ctx, pipe)
		if _, err := pipe.Exec(ctx); err != nil && search.Err() != nil {
			return nil, err
		}
		found, err := o.collectKeys(ctx, search, prefix)
		if err != nil {
			return nil, err
		}
		if fresh, err := o.learn(ctx, found); err != nil {
			return nil, err
		} else if !fresh {
			return o.entries(names, replies)
		}
	}
	return nil, errors.New("each search found a new key")
}

// read adds commands to a pipeline that read all known keys in one transaction. It returns the keys and the reply of the
// transaction. The reply is nil if no key is known.
func (o *observer) read(ctx context.Context, pipe redis.Pipeliner) (names []string, replies *redis.Cmd) {
	if len(o.types) == 0 {
		return nil, nil
	}
	pipe.Do(ctx, "MULTI")
	for name, kind := range o.types {
		names = append(names, name)
		pipe.Do(ctx, "PTTL", name)
		pipe.Do(ctx, content(name, kind)...)
	}
	return names, pipe.Do(ctx, "EXEC")
}

// content returns the command that reads a key of a type. For a stream, the command checks only that the key exists.
func content(name, kind string) []any {
	switch kind {
	case "string":
		return []any{"GET", name}
	case "hash":
		return []any{"HGETALL", name}
	case "list":
		return []any{"LRANGE", name, 0, -1}
	case "set":
		return []any{"SMEMBERS", name}
	case "zset":
		return []any{"ZRANGE", name, 0, -1, "WITHSCORES"}
	}
	return []any{"EXISTS", name}
}

// collectKeys returns the keys that a search found. It continues an incomplete search.
func (o *observer) collectKeys(ctx context.Context, search *redis.ScanCmd, prefix string) (found []string, err error) {
	for range maxBatches {
		keys, next, err := search.Result()
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if strings.Contains(key, prefix) {
				found = append(found, key)
			}
		}
		if next == 0 {
			return found, nil
		}
		search = o.client.Scan(ctx, next, containsPattern(prefix), scanBatch)
	}
	return nil, fmt.Errorf("the database has too many keys: %w", servers.ErrNotObserved)
}

// containsPattern returns the pattern of the names that contain text. A library may add a prefix to the lock's key.
func containsPattern(text string) string { return "*" + literally(text) + "*" }

// learn reads the types of unknown keys. fresh is true if it learned the type of a key.
func (o *observer) learn(ctx context.Context, found []string) (fresh bool, err error) {
	pipe, kinds := o.client.Pipeline(), map[string]*redis.StatusCmd{}
	for _, name := range found {
		if o.types[name] == "" && kinds[name] == nil {
			kinds[name] = pipe.Type(ctx, name)
		}
	}
	if len(kinds) == 0 {
		return false, nil
	}
	_, err = pipe.Exec(ctx)
	for name, kind := range kinds {
		if kind.Err() == nil && kind.Val() != "none" {
			o.types[name], fresh = kind.Val(), true
		}
	}
	return fresh, err
}

// entries converts the replies of a transaction. A key that no longer exists usually stays known, because it may soon
// exist again.
func (o *observer) entries(names []string, replies *redis.Cmd) (all []servers.Entry, err error) {
	if replies == nil {
		return nil, nil
	}
	values, err := replies.Slice()
	if err != nil {
		return nil, fmt.Errorf("read the keys: %w", err)
	}
	if len(values) != 2*len(names) {
		return nil, fmt.Errorf("read the keys: %d replies to %d commands", len(values), 2*len(names))
	}
	for i, name := range names {
		left, ok := values[2*i].(int64)
		value := values[2*i+1]
		if failed, is := value.(error); is || !ok {
			delete(o.types, name) // the type of the key may have changed
			return nil, errors.Join(errors.New("read a key"), failed)
		}
		if left == -2 {
			if len(names) > maxKnown {
				delete(o.types, name)
			}
			continue
		}
		e := servers.Entry{Name: name, Hash: hash(o.types[name], value), Left: servers.Unending}
		if left >= 0 {
			e.Left = time.Duration(left+1) * time.Millisecond // the server rounds down
		}
		all = append(all, e)
	}
	return all, nil
}

// hash returns a hash of a key's content. For sets and hashes, the order of the members or fields does not matter,
// because the server returns them in any order.
func hash(kind string, value any) (sum uint64) {
	items, _ := value.([]any)
	group := map[string]int{"hash": 2, "set": 1}[kind]
	if group == 0 || len(items)%group != 0 {
		return max(1, hashOf(value))
	}
	for i := 0; i < len(items); i += group {
		sum += hashOf(items[i : i+group])
	}
	return max(1, sum)
}

func hashOf(value any) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q", value)
	return h.Sum64()
}
