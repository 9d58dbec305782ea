package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"lockbench/internal/world/children"
)

// Template is a folder that takes long to make, and of which each server gets a copy: a database as it is before it is
// used. The first who asks makes it; it lives as long as this process, with a keeper of its own.
type Template struct {
	make func(ctx context.Context, k *children.Keeper, dir string) error

	mu  sync.Mutex // held while it is made
	dir string     // "": it is not made yet
}

// NewTemplate returns a template that is made in a folder by a function, at most once.
func NewTemplate(of func(context.Context, *children.Keeper, string) error) *Template {
	return &Template{make: of}
}

// CopyTo copies the template to a folder that is not there yet.
func (t *Template) CopyTo(ctx context.Context, dir string) error {
	from, err := t.made(ctx)
	if err != nil {
		return err
	}
	return os.CopyFS(dir, os.DirFS(from))
}

func (t *Template) made(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dir != "" {
		return t.dir, nil
	}
	k, err := children.New()
	if err != nil {
		return "", err
	}
	dir, err := k.Folder()
	if err == nil {
		err = t.make(ctx, k, dir)
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir), k.Close())
	}
	t.dir = dir
	return dir, nil
}

// makeWithin bounds a program that makes something: far more than it takes.
const makeWithin = time.Minute

// RunToEnd runs a program that makes something in a folder, and fails where the program does.
func RunToEnd(ctx context.Context, k *children.Keeper, dir string, cmd *exec.Cmd) error {
	said, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	defer said.Close()
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, said, said
	c, err := k.Start(cmd)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, makeWithin)
	defer cancel()
	select {
	case <-c.Done():
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("%s: %w", filepath.Base(cmd.Path), ctx.Err()), c.Kill())
	}
	if state := c.State(); state != "exit status 0" {
		return fmt.Errorf("%s: %s; it said:\n%s", filepath.Base(cmd.Path), state, tail(logged(dir)))
	}
	return nil
}
