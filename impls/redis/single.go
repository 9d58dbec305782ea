package redis

import (
	"context"
	"time"

	"lockbench/impls"
	"lockbench/impls/waiting"
)

// single is what locks on one Redis have in common that wait by polling. Its methods are the steps of the simple ones.
type single struct {
	Node
	waiting.Polling
	env impls.Env
}

func openSingle(env impls.Env) (single, error) {
	n, err := openNode(env)
	return single{n, waiting.NewPolling(env), env}, err
}

// The steps of a simple lock.
type (
	attempt func(context.Context, impls.Request) (impls.Grant, error)
	release func(context.Context, impls.Grant) error
)

// simple is a lock that consists of an attempt, which is repeated by waiters, and a release.
type simple struct {
	single
	attempt attempt
	release release
}

// openSimple returns how to open a lock that consists of two steps, on one Redis.
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

// setToken attempts with a random token: SET NX PX.
func (s single) setToken(ctx context.Context, req impls.Request) (impls.Grant, error) {
	mine := impls.Token(s.env.Rand)
	return impls.Grant{Token: mine, Validity: req.TTL}, s.setNXPX(ctx, req.Key, mine, req.TTL)
}

// fixedValue is what locks without a token write: the same for every owner.
const fixedValue = "locked"

// deleteKey releases by a plain DEL: it deletes the key whoever holds it.
func (s single) deleteKey(ctx context.Context, g impls.Grant) error {
	return impls.Affected(s.Del(ctx, s.Key(g.Key)).Result())
}

// getThenDelete releases in two steps if the key has the token: what GET saw may not be what DEL deletes.
func (s single) getThenDelete(ctx context.Context, g impls.Grant) error {
	switch value, err := s.value(ctx, g.Key); {
	case err != nil:
		return err
	case value != g.Token || value == "":
		return impls.ErrNotHeld
	}
	return s.deleteKey(ctx, g)
}

// compareAndDelete releases by a script that compares the token and deletes.
func (s single) compareAndDelete(ctx context.Context, g impls.Grant) error {
	return s.deleteIfMine(ctx, g.Key, g.Token)
}

// pexpire sets the lease of a key in a command of its own.
func (s single) pexpire(ctx context.Context, key string, ttl time.Duration) (there bool, err error) {
	return s.PExpire(ctx, s.Key(key), ttl.Truncate(time.Millisecond)).Result()
}
