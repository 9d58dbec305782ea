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
	compiler      = "cc"
	jumpWithin    = time.Second          // bounds the wait for a jump to be seen
	jumpTolerance = 5 * time.Millisecond // of a clock that is read in microseconds and may be slewed

	clockVariable = "LOCKBENCH_CLOCK" // names the file to shim/clock.c
)

//go:embed shim/clock.c
var clockSource []byte

func clockMissing() error {
	if runtime.GOOS != "linux" {
		return errors.New("the clock of one server can be moved on Linux only")
	}
	if _, err := exec.LookPath(compiler); err != nil {
		return fmt.Errorf("to move a server's clock takes a C compiler: apt install gcc libc6-dev (%w)", err)
	}
	return nil
}

// buildClock compiles the library that servers are started with, into a folder that goes with the group.
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
	if err := servers.RunToEnd(ctx, l.Keeper, dir, cmd); err != nil {
		return "", fmt.Errorf("compile what moves a clock (apt install gcc libc6-dev): %w", err)
	}
	return library, nil
}

func (n *node) jump(ctx context.Context, p *servers.Process, by time.Duration) error {
	if n.offset == nil {
		return errors.New("it was started without a clock that can be moved")
	}
	ctx, cancel := context.WithTimeout(ctx, jumpWithin)
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
			if err == nil && (off <= -jumpTolerance || off >= time.Since(began)+jumpTolerance) {
				err = servers.ErrNotYet
			}
			return err
		})
		if err != nil {
			return errors.Join(fmt.Errorf("it was not seen to take effect within %v", jumpWithin), n.shift(p, -by))
		}
		return nil
	})
}

// shift changes the offset, unless the memory that holds it has been given back.
func (n *node) shift(p *servers.Process, by time.Duration) error {
	return p.WhileKept(func() { n.offset.add(by) })
}
