package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"lockbench/internal/world/children"
	"lockbench/internal/world/servers"
)

// cleaner removes what runs left that were killed.
type cleaner struct {
	own       ownServers
	run       string
	olderThan time.Duration
	dryRun    bool

	w     io.Writer
	now   time.Time
	found bool
}

func cleanCommand() *cobra.Command {
	c := &cleaner{}
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove what killed runs left behind",
		Long: `clean removes what a run could not remove because it was killed: with --redis and its like its keys on
servers of your own, and on this machine temporary folders and containers whose process is gone.

Every key of a run begins with lockbench:<run>: and nothing else is touched. A run that is younger than
--older-than may still be going and is left, unless --run names it. A run still going that is older loses its
keys: give a longer time where runs take that long.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.w, c.now = cmd.OutOrStdout(), time.Now()
			return c.clean(cmd.Context())
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	c.own.define(fl, "as many as there are")
	fl.StringVar(&c.run, "run", "", "remove this run's keys only, however young it is; its id is in its histories and keys")
	fl.DurationVar(&c.olderThan, "older-than", time.Hour, "leave what is younger")
	fl.BoolVar(&c.dryRun, "dry-run", false, "only say what would be removed")
	return cmd
}

func (c *cleaner) clean(ctx context.Context) error {
	remote, err := c.own.remote()
	if err != nil {
		return err
	}
	if err := c.check(remote); err != nil {
		return err
	}
	errs := make([]error, len(remote.Targets))
	var all sync.WaitGroup
	for i, t := range remote.Targets { // all at once, so that those that are not there are found out soon
		all.Go(func() { errs[i] = t.Reach(ctx) })
	}
	all.Wait()
	for i, t := range remote.Targets {
		if errs[i] == nil {
			errs[i] = c.target(ctx, t)
		}
	}
	if c.run == "" {
		errs = append(errs, c.folders(), c.containers(ctx))
	}
	if ctx.Err() != nil {
		return &exit{code: exitInterrupted}
	}
	if err := errors.Join(errs...); err != nil {
		return environment(err, "what stands above was done; clean may be called again")
	}
	if !c.found {
		fmt.Fprintln(c.w, "nothing was left behind")
	}
	return nil
}

func (c *cleaner) check(remote servers.Remote) error {
	_, isRun := servers.RunBegan(c.run)
	switch {
	case c.olderThan < 0:
		return usage(fmt.Errorf("--older-than %v: want no negative time", c.olderThan), "see lockbench clean --help")
	case c.run != "" && !remote.Named():
		return usage(errors.New("--run needs --redis, or servers of another store: a run is known by its keys"), hintOwn)
	case c.run != "" && !isRun:
		return usage(fmt.Errorf("--run %q is not the id of a run", c.run), "lockbench clean --dry-run lists them")
	}
	return nil
}

// target cleans the servers of one address.
func (c *cleaner) target(ctx context.Context, t servers.Target) error {
	runs, err := t.Runs(ctx)
	if err != nil {
		return err
	}
	for _, run := range slices.Sorted(maps.Keys(runs)) {
		if c.run != "" && run != c.run {
			continue
		}
		began, _ := servers.RunBegan(run)
		what := fmt.Sprintf("%s  run %s  %s  %s old", t, run, keys(runs[run]), c.age(began))
		act := func() error { return t.Remove(ctx, run) }
		if err := c.remove(what, c.run == "" && c.now.Sub(began) < c.olderThan, act); err != nil {
			return err
		}
	}
	return nil
}

// folders cleans this machine.
func (c *cleaner) folders() error {
	all, err := children.Leftovers()
	if err != nil {
		return err
	}
	var errs []error
	for _, l := range all {
		what := fmt.Sprintf("%s  of process %d, which is gone  %s old", l.Dir, l.Owner, c.age(l.Since))
		errs = append(errs, c.remove(what, c.now.Sub(l.Since) < c.olderThan, l.Remove))
	}
	return errors.Join(errs...)
}

// containers removes those whose process is gone.
func (c *cleaner) containers(ctx context.Context) error {
	all, err := servers.Containers(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, l := range all {
		if !children.Gone(l.Owner) {
			continue
		}
		what := fmt.Sprintf("container %.12s  of process %d, which is gone  %s old", l.ID, l.Owner, c.age(l.Since))
		errs = append(errs, c.remove(what, c.now.Sub(l.Since) < c.olderThan, func() error { return l.Remove(ctx) }))
	}
	return errors.Join(errs...)
}

// remove removes one thing, unless it is young or this is a rehearsal, and says what it did.
func (c *cleaner) remove(what string, young bool, act func() error) error {
	c.found = true
	did := "removed"
	switch {
	case young:
		did = fmt.Sprintf("left: younger than %v", c.olderThan)
	case c.dryRun:
		did = "would be removed"
	default:
		if err := act(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(c.w, "%s  %s\n", what, did)
	return err
}

func (c *cleaner) age(since time.Time) time.Duration { return c.now.Sub(since).Round(time.Second) }

func keys(n int) string {
	if n == 1 {
		return "1 key"
	}
	return fmt.Sprintf("%d keys", n)
}
