package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/reports/bench"
)

// latestBench is where two locks are looked for if no folder is named.
var latestBench = filepath.Join("runs", "latest-bench")

// compareFlags are what compare was asked to do.
type compareFlags struct {
	in, format string
	metrics    []string
	all        bool
}

func compareFormats() []string { return []string{"text", "markdown", "json", "benchfmt"} }

func compareCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare A B | compare DIR LOCK LOCK",
		Short: "Compare two locks of a bench, or two benches, and say what is no noise",
		Long: `compare shows B against A, row by row: how much more or less, with a 95 % interval, and whether that
is better or worse. A row that may be noise shows ~. All rows shown are corrected together (Holm), so that
one in twenty tables, and not one in twenty rows, names a difference where there is none.

  lockbench compare runs/a runs/b           each lock, wherever both benches measured it
  lockbench compare fenced redsync          two locks of the latest bench, block by block
  lockbench compare runs/a fenced redsync   two locks of that bench; --in runs/a says the same

With --format benchfmt it prints one line per trial instead, for benchstat: -col run compares two benches,
-col /lock two locks.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			metrics, err := f.chosen()
			if err != nil {
				return err
			}
			if err := oneOf("format", f.format, compareFormats()); err != nil {
				return err
			}
			c, err := f.compare(args, metrics)
			if err != nil {
				return err
			}
			if err := f.print(cmd.OutOrStdout(), c, metrics); err != nil {
				return err
			}
			return withheld(cmd.ErrOrStderr(), c)
		},
	}
	cmd.Flags().StringVar(&f.in, "in", "", "the bench folder that two locks are looked for in (default "+filepath.ToSlash(latestBench)+")")
	cmd.Flags().StringSliceVar(&f.metrics, "metric", nil, "the metrics to compare (default "+strings.Join(metricNames(bench.DefaultMetrics()), ",")+")")
	cmd.Flags().StringVar(&f.format, "format", "text", "how to print it: "+strings.Join(compareFormats(), ", "))
	cmd.Flags().BoolVar(&f.all, "all", false, "compare every metric, and of two benches floors and controls too")
	cmd.MarkFlagsMutuallyExclusive("metric", "all")
	return cmd
}

func metricNames(metrics []bench.Metric) []string {
	var names []string
	for _, m := range metrics {
		names = append(names, m.Name)
	}
	return names
}

// chosen are the metrics to compare.
func (f compareFlags) chosen() ([]bench.Metric, error) {
	switch {
	case f.all:
		return bench.Metrics(), nil
	case len(f.metrics) == 0:
		return bench.DefaultMetrics(), nil
	}
	return choose("metric", bench.Metrics(), func(m bench.Metric) string { return m.Name }, f.metrics)
}

func oneOf(what, name string, known []string) error {
	_, err := choose(what, known, func(s string) string { return s }, []string{name})
	return err
}

// compare finds out which of the forms was meant: what has a bench.json in it is a bench folder, the rest are locks.
func (f compareFlags) compare(args []string, metrics []bench.Metric) (*bench.Comparisons, error) {
	var folders, locks []string
	for _, arg := range args {
		if _, err := os.Stat(filepath.Join(arg, bench.PlanName)); err == nil {
			folders = append(folders, arg)
		} else {
			locks = append(locks, arg)
		}
	}
	switch {
	case len(folders) == 2 && len(locks) == 0:
		if f.in != "" {
			return nil, usage(errors.New("--in names the bench of two locks, and these are two benches"), "leave out --in")
		}
		return f.compareRuns(folders[0], folders[1], metrics)
	case len(folders) == 1 && len(locks) == 2 && args[0] == folders[0] && f.in == "":
		return compareLocks(folders[0], locks, metrics)
	case len(folders) == 0 && len(locks) == 2:
		in := f.in
		if in == "" {
			in = latestBench
		}
		return compareLocks(in, locks, metrics)
	case len(folders) == 1 && len(locks) == 1:
		return nil, usage(fmt.Errorf("%s is a bench folder and %s is none: there is no %s in it", folders[0], locks[0], bench.PlanName),
			"compare two benches, or two locks: lockbench compare DIR LOCK LOCK")
	}
	return nil, usage(fmt.Errorf("compare needs two benches, or two locks of one, got %s", plural(len(args), "argument")),
		"lockbench compare fenced redsync --in runs/latest-bench")
}

func (f compareFlags) compareRuns(base, new string, metrics []bench.Metric) (*bench.Comparisons, error) {
	b, err := readBench(base)
	if err != nil {
		return nil, err
	}
	n, err := readBench(new)
	if err != nil {
		return nil, err
	}
	c := bench.CompareRuns(b, n, metrics, f.all)
	if len(c.Rows) == 0 && len(c.Withheld) == 0 {
		return nil, usage(errors.New("the two benches measured no lock under the same conditions"), "compare two runs of one suite")
	}
	return c, nil
}

func compareLocks(dir string, locks []string, metrics []bench.Metric) (*bench.Comparisons, error) {
	r, err := readBench(dir)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, s := range r.Plan.Subjects {
		known = append(known, s.Name)
	}
	for _, lock := range locks {
		if err := oneOf("lock", lock, known); err != nil {
			return nil, err
		}
	}
	if locks[0] == locks[1] {
		return nil, usage(fmt.Errorf("%s would be compared with itself", locks[0]), "name two locks of "+dir)
	}
	c := bench.CompareSubjects(r, locks[0], locks[1], metrics)
	if len(c.Rows) == 0 && len(c.Withheld) == 0 {
		return nil, usage(fmt.Errorf("%s and %s were measured at no point together", locks[0], locks[1]), "lockbench report "+dir+" shows what was measured where")
	}
	return c, nil
}

// readBench reads a bench folder.
func readBench(dir string) (*bench.Results, error) {
	r, err := bench.Read(dir)
	if err != nil {
		return nil, usage(err, "a bench folder is what lockbench bench left, with a "+bench.PlanName+" in it")
	}
	return r, nil
}

func (f compareFlags) print(w io.Writer, c *bench.Comparisons, metrics []bench.Metric) error {
	switch f.format {
	case "json":
		return printJSON(w, c)
	case "benchfmt":
		return c.WriteBenchfmt(w, metrics)
	case "markdown":
		return printCompared(w, c, metrics, markdownTable)
	}
	return printCompared(w, c, metrics, textTable)
}

// withheld says why no figures were shown: nothing can be concluded from them.
func withheld(stderr io.Writer, c *bench.Comparisons) error {
	if len(c.Withheld) == 0 {
		return nil
	}
	for _, why := range c.Withheld {
		fmt.Fprintf(stderr, "withheld: %s\n", printable(why))
	}
	return &exit{exitUndecided, errors.New("the figures are withheld, as the bench's own controls failed"), "run the bench again, with eight trials or more, on a quieter machine"}
}
