package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"lockbench/reports/benchmark"
)

// gateFlags are what gate was asked to do.
type gateFlags struct {
	suite, run, baseline, junit string
}

// gateSuite is what gate takes from elsewhere: how a suite is run, and the limits that it states.
type gateSuite struct {
	thresholds func(suite string) ([]benchmark.Threshold, error)
	run        func(ctx context.Context, cmd *cobra.Command, suite string) (dir string, err error)
}

// gateCommand makes the verb. Without a suite to run it holds runs that are there to the limits in their own bench.json.
func gateCommand(suite *gateSuite) *cobra.Command {
	var f gateFlags
	cmd := &cobra.Command{
		Use:   "gate",
		Short: "Hold a bench to limits, for build servers",
		Long: `gate holds a bench to its suite's thresholds: of a figure, of its ratio to another lock's, or of its ratio to
an earlier run's. Each passes if the whole 95 % interval is within the limit, is breached if all of it is beyond,
and is too noisy to tell if the limit lies within; a lock that was seen to be unsafe breaches all of its limits.

Exit codes: 0 all pass; 5 a breach; 3 none, but something was too noisy to tell or was not measured.

  lockbench gate --run runs/latest-bench --baseline runs/before --junit gate.xml`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.gate(cmd, suite) },
	}
	cmd.Flags().StringVar(&f.run, "run", "", "the bench folder to judge (without it the suite is run)")
	cmd.Flags().StringVar(&f.baseline, "baseline", "", "the bench folder of an earlier run, for ratios to the baseline")
	cmd.Flags().StringVar(&f.junit, "junit", "", "also write a JUnit file, one test case for each threshold")
	if suite != nil {
		cmd.Flags().StringVar(&f.suite, "suite", "", "the suite whose thresholds apply (default those that the run was planned with)")
	}
	return cmd
}

func (f gateFlags) gate(cmd *cobra.Command, suite *gateSuite) error {
	dir := f.run
	if dir == "" {
		if suite == nil || f.suite == "" {
			return usage(errors.New("gate needs a run to judge"), "lockbench gate --run runs/latest-bench")
		}
		var err error
		if dir, err = suite.run(cmd.Context(), cmd, f.suite); err != nil {
			return err
		}
	}
	run, err := readBench(dir)
	if err != nil {
		return err
	}
	var baseline *benchmark.Results
	if f.baseline != "" {
		if baseline, err = readBench(f.baseline); err != nil {
			return err
		}
	}
	thresholds := run.Plan.Thresholds
	if f.suite != "" {
		if thresholds, err = suite.thresholds(f.suite); err != nil {
			return err
		}
	}
	if len(thresholds) == 0 {
		return usage(fmt.Errorf("%s has no thresholds: there is nothing to hold it to", dir), "state them in the suite, under thresholds")
	}
	gated, err := benchmark.Gate(run, baseline, thresholds)
	if err != nil {
		return usage(err, "lockbench compare --help names the metrics")
	}
	if err := f.writeJUnit(run, gated); err != nil {
		return environment(err, "choose another file with --junit")
	}
	return printGated(cmd.OutOrStdout(), gated)
}

func (f gateFlags) writeJUnit(run *benchmark.Results, gated []benchmark.Gated) error {
	if f.junit == "" {
		return nil
	}
	var text bytes.Buffer
	if err := benchmark.WriteJUnit(&text, run, gated); err != nil {
		return err
	}
	return os.WriteFile(f.junit, text.Bytes(), 0o644)
}

// printGated prints what became of each threshold, and returns the exit code's error.
func printGated(w io.Writer, gated []benchmark.Gated) error {
	count := map[benchmark.Outcome]int{}
	found := codes{}
	for _, g := range gated {
		count[g.Outcome]++
		switch g.Outcome {
		case benchmark.Breach:
			found[exitBreach] = true
		case benchmark.Pass:
		default:
			found[exitUndecided] = true
		}
		fmt.Fprintf(w, "%s: %s\n", g.Outcome, printable(g.Threshold.Name()))
		for _, p := range g.Points {
			fmt.Fprintf(w, "  %s: %s\n", p.Outcome, printable(p.Text))
		}
	}
	fmt.Fprintf(w, "\n%s: %d pass, %d breached, %d too noisy to tell, %d not measured\n", plural(len(gated), "threshold"),
		count[benchmark.Pass], count[benchmark.Breach], count[benchmark.Noisy], count[benchmark.Unknown])
	return found.exit()
}
