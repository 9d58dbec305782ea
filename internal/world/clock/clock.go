// Package clock moves the wall clock of a child process. Build compiles a library. A process that loads it adds an Offset to its
// wall clock. The monotonic clock is not changed, as in a real clock jump. A program that reads the clock without the C library,
// such as one that is statically linked, is not affected, so callers must verify each move.
package clock

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"lockbench/internal/world/children"
	"lockbench/internal/world/servers"
)

const (
	compiler = "cc"
	variable = "LOCKBENCH_CLOCK" // environment variable with the path of the offset, read by shim/clock.c
	install  = "apt install gcc libc6-dev"
)

//go:embed shim/clock.c
var source []byte

// Missing returns an error that states why clocks cannot be moved on this machine, or nil.
func Missing() error {
	if runtime.GOOS != "linux" {
		return errors.New("moving the clock of a process needs Linux")
	}
	if _, err := exec.LookPath(compiler); err != nil {
		return fmt.Errorf("moving the clock of a process needs a C compiler: %s (%w)", install, err)
	}
	return nil
}

// Library is the path of the compiled library.
type Library string

// Build compiles the library into a folder.
func Build(ctx context.Context, k *children.Keeper, dir string) (Library, error) {
	file, library := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	if err := os.WriteFile(file, source, 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command(compiler, "-shared", "-fPIC", "-O2", "-o", library, file)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	if err := servers.RunTool(ctx, k, dir, cmd); err != nil {
		return "", fmt.Errorf("compile the clock library (%s): %w", install, err)
	}
	return Library(library), nil
}

// Env returns the variables with which a process loads the library and reads its offset from a file.
func (l Library) Env(offset string) []string {
	return []string{"LD_PRELOAD=" + string(l), variable + "=" + offset}
}
