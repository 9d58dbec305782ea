package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// lockbench is the whole command: arguments go in, an exit code comes out.
func lockbench(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	root := rootCommand()
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetArgs(args)
	return execute(ctx, root)
}

// execute turns what becomes of a command into an exit code.
func execute(ctx context.Context, root *cobra.Command) (code int) {
	stderr := root.ErrOrStderr()
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "lockbench: internal error: %s\n%s", scrub(fmt.Sprint(p)), debug.Stack())
			code = exitInternal
		}
	}()
	return report(stderr, root.ExecuteContext(ctx))
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "lockbench",
		Short: "Drive distributed locks, record what happens, judge the record, report.",
		Long: `lockbench drives distributed locks with concurrent clients, records every operation, judges the
record, and reports: which locks keep what they promise, and what they cost.

  lockbench run          the whole quick comparison
  lockbench bench        how fast and how fair they are, and at what cost
  lockbench check FILE   judge a recorded history again, or one written by hand
  lockbench report DIR   make the page of a run again
  lockbench list         the locks, workloads, faults, properties, scenarios and suites there are
  lockbench verify       hold a lock of your own to what it claims
  lockbench explore      search for what breaks a lock, in virtual time, and tell it as a story
  lockbench replay FILE  run a case that was found again, in simulation and on real servers
  lockbench compare A B  two locks of one bench, or two benches, row by row
  lockbench advise       say which lock to choose, if any, and what speaks for and against it
  lockbench verify-report FILE   work such advice out again, down to the histories
  lockbench gate         hold a bench to limits, for build servers
  lockbench serve        show the folders of runs and benches in a browser
  lockbench clean        remove what killed runs left behind`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArguments,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(err, "see "+cmd.CommandPath()+" --help")
	})
	root.AddCommand(runCommand(), benchCommand(), adviseCommand(), verifyReportCommand(), compareCommand(), gateCommand(), serveCommand(), checkCommand(), reportCommand(), listCommand(), cleanCommand(),
		exploreCommand(), replayCommand(), workerCommand(), verifyCommand(), explorerCommand(), storeCommand(), shopCommand())
	return root
}

// noArguments refuses arguments where a command takes none: an unknown verb, as a rule.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var verbs []string
	for _, c := range cmd.Commands() {
		verbs = append(verbs, c.Name())
	}
	if len(verbs) == 0 {
		return usage(fmt.Errorf("%s takes no argument, got %q", cmd.CommandPath(), args[0]), "see "+cmd.CommandPath()+" --help")
	}
	return unknown("command", args[0], verbs)
}

// report says on stderr what went wrong, with a hint, and returns the exit code.
func report(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	var e *exit
	if !errors.As(err, &e) {
		e = &exit{code: exitUsage, err: err, hint: "see lockbench --help"}
	}
	if e.err != nil {
		fmt.Fprintf(stderr, "lockbench: %s\n", scrub(e.err.Error()))
	}
	if e.hint != "" {
		fmt.Fprintf(stderr, "hint: %s\n", scrub(e.hint))
	}
	return e.code
}
