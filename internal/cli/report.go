package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	benchcli "lockbench/internal/cli/bench"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/reports/bench"
	"lockbench/reports/format"
	"lockbench/reports/run"
)

func reportCommand() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Write the report of a run or bench again",
		Long: `report reads the folder of a run or bench and writes results.json and the page again. It does not
judge the histories again: lockbench check does that.

  lockbench report runs/latest`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return console.Usage(fmt.Errorf("report needs one folder, got %s", format.Plural(len(args), "argument")), "lockbench report runs/latest")
			}
			const hint = "lockbench run and lockbench bench write such folders, by default in runs/"
			has := func(name string) bool { _, err := os.Stat(filepath.Join(args[0], name)); return err == nil }
			switch {
			case has(bench.PlanName):
				r, err := bench.Build(args[0])
				if err != nil {
					return console.Usage(err, hint)
				}
				return benchcli.Print(cmd.OutOrStdout(), args[0], r)
			case !has(run.ManifestName):
				return choice.Misplaced(args[0], "a run folder or a bench folder", nil, hint)
			}
			results, err := run.Build(args[0])
			if err != nil {
				return console.Usage(err, hint)
			}
			results.Text(cmd.OutOrStdout(), false, verbose)
			fmt.Fprintf(cmd.OutOrStdout(), "\npage: %s\n", filepath.Join(args[0], "report", "index.html"))
			return nil
		},
	}
	cmd.Flags().BoolVar(&verbose, "verbose", false, "print every check, not only one row for each lock")
	return cmd
}
