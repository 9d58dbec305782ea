package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	benchcli "lockbench/internal/cli/bench"
	"lockbench/internal/cli/console"
	"lockbench/reports/bench"
	"lockbench/reports/run"
)

func reportCommand() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Write the report of a run again",
		Long: `report reads the folder of a run or of a bench and writes results.json, the HDR histograms and the page again. It does not
judge the histories again: lockbench check does that.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return console.Usage(fmt.Errorf("report needs one run folder, got %d arguments", len(args)), "lockbench report runs/latest")
			}
			if _, err := os.Stat(filepath.Join(args[0], bench.PlanName)); err == nil {
				r, err := bench.Build(args[0])
				if err != nil {
					return console.Usage(err, "a bench folder is what lockbench bench left in runs/, with a bench.json in it")
				}
				return benchcli.Print(cmd.OutOrStdout(), args[0], r)
			}
			results, err := run.Build(args[0])
			if err != nil {
				return console.Usage(err, "a run folder is what lockbench run left in runs/, with a run.json in it")
			}
			results.Text(cmd.OutOrStdout(), false, verbose)
			fmt.Fprintf(cmd.OutOrStdout(), "\npage: %s\n", filepath.Join(args[0], "report", "index.html"))
			return nil
		},
	}
	cmd.Flags().BoolVar(&verbose, "verbose", false, "print every check of a run, not only a row for each lock")
	return cmd
}
