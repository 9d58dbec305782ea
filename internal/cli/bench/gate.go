package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"lockbench/internal/cli/console"
	benchreport "lockbench/reports/bench"
	"lockbench/reports/format"
)

type gateFlags struct {
	run, baseline, junit string
	bench                flags // of the suite that is measured if no run is named
}

// GateCommand returns the verb gate.
func GateCommand() *cobra.Command {
	f := &gateFlags{}
	cmd := &cobra.Command{
		Use:   "gate",
		Short: "Check a bench against thresholds, for CI",
		Long: `gate checks a bench against a suite's thresholds: of a figure, of its ratio to another lock's, or of its ratio to
an earlier run's. Each passes if the whole 95 % interval is within the limit, is breached if all of it is beyond,
and is too noisy to tell if the limit lies within; a lock that violated a property breaches all of its limits.

With --run it judges an existing bench by its own thresholds, or by those of --suite. Without --run the suite is measured
first.

Exit codes: 0 all pass; 5 a breach; 3 none, but something was too noisy to tell or was not measured.

  lockbench gate --suite suite.yaml --baseline runs/before --junit gate.xml
  lockbench gate --run runs/latest-bench`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.gate(cmd) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.bench.suite, "suite", "", "suite whose thresholds apply: "+shipped()+", or a file")
	fl.StringVar(&f.baseline, "baseline", "", "bench folder of an earlier run, for ratios to the baseline")
	fl.StringVar(&f.run, "run", "", "bench folder to judge (without it the suite is measured first)")
	fl.StringVar(&f.junit, "junit", "", "also write a JUnit file, one test case for each threshold")
	f.bench.servers.Define(fl, "where locks run if the suite is measured", "one, or five for the locks that need five")
	fl.StringVar(&f.bench.out, "out", "", "folder for the results if the suite is measured (runs/<time>-bench-<suite>)")
	fl.Uint64Var(&f.bench.shape.seed, "seed", 0, "seed of all randomness if the suite is measured (0: the suite's own, or drawn)")
	return cmd
}

func (f *gateFlags) gate(cmd *cobra.Command) error {
	if f.run == "" && f.bench.suite == "" {
		return console.Usage(errors.New("gate needs a run to judge, or a suite to measure"), "lockbench gate --run runs/latest-bench, or --suite FILE")
	}
	var thresholds []benchreport.Threshold
	if f.bench.suite != "" { // read before anything is measured
		suite, err := readSuite(f.bench.suite)
		if err != nil {
			return err
		}
		if len(suite.Thresholds) == 0 {
			return noThresholds(f.bench.suite)
		}
		thresholds = suite.Thresholds
	}
	var baseline *benchreport.Results
	var err error
	if f.baseline != "" {
		if baseline, err = readBench(f.baseline); err != nil {
			return err
		}
	}
	if f.run == "" {
		if f.run, err = f.measure(cmd); err != nil {
			return err
		}
	}
	run, err := readBench(f.run)
	if err != nil {
		return err
	}
	if f.bench.suite == "" {
		thresholds = run.Plan.Thresholds
	}
	if len(thresholds) == 0 {
		return noThresholds(f.run)
	}
	gated, err := benchreport.Gate(run, baseline, thresholds)
	if err != nil {
		return console.Usage(err, "lockbench compare --help names the metrics")
	}
	if err := f.writeJUnit(run, gated); err != nil {
		return console.Environment(err, "choose another file with --junit")
	}
	return printGated(cmd.OutOrStdout(), gated)
}

func noThresholds(of string) error {
	return console.Usage(fmt.Errorf("%s has no thresholds: there is nothing to check", of), "state them in the suite, under thresholds (docs/reference/suites.md)")
}

// measure runs the suite and returns its folder. What the bench itself concludes of locks is left to the thresholds; if it
// could not be measured, there is nothing to judge.
func (f *gateFlags) measure(cmd *cobra.Command) (dir string, err error) {
	b, err := f.bench.prepare(cmd)
	if err != nil {
		return "", err
	}
	b.stdout = io.Discard // the thresholds are what was asked for
	err = b.run(cmd.Context())
	var e *console.Exit
	if errors.As(err, &e) && (e.Code == console.ExitFail || e.Code == console.ExitInconclusive) {
		err = nil
	}
	return b.bench.Dir, err
}

func (f *gateFlags) writeJUnit(run *benchreport.Results, gated []benchreport.Gated) error {
	if f.junit == "" {
		return nil
	}
	var text bytes.Buffer
	if err := benchreport.WriteJUnit(&text, run, gated); err != nil {
		return err
	}
	return os.WriteFile(f.junit, text.Bytes(), 0o644)
}

func printGated(w io.Writer, gated []benchreport.Gated) error {
	count := map[benchreport.Outcome]int{}
	for _, g := range gated {
		count[g.Outcome]++
		fmt.Fprintf(w, "%s: %s\n", g.Outcome, format.Clean(g.Threshold.Name()))
		for _, p := range g.Points {
			fmt.Fprintf(w, "  %s: %s\n", p.Outcome, format.Clean(p.Text))
		}
	}
	fmt.Fprintf(w, "\n%s: %d pass, %d breached, %d too noisy to tell, %d not measured\n", format.Plural(len(gated), "threshold"),
		count[benchreport.Pass], count[benchreport.Breach], count[benchreport.Noisy], count[benchreport.Unknown])
	breached, passed := count[benchreport.Breach], count[benchreport.Pass]
	return console.Codes{console.ExitBreach: breached > 0, console.ExitInconclusive: breached+passed < len(gated)}.Err()
}
