package cli

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

	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/world/children"
	"lockbench/internal/world/servers"
	"lockbench/reports/format"
)

type cleaner struct {
	own       choice.Own
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
		Short: "Remove what killed runs left",
		Long: `clean removes what a killed run could not remove: its keys on your own servers (--redis and the
flags of the other stores), and temporary folders and containers on this machine.

Keys of a run begin with lockbench:<run>: and nothing else is touched. A run younger than
--older-than may be in progress and is left, unless --run names it.

  lockbench clean --dry-run
  lockbench clean --redis redis://10.0.0.5:6379`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.w, c.now = cmd.OutOrStdout(), time.Now()
			return c.clean(cmd.Context())
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	c.own.Define(fl)
	fl.StringVar(&c.run, "run", "", "remove the keys of this run only (its id is in its keys)")
	fl.DurationVar(&c.olderThan, "older-than", time.Hour, "leave younger runs and folders")
	fl.BoolVar(&c.dryRun, "dry-run", false, "only print what would be removed")
	return cmd
}

func (c *cleaner) clean(ctx context.Context) error {
	remote, err := c.own.Remote()
	if err != nil {
		return err
	}
	if err := c.check(remote); err != nil {
		return err
	}
	errs := make([]error, len(remote.Targets)+1)
	var all sync.WaitGroup
	for i, t := range remote.Targets { // check all servers at once, because an unreachable server is detected only after a timeout
		all.Go(func() { errs[i] = t.Reach(ctx) })
	}
	all.Wait()
	for i, t := range remote.Targets {
		if errs[i] == nil {
			errs[i] = c.target(ctx, t)
		}
	}
	if c.run == "" {
		errs[len(remote.Targets)] = c.cleanLocal(ctx)
	}
	if ctx.Err() != nil {
		return &console.Exit{Code: console.ExitInterrupted}
	}
	if err := errors.Join(errs...); err != nil {
		return console.Environment(err, "the removals above were done; clean may be run again")
	}
	if !c.found {
		fmt.Fprintln(c.w, "nothing was left behind")
	}
	return nil
}

func (c *cleaner) check(remote servers.Remote) error {
	_, isRun := servers.RunBegan(c.run)
	return console.Refuse("see lockbench clean --help",
		console.Refusal{If: c.olderThan < 0, What: fmt.Sprintf("--older-than %v: want no negative time", c.olderThan)},
		console.Refusal{If: c.run != "" && !remote.Named(), What: "--run needs --redis, or servers of another store: a run is known by its keys", Hint: choice.HintOwn},
		console.Refusal{If: c.run != "" && !isRun, What: fmt.Sprintf("--run %q is not the id of a run", c.run), Hint: "lockbench clean --dry-run lists them"})
}

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
		what := fmt.Sprintf("%s  run %s  %s", t, run, format.Plural(runs[run], "key"))
		if err := c.remove(what, began, func() error { return t.Remove(ctx, run) }); err != nil {
			return err
		}
	}
	return nil
}

// cleanLocal cleans up on this machine. It removes folders and containers if the lockbench process that created them has
// ended.
func (c *cleaner) cleanLocal(ctx context.Context) error {
	folders, err := children.Leftovers()
	errs := []error{err}
	for _, l := range folders {
		errs = append(errs, c.remove(fmt.Sprintf("%s  of process %d, which is gone", l.Dir, l.Owner), l.Since, l.Remove))
	}
	containers, err := servers.Containers(ctx)
	errs = append(errs, err)
	for _, l := range containers {
		if children.Gone(l.Owner) {
			what := fmt.Sprintf("container %.12s  of process %d, which is gone", l.ID, l.Owner)
			errs = append(errs, c.remove(what, l.Since, func() error { return l.Remove(ctx) }))
		}
	}
	return errors.Join(errs...)
}

// remove deletes one leftover of a killed run with the function act, and prints the result. With --dry-run, it deletes nothing.
// Leftovers younger than --older-than are kept, unless --run is set.
func (c *cleaner) remove(what string, since time.Time, act func() error) error {
	c.found = true
	age, did := c.now.Sub(since), "removed"
	if age < c.olderThan && c.run == "" {
		did = fmt.Sprintf("left: younger than %v", c.olderThan)
	} else if c.dryRun {
		did = "would be removed"
	} else if err := act(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.w, "%s  %s old  %s\n", what, age.Round(time.Second), did)
	return err
}
