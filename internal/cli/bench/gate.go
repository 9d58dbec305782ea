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
	bench                flags // flags of bench, used if --run is not given
}

// GateCommand returns the command "gate", which compares a bench with the thresholds of a suite.
func GateCommand() *cobra.Command {
	f := &gateFlags{}
	cmd := &cobra.Command{
		Use:   "gate",
		Short: "Check a bench against thresholds, in CI",
		Long: `gate checks a bench against a suite's thresholds: limits of a figure, of its ratio to another
lock, or of its ratio to an earlier bench. A threshold passes if the whole 95 % interval is within
the limit, is breached if the whole interval is beyond it, and is too noisy to tell otherwise. A
lock that violated a property breaches all of its thresholds.

With --run it judges an existing bench by its own thresholds, or by those of --suite. Without
--run the suite is measured first.

  lockbench gate --suite suite.yaml --baseline runs/before --junit gate.xml
  lockbench gate --run runs/latest-bench

Exit codes: 0 all pass; 2 wrong usage; 3 no breach, but a threshold was too noisy to tell or not
measured; 4 a server does not work; 5 a breach; 130 interrupted.`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.gate(cmd) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.bench.suite, "suite", "", "suite: "+shipped()+", or a file")
	fl.StringVar(&f.baseline, "baseline", "", "bench folder of an earlier bench, for ratios to it")
	fl.StringVar(&f.run, "run", "", "bench folder to judge (the suite is measured)")
	fl.StringVar(&f.junit, "junit", "", "also write a JUnit file with a test case for each threshold")
	f.bench.servers.Define(fl)
	fl.StringVar(&f.bench.out, "out", "", "folder for the results (runs/<time>-bench-<suite>)")
	fl.Uint64Var(&f.bench.shape.seed, "seed", 0, "seed of all randomness (0: the suite's, or random)")
	return cmd
}

func (f *gateFlags) gate(cmd *cobra.Command) error {
	if f.run == "" && f.bench.suite == "" {
		return console.Usage(errors.New("gate needs a run to judge, or a suite to measure"), "lockbench gate --run runs/latest-bench, or --suite FILE")
	}
	var thresholds []benchreport.Threshold
	if f.bench.suite != "" { // check the suite before anything is measured
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

// measure runs the suite and returns the folder of the results. A failed or inconclusive benchmark is not an error, because
// the command gate judges only the thresholds.
func (f *gateFlags) measure(cmd *cobra.Command) (dir string, err error) {
	b, err := f.bench.prepare(cmd)
	if err != nil {
		return "", err
	}
	b.stdout = io.Discard // the command gate prints only the thresholds, not the output of the benchmark
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
	var t format.Lines
	count := map[benchreport.Outcome]int{}
	for _, g := range gated {
		count[g.Outcome]++
		t.Paragraph(fmt.Sprintf("%s: %s", g.Outcome, g.Threshold.Name()))
		for _, p := range g.Points {
			t.Hang("  ", fmt.Sprintf("%s: %s", p.Outcome, p.Text))
		}
	}
	t.Add("")
	t.Add(fmt.Sprintf("%s: %d pass, %d breached, %d too noisy to tell, %d not measured", format.Plural(len(gated), "threshold"),
		count[benchreport.Pass], count[benchreport.Breach], count[benchreport.Noisy], count[benchreport.Unknown]))
	if _, err := t.WriteTo(w); err != nil {
		return err
	}
	breached, passed := count[benchreport.Breach], count[benchreport.Pass]
	return console.Codes{console.ExitBreach: breached > 0, console.ExitInconclusive: breached+passed < len(gated)}.Err()
}
