// Package cli is the command lockbench. Arguments go in; out come text and an exit code: 0 every claim kept and every control
// caught; 1 a claim broken; 2 usage; 3 a claimed property undecided, or figures too noisy to tell; 4 environment; 5 a limit of
// gate breached; 6 a control not caught; 70 internal; 130 interrupted. Results go to stdout, everything else to stderr.
package cli

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"lockbench/internal/cli/advise"
	"lockbench/internal/cli/bench"
	"lockbench/internal/cli/console"
	"lockbench/internal/cli/explore"
	"lockbench/internal/cli/run"
	"lockbench/reports/format"
)

// Run runs the command and returns its exit code.
func Run(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	root := rootCommand()
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetArgs(args)
	return execute(ctx, root)
}

func execute(ctx context.Context, root *cobra.Command) (code int) {
	stderr := root.ErrOrStderr()
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "lockbench: internal error: %s\n%s", format.Scrub(fmt.Sprint(p)), debug.Stack())
			code = console.ExitInternal
		}
	}()
	return console.Report(stderr, root.ExecuteContext(ctx))
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "lockbench",
		Short: "Drive distributed locks, record what happens, judge the record, report.",
		Long: `lockbench drives distributed locks with concurrent clients, records every operation, judges the
record, and reports: which locks keep what they promise, and what they cost. lockbench run does the whole quick comparison.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return console.Usage(err, "see "+cmd.CommandPath()+" --help")
	})
	root.AddCommand(run.Command(), bench.Command(), advise.Command(), advise.VerifyReportCommand(), bench.CompareCommand(), bench.GateCommand(),
		serveCommand(), checkCommand(), reportCommand(), listCommand(), cleanCommand(), explore.Command(), explore.ReplayCommand(),
		workerCommand(), run.VerifyCommand(), explorerCommand(), storeCommand(), shopCommand())
	return root
}

func knownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var verbs []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			verbs = append(verbs, c.Name())
		}
	}
	return console.Unknown("command", args[0], verbs)
}
