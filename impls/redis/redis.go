// Package redis implements the locks on Redis, each in a separate file. Each function returns an impls.Impl. Several locks
// have published defects, which their expectations state. The Lua scripts are in the folder lua.
package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockbench/impls"
	"lockbench/impls/waiting"
)

// Quiet discards the log of the Redis client library in the whole process. The library returns each logged error as well.
func Quiet() { redis.SetLogger(quiet{}) }

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// Node is a client of one Redis server or cluster. It stores the prefix of a lock's keys.
type Node struct {
	redis.UniversalClient
	prefix string
}

var _ impls.Prober = Node{}

// openNode returns a client for the server in env. If env has several servers, openNode returns a client for a Redis
// Cluster.
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

// careful configures a client so that it sends each command exactly once.
func careful(opts *redis.Options) *redis.Options {
	opts.ContextTimeoutEnabled = true // the default is false: a cancelled call would return only after ReadTimeout
	opts.MaxRetries = -1              // no retries (default: 3), because a SET NX resent after a lost reply would be refused as busy
	opts.DialerRetries = 1
	opts.ReadTimeout, opts.WriteTimeout = waiting.CommandTimeout, waiting.CommandTimeout
	opts.DialTimeout, opts.PoolTimeout = waiting.CommandTimeout, waiting.CommandTimeout
	opts.PoolSize = 1024       // more connections than clients; otherwise requests might wait for a connection instead of the lock
	opts.PipelinePoolSize = -1 // send pipelines over the same connections; the default is another pool, whose buffers are 32 times as large
	opts.Protocol = 2
	opts.DisableIdentity = true
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	opts.ReadBufferSize, opts.WriteBufferSize = 4096, 4096
	return opts
}

// Key returns the key with the lock's prefix, as stored on the server.
func (n Node) Key(key string) string { return n.prefix + key }

// setNXPX sends SET key value NX PX ttl, which is one atomic command.
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

func (n Node) compareAndDelete(ctx context.Context, g impls.Grant) error {
	return impls.Affected(compareAndDelete.Run(ctx, n.UniversalClient, []string{n.Key(g.Key)}, g.Token).Int64())
}

func (n Node) value(ctx context.Context, key string) (string, error) {
	value, err := n.Get(ctx, n.Key(key)).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return value, err
}

// Probe returns the value of a string key, and the remaining time of the key.
func (n Node) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	value, err := n.value(ctx, key)
	if err != nil || value == "" {
		return "", 0, err
	}
	return n.timeLeft(ctx, key, value)
}

// timeLeft completes a Probe that has found the given token at a key. It returns the token and the remaining time of the
// key, or "" and 0 if the key no longer exists.
func (n Node) timeLeft(ctx context.Context, key, token string) (string, time.Duration, error) {
	left, err := n.PTTL(ctx, n.Key(key)).Result()
	switch {
	case err != nil:
		return "", 0, err
	case left == -2: // the key was deleted or expired between the two commands
		return "", 0, nil
	case left == -1:
		return token, impls.Unbounded, nil
	}
	return token, left, nil
}

// single is the common part of the locks that poll one Redis server. Its methods are steps of acquire and release that
// several locks use.
type single struct {
	Node
	waiting.Polling
	env impls.Env
}

func openSingle(env impls.Env) (single, error) {
	n, err := openNode(env)
	return single{n, waiting.NewPolling(env), env}, err
}

// An attempt requests a lock once. A release frees the lock.
type (
	attempt func(context.Context, impls.Request) (impls.Grant, error)
	release func(context.Context, impls.Grant) error
)

// simple is a lock that consists of two functions: an attempt, which waiters repeat, and a release.
type simple struct {
	single
	attempt attempt
	release release
}

// openSimple returns a function that opens a simple lock on one Redis server or cluster. The function steps returns the
// attempt function and the release function of the lock.
func openSimple(steps func(single) (attempt, release)) func(impls.Env) (impls.Lock, error) {
	return func(env impls.Env) (impls.Lock, error) {
		s, err := openSingle(env)
		a, r := steps(s)
		return &simple{s, a, r}, err
	}
}

func (l *simple) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	return l.Poll(ctx, req, func(ctx context.Context) (impls.Grant, error) { return l.attempt(ctx, req) })
}

func (l *simple) Release(ctx context.Context, g impls.Grant) error { return l.release(ctx, g) }

func (s single) setToken(ctx context.Context, req impls.Request) (impls.Grant, error) {
	mine := impls.Token(s.env.Rand)
	return impls.Grant{Token: mine, Validity: req.TTL}, s.setNXPX(ctx, req.Key, mine, req.TTL)
}

const fixedValue = "locked"

// deleteKey releases by a plain DEL, which deletes the key even if another client holds it.
func (s single) deleteKey(ctx context.Context, g impls.Grant) error {
	return impls.Affected(s.Del(ctx, s.Key(g.Key)).Result())
}

// getThenDelete releases in two steps: GET to compare the token, and DEL. The value of the key may change between the
// steps.
func (s single) getThenDelete(ctx context.Context, g impls.Grant) error {
	switch value, err := s.value(ctx, g.Key); {
	case err != nil:
		return err
	case value != g.Token || value == "":
		return impls.ErrNotHeld
	}
	return s.deleteKey(ctx, g)
}

func (s single) pexpire(ctx context.Context, key string, ttl time.Duration) (there bool, err error) {
	return s.PExpire(ctx, s.Key(key), ttl.Truncate(time.Millisecond)).Result()
}

// Nodes holds the clients of independent servers. A lock needs a majority of the servers.
type Nodes []Node

// Connect returns clients of all servers of an Env. Each client connects at its first use.
func Connect(env impls.Env) (Nodes, error) { return connectAll(env, careful) }

// ConnectDefault is Connect with the default settings of go-redis. A command is resent up to three times, and the end of a
// context does not cancel a command. Only commands that the emulator lacks are disabled.
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

// Probe returns the token that a majority of the servers have stored, or "" if there is no such token.
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

// Options returns the client options for the server at a URL. Its errors do not contain the URL, which may contain a
// password.
func Options(env impls.Env, url string) (*redis.Options, error) {
	opts, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("parse the URL of a server: invalid")
	}
	opts.Dialer = env.Dial
	if opts.TLSConfig == nil {
		return opts, nil
	}
	opts.TLSConfig.InsecureSkipVerify = false // a parameter of the URL may have disabled the verification of certificates
	if env.CAFile != "" {
		pem, err := os.ReadFile(env.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read the trusted certificates: %w", err)
		}
		opts.TLSConfig.RootCAs = x509.NewCertPool()
		if !opts.TLSConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read the trusted certificates: no PEM certificate in %s", env.CAFile)
		}
	}
	if env.Dial != nil {
		opts.Dialer = secured(env.Dial, opts.TLSConfig)
	}
	return opts, nil
}

// secured returns a dialer that calls dial and adds TLS to the connection. The client library adds TLS only if it opens
// the connection itself.
func secured(dial impls.Dialer, config *tls.Config) impls.Dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		c := tls.Client(conn, config)
		if err := c.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return c, nil
	}
}
