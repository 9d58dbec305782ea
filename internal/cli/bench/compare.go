package bench

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/reports/bench"
	"lockbench/reports/format"
)

// latestBench is the benchmark folder that "lockbench compare" reads to compare two locks, if the user names no folder.
var latestBench = filepath.Join("runs", "latest-bench")

type compareFlags struct {
	in, format string
	metrics    []string
	all        bool
}

// form is an output format of a comparison.
type form struct {
	name  string
	write func(*bench.Comparisons, io.Writer, []bench.Metric) error
}

var forms = choice.Table[form]{What: "format", Describe: func(f form) (string, string) { return f.name, "" }, All: func() []form {
	asJSON := func(c *bench.Comparisons, w io.Writer, _ []bench.Metric) error { return console.JSON(w, c) }
	return []form{{"text", (*bench.Comparisons).WriteText}, {"markdown", (*bench.Comparisons).WriteMarkdown}, {"json", asJSON},
		{"benchfmt", (*bench.Comparisons).WriteBenchfmt}}
}}

// CompareCommand returns the "compare" command, which compares two locks of a benchmark, or two benchmarks.
func CompareCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare A B | compare DIR LOCK LOCK",
		Short: "Compare two locks of a bench, or two benches",
		Long: `compare shows how B differs from A in each metric, with a 95 % interval. A row that may be noise
shows ~. The rows are corrected together (Holm): one table in twenty, and not one row in twenty,
shows a difference that does not exist.

  lockbench compare runs/a runs/b           each lock that both benches measured
  lockbench compare fenced redsync          two locks of the latest bench, block by block
  lockbench compare runs/a fenced redsync   two locks of that bench; --in runs/a does the same

--format benchfmt prints one line for each trial, for benchstat: -col run compares two benches,
and -col /lock two locks.

` + metricNames(),
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			metrics, err := metrics.Choose(f.metrics...)
			if f.all {
				metrics, err = bench.Metrics(), nil
			}
			if err != nil {
				return err
			}
			form, err := forms.One(f.format)
			if err != nil {
				return err
			}
			c, err := f.compare(args, metrics)
			if err != nil {
				return err
			}
			if err := form.write(c, cmd.OutOrStdout(), metrics); err != nil {
				return err
			}
			return withheld(cmd.ErrOrStderr(), c)
		},
	}
	cmd.Flags().StringVar(&f.in, "in", "", "bench folder of two locks (default "+filepath.ToSlash(latestBench)+")")
	usual := metrics
	usual.All = bench.DefaultMetrics
	cmd.Flags().StringSliceVar(&f.metrics, "metric", usual.Names(), "metrics to compare (the usual ones)")
	cmd.Flags().Lookup("metric").DefValue = "" // hide the default value in the help, because it is too long for a line
	cmd.Flags().StringVar(&f.format, "format", "text", "format: "+strings.Join(forms.Names(), ", "))
	cmd.Flags().BoolVar(&f.all, "all", false, "compare every metric, and baselines and controls too")
	cmd.MarkFlagsMutuallyExclusive("metric", "all")
	return cmd
}

func metricNames() string {
	var t format.Lines
	t.Paragraph("Metrics: " + strings.Join(metrics.Names(), ", ") + ".")
	return strings.TrimSuffix(t.String(), "\n")
}

var metrics = choice.Table[bench.Metric]{What: "metric", All: bench.Metrics, Describe: func(m bench.Metric) (string, string) { return m.Name, m.Title }}

// compare compares two benchmark folders, or two locks. An argument is a benchmark folder if it contains a bench.json.
func (f compareFlags) compare(args []string, metrics []bench.Metric) (*bench.Comparisons, error) {
	var folders, locks []string
	for _, arg := range args {
		if _, err := os.Stat(filepath.Join(arg, bench.PlanName)); err == nil {
			folders = append(folders, arg)
		} else if _, err := os.Stat(arg); err == nil {
			return nil, choice.Misplaced(arg, "a bench folder or a lock", nil, hintBench)
		} else {
			locks = append(locks, arg)
		}
	}
	switch {
	case len(folders) == 2 && len(locks) == 0 && f.in != "":
		return nil, console.Usage(errors.New("--in names the bench of two locks, and these are two benches"), "leave out --in")
	case len(folders) == 2 && len(locks) == 0:
		return f.compareRuns(folders, metrics)
	case len(folders) == 1 && len(locks) == 2 && args[0] == folders[0] && f.in == "":
		return compareLocks(folders[0], locks, metrics)
	case len(folders) == 0 && len(locks) == 2:
		return compareLocks(cmp.Or(f.in, latestBench), locks, metrics)
	case len(folders) == 1 && len(locks) == 1:
		return nil, choice.Misplaced(locks[0], "a bench folder", nil, "lockbench compare A B takes two bench folders, lockbench compare DIR LOCK LOCK two locks")
	}
	return nil, console.Usage(fmt.Errorf("compare needs two benches, or two locks of one, got %s", format.Plural(len(args), "argument")),
		"lockbench compare fenced redsync --in runs/latest-bench")
}

func (f compareFlags) compareRuns(folders []string, metrics []bench.Metric) (*bench.Comparisons, error) {
	var both [2]*bench.Results
	for i, dir := range folders {
		var err error
		if both[i], err = readBench(dir); err != nil {
			return nil, err
		}
	}
	return compared(bench.CompareRuns(both[0], both[1], metrics, f.all),
		"the two benches measured no lock under the same conditions", "compare two runs of one suite")
}

func compareLocks(dir string, locks []string, metrics []bench.Metric) (*bench.Comparisons, error) {
	r, err := readBench(dir)
	if err != nil {
		return nil, err
	}
	subjects := choice.Table[bench.Subject]{What: "lock", All: func() []bench.Subject { return r.Plan.Subjects },
		Describe: func(s bench.Subject) (string, string) { return s.Name, s.Doc }}
	if _, err := subjects.Choose(locks...); err != nil {
		return nil, err
	}
	if locks[0] == locks[1] {
		return nil, console.Usage(fmt.Errorf("%s would be compared with itself", locks[0]), "name two locks of "+dir)
	}
	return compared(bench.CompareSubjects(r, locks[0], locks[1], metrics), fmt.Sprintf("%s and %s were measured at no point together", locks[0], locks[1]),
		"lockbench report "+dir+" shows what was measured where")
}

// compared returns the comparison. If the comparison has no rows and no failed self-checks, it returns an error
// instead.
func compared(c *bench.Comparisons, why, hint string) (*bench.Comparisons, error) {
	if len(c.Rows) == 0 && len(c.Withheld) == 0 {
		return nil, console.Usage(errors.New(why), hint)
	}
	return c, nil
}

func readBench(dir string) (*bench.Results, error) {
	if _, err := os.Stat(filepath.Join(dir, bench.PlanName)); err != nil {
		return nil, choice.Misplaced(dir, "a bench folder", nil, hintBench)
	}
	r, err := bench.Read(dir)
	if err != nil {
		return nil, console.Usage(err, hintBench)
	}
	return r, nil
}

const hintBench = "lockbench bench writes bench folders, by default in runs/"

// withheld returns an error if the figures of a comparison are not shown, because self-checks of the bench failed. It
// prints the failed self-checks to stderr.
func withheld(stderr io.Writer, c *bench.Comparisons) error {
	if len(c.Withheld) == 0 {
		return nil
	}
	for _, why := range c.Withheld {
		fmt.Fprintf(stderr, "withheld: %s\n", format.Clean(why))
	}
	return &console.Exit{Code: console.ExitInconclusive, Err: errors.New("the figures are withheld, as the bench's own controls failed"), Hint: "run the bench again, with eight trials or more, on a quieter machine"}
}
