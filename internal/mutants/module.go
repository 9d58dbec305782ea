package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// module is a copy of this Go module. Mutants are built in it one after another, so they share a build cache.
type module struct {
	dir string
	mu  sync.Mutex // held while a patch is applied
}

// copyModule copies the module at root to the folder dir. It omits the files that Git ignores.
func copyModule(ctx context.Context, root, dir string) (*module, error) {
	cmd := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	list, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the files of the module: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		if err := copyFile(filepath.Join(root, name), filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) { // Git still lists a deleted file
			return nil, err
		}
	}
	return &module{dir: dir}, nil
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}

// build builds the program lockbench with the mistake of a mutant. It then removes the mistake from the module.
func (t *module) build(ctx context.Context, m mutant, program string) (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m.patch != "" {
		if err := t.apply(ctx, m); err != nil {
			return fmt.Errorf("apply the patch: %w", err)
		}
		defer func() { err = errors.Join(err, t.apply(context.WithoutCancel(ctx), m, "--reverse")) }()
	}
	// Do not use -trimpath. The packages of other modules then come from the build cache of ordinary builds.
	if err := t.command(ctx, "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", program, "./cmd/lockbench"); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	return nil
}

func (t *module) apply(ctx context.Context, m mutant, flags ...string) error {
	return t.command(ctx, "git", append(append([]string{"apply"}, flags...), filepath.FromSlash(m.patch))...)
}

// command runs a command in the folder of the module. If it fails, the error includes the output.
func (t *module) command(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = t.dir
	// Git must not look for a repository above the copy. Otherwise git apply would skip the files of the copy.
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(t.dir))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}
