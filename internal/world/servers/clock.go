package servers

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

	"lockbench/internal/world/children"
)

const (
	compiler      = "cc"
	compileWithin = 30 * time.Second
	jumpWithin    = time.Second          // bounds the wait for a jump to be seen
	jumpTolerance = 5 * time.Millisecond // of a clock that is read in microseconds and may be slewed

	clockVariable = "LOCKBENCH_CLOCK" // names the file to shim/clock.c
)

//go:embed shim/clock.c
var clockSource []byte

// clockSupported says why the clock of a local server cannot be moved here; nil where it can.
func clockSupported() error {
	if runtime.GOOS != "linux" {
		return errors.New("the clock of one server can be moved on Linux only")
	}
	if _, err := exec.LookPath(compiler); err != nil {
		return fmt.Errorf("to move a server's clock takes a C compiler: apt install gcc libc6-dev (%w)", err)
	}
	return nil
}

// buildClock compiles the library that servers are started with, into a folder that the caller removes.
func buildClock(ctx context.Context, k *children.Keeper, dir string) (library string, err error) {
	source, library := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		return "", err
	}
	said, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return "", err
	}
	defer said.Close()
	cmd := exec.Command(compiler, "-shared", "-fPIC", "-O2", "-o", library, source)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir)
	cmd.Stdout, cmd.Stderr = said, said
	c, err := k.Start(cmd)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, compileWithin)
	defer cancel()
	select {
	case <-c.Done():
	case <-ctx.Done():
		return "", errors.Join(fmt.Errorf("compile what moves a clock: %w", ctx.Err()), c.Kill())
	}
	if _, err := os.Stat(library); err != nil {
		return "", fmt.Errorf("compile what moves a clock (apt install gcc libc6-dev): %s; it said:\n%s", c.State(), end(logged(dir)))
	}
	return library, nil
}

// wallClock is how far the clock of one server is off, in a file that the server has mapped too. It outlasts
// the server's process, as a machine's clock would.
type wallClock struct {
	path   string
	offset *mapped
}

func newWallClock(dir string) (*wallClock, error) {
	path := filepath.Join(dir, "clock")
	offset, err := mapFile(path)
	if err != nil {
		return nil, fmt.Errorf("the offset of a clock: %w", err)
	}
	return &wallClock{path, offset}, nil
}

// environ is what a server is started with, so that it sees this clock.
func (w *wallClock) environ(library string) []string {
	return append(os.Environ(), "LD_PRELOAD="+library, clockVariable+"="+w.path)
}

func (n *redisNode) Jump(ctx context.Context, by time.Duration) error {
	if err := n.jump(ctx, by); err != nil {
		return fmt.Errorf("move the clock of %s by %v: %w", n.URL(), by, err)
	}
	return nil
}

func (n *redisNode) jump(ctx context.Context, by time.Duration) error {
	if n.clock == nil {
		return errors.New("it was started without a clock that can be moved")
	}
	ctx, cancel := context.WithTimeout(ctx, jumpWithin)
	defer cancel()
	c := n.client()
	defer c.Close()
	began := time.Now()
	before, err := c.Time(ctx).Result()
	if err != nil {
		return err
	}
	if err := n.shift(by); err != nil {
		return err
	}
	for {
		now, err := c.Time(ctx).Result()
		if off := now.Sub(before) - by; err == nil && off > -jumpTolerance && off < time.Since(began)+jumpTolerance {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("it was not seen to take effect within %v", jumpWithin), n.shift(-by))
		case <-time.After(pollEvery):
		}
	}
}

// shift changes the offset, unless the memory that it stands in has been given back.
func (n *redisNode) shift(by time.Duration) error {
	n.life.Lock()
	defer n.life.Unlock()
	if n.ended {
		return errStopped
	}
	n.clock.offset.add(by)
	return nil
}
