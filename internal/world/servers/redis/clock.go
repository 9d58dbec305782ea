package redis

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/internal/world/servers"
)

const (
	compiler       = "cc"
	clockTimeout   = time.Second          // time limit for the server to report the moved clock
	clockTolerance = 5 * time.Millisecond // allowed deviation of the moved clock, for rounding and clock adjustment

	clockVariable = "LOCKBENCH_CLOCK" // environment variable with the path of the clock file, read by the library shim/clock.c
)

//go:embed shim/clock.c
var clockSource []byte

func clockMissing() error {
	if runtime.GOOS != "linux" {
		return errors.New("moving a server's clock needs Linux")
	}
	if _, err := exec.LookPath(compiler); err != nil {
		return fmt.Errorf("moving a server's clock needs a C compiler: apt install gcc libc6-dev (%w)", err)
	}
	return nil
}

// buildClock compiles the library that shifts a server's clock. Servers load it with LD_PRELOAD. Its folder is removed
// when the group stops.
func buildClock(ctx context.Context, l *servers.Launcher) (library string, err error) {
	dir, err := l.Keeper.Folder()
	if err != nil {
		return "", err
	}
	l.OnStop(func() error { return os.RemoveAll(dir) })
	source, library := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command(compiler, "-shared", "-fPIC", "-O2", "-o", library, source)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	if err := servers.RunTool(ctx, l.Keeper, dir, cmd); err != nil {
		return "", fmt.Errorf("compile the clock library (apt install gcc libc6-dev): %w", err)
	}
	return library, nil
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
	return p.UnlessStopped(func() { n.offset.add(by) })
}
