// Package cli is the command lockbench. Run takes arguments, prints text and returns an exit code: 0 every expectation met; 1 a
// property violated that was expected to hold; 2 usage; 3 a result inconclusive, or figures too noisy to tell; 4 environment; 5 a
// threshold breached; 6 a known defect not detected; 70 internal; 130 interrupted. Only results go to stdout.
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
		Short: "Benchmark and verify distributed locks.",
		Long: `lockbench drives distributed locks with concurrent clients, records every operation, judges the
histories, and reports which locks exclude and what they cost. lockbench run compares all of them.`,
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
