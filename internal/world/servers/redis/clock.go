package redis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/internal/world/clock"
	"lockbench/internal/world/servers"
)

const (
	clockTimeout   = time.Second          // time limit for the server to report the moved clock
	clockTolerance = 5 * time.Millisecond // allowed deviation of the moved clock, for rounding and clock adjustment
)

// buildClock compiles the library that shifts a server's clock. Its folder is removed when the group stops.
func buildClock(ctx context.Context, l *servers.Launcher) (clock.Library, error) {
	dir, err := l.Keeper.Folder()
	if err != nil {
		return "", err
	}
	l.OnStop(func() error { return os.RemoveAll(dir) })
	return clock.Build(ctx, l.Keeper, dir)
}

func (n *node) moveClock(ctx context.Context, p *servers.Process, by time.Duration) error {
	if n.offset == nil {
		return errors.New("the server was started without Spec.Clock")
	}
	ctx, cancel := context.WithTimeout(ctx, clockTimeout)
	defer cancel()
	return withClient(p.Addr(), func(c *redis.Client) error {
		began := time.Now()
		before, err := c.Time(ctx).Result()
		if err != nil {
			return err
		}
		if err := n.shift(p, by); err != nil {
			return err
		}
		err = servers.Poll(ctx, servers.PollEvery, func(ctx context.Context) error {
			now, err := c.Time(ctx).Result()
			off := now.Sub(before) - by
			if err == nil && (off <= -clockTolerance || off >= time.Since(began)+clockTolerance) {
				err = servers.ErrNotYet
			}
			return err
		})
		if err != nil {
			return errors.Join(fmt.Errorf("no effect within %v", clockTimeout), n.shift(p, -by))
		}
		return nil
	})
}

// shift changes the offset of the server's clock. If the server has been stopped, the file with the offset is unmapped,
// and shift returns an error.
func (n *node) shift(p *servers.Process, by time.Duration) error {
	return p.UnlessStopped(func() { n.offset.Add(by) })
}
