package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"lockbench/internal/world/children"
)

// Template is a folder that takes long to make, and of which each server gets a copy: a database as it is before it is
// used. The first who asks makes it; it lives as long as this process, with a keeper of its own.
type Template struct {
	make func(ctx context.Context, k *children.Keeper, dir string) error

	turn chan struct{} // capacity 1: whoever makes or reads the rest has put something in
	dir  string        // where what was made is; "": it was not
}

func NewTemplate(of func(context.Context, *children.Keeper, string) error) *Template {
	return &Template{make: of, turn: make(chan struct{}, 1)}
}

// Made returns where what each server gets a copy of is.
func (t *Template) Made(ctx context.Context) (string, error) {
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { <-t.turn }()
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

// CopyTo copies what was made to a folder that is not there yet.
func (t *Template) CopyTo(ctx context.Context, dir string) error {
	from, err := t.Made(ctx)
	if err != nil {
		return err
	}
	return os.CopyFS(dir, os.DirFS(from))
}

// MakeWithin bounds a program that makes something: far more than it takes.
const MakeWithin = time.Minute

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
	ctx, cancel := context.WithTimeout(ctx, MakeWithin)
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
