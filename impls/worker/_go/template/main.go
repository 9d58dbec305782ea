// Command my-lock lets lockbench test a lock. It works as it is, with a plain lock on Redis; replace the four marked parts by
// your own lock.
//
//	go build -o worker .
//	lockbench run --worker ./worker --faults process-pause,holder-kill
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	// 1. Import your lock's library, and require it in go.mod.
	"github.com/redis/go-redis/v9"

	worker "my-lock/lockbenchworker" // the folder lockbenchworker lies beside this file
)

const (
	release = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
	renew   = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0"
)

func main() {
	// The type arguments are the types of your library's client and of its lock object, if it has one. ReleasesUnknown: Release
	// needs no lock object, so lockbench also tries to release locks of other processes.
	worker.Main(worker.Lock[*redis.Client, struct{}]{
		Name: "my-lock", Doc: "SET NX PX, and scripts that compare the token", ReleasesUnknown: true,

		Open: func(env worker.Env) (*redis.Client, error) {
			// 2. Open your lock. env.Nodes holds the URLs of the servers. env.Params holds the values of lockbench run
			// --param NAME=VALUE. MaxRetries is -1 because the server would refuse a repeated SET if the first SET had
			// succeeded.
			options, err := redis.ParseURL(env.Nodes[0])
			if err != nil {
				return nil, err
			}
			options.MaxRetries = -1
			return redis.NewClient(options), nil
		},

		Try: func(ctx context.Context, c *redis.Client, r worker.Request) (g worker.Grant[struct{}], err error) {
			// 3. Try to acquire r.Key for r.TTL. Return ErrBusy only if the store refused: after any other error, such as a
			// timeout, lockbench assumes that the key may be locked. Set g.Handle to your library's lock object. If your
			// library waits by itself, set Acquire instead of Try, and wait until the context ends.
			g.Token = rand.Text()
			err = c.SetArgs(ctx, r.Key, g.Token, redis.SetArgs{Mode: "NX", TTL: r.TTL}).Err()
			if errors.Is(err, redis.Nil) {
				err = worker.ErrBusy
			}
			return g, err
		},

		Release: func(ctx context.Context, c *redis.Client, h worker.Hold[struct{}]) error {
			// 4. Release the lock. h.Handle is your library's lock object. Return ErrNotHeld only if the store no longer had
			// the lock for this token.
			return held(c.Eval(ctx, release, []string{h.Key}, h.Token))
		},

		// Optional: extends the lease to h.TTL from now.
		Renew: func(ctx context.Context, c *redis.Client, h worker.Hold[struct{}]) error {
			return held(c.Eval(ctx, renew, []string{h.Key}, h.Token, h.TTL.Milliseconds()))
		},

		// Optional: returns the token that the store has for the key, and the key's remaining time. With Probe, lockbench
		// checks reported losses and the releases of nested holds.
		Probe: func(ctx context.Context, c *redis.Client, key string) (string, time.Duration, error) {
			token, err := c.Get(ctx, key).Result()
			if errors.Is(err, redis.Nil) {
				return "", 0, nil
			} else if err != nil {
				return "", 0, err
			}
			left, err := c.PTTL(ctx, key).Result()
			return token, left, err
		},
	})
}

// held returns ErrNotHeld if a script changed nothing.
func held(reply *redis.Cmd) error {
	changed, err := reply.Int()
	if err == nil && changed == 0 {
		err = worker.ErrNotHeld
	}
	return err
}
