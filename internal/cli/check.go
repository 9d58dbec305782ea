package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lockbench/checker"
	"lockbench/checker/judge"
	"lockbench/histories"
	"lockbench/histories/edn"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/reports/format"
)

type checkFlags struct {
	all, asJSON    bool
	oracle, export string
}

func checkCommand() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check HISTORY...",
		Short: "Judge recorded histories, also ones written by hand",
		Long: `check judges histories (.jsonl, .jsonl.zst, or Jepsen's .edn) and compares the verdicts with the expectations in each
header. If a history names no lock, or with --all, every property is expected to hold.

With --export edn it prints one history in Jepsen's format and does not judge it. docs/reference/file-formats.md
describes the formats.

Exit codes: 0 every expectation met; 1 a property is violated that was expected to hold; 2 wrong usage, or a file that
cannot be read; 3 a result is inconclusive; 6 a violation was expected and not detected.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) == 0 {
				return console.Usage(errors.New("check needs a history"), "lockbench check runs/latest/*/*/*/history.jsonl.zst")
			}
			if cmd.Flags().Changed("export") {
				return exportHistory(cmd, files, f.export)
			}
			if err := choice.OneOf("oracle", f.oracle, []string{"sample", "full"}); err != nil {
				return err
			}
			return f.check(cmd.OutOrStdout(), files)
		},
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "expect every property to hold")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print a JSON array with one object per history")
	cmd.Flags().StringVar(&f.oracle, "oracle", "sample", "how much Porcupine searches of a history over 100,000 operations: sample or full")
	cmd.Flags().StringVar(&f.export, "export", "", "print one history in another format instead of judging it: edn")
	cmd.MarkFlagsMutuallyExclusive("export", "all")
	cmd.MarkFlagsMutuallyExclusive("export", "json")
	return cmd
}

type checked struct {
	File    string           `json:"file"`
	Header  histories.Header `json:"header"`
	Results []scored         `json:"results"`
	Verdict *checker.Verdict `json:"verdict"`
}

type scored struct {
	Property string             `json:"property"`
	Expected histories.Expected `json:"expected"`
	Observed checker.Observed   `json:"observed"`
	Result   checker.Result     `json:"result"`
}

func (f checkFlags) check(w io.Writer, files []string) error {
	out := []checked{}
	found := console.Codes{}
	for _, file := range files {
		v, header, err := judge.File(file, judge.Options{FullOracle: f.oracle == "full"})
		if err != nil {
			return unreadable(err)
		}
		c := checked{file, header, results(v, header, f.all), v}
		for _, s := range c.Results {
			found[console.CodeOf(s.Result)] = true
		}
		found[console.ExitInternal] = found[console.ExitInternal] || len(v.Oracle.Disagreements) > 0
		if !f.asJSON {
			c.print(w)
		}
		out = append(out, c)
	}
	if f.asJSON {
		return cmp.Or(console.JSON(w, out), found.Err())
	}
	return found.Err()
}

func unreadable(err error) error {
	hint := "docs/reference/file-formats.md describes the file"
	if errors.Is(err, fs.ErrNotExist) {
		hint = "histories are in runs/<run>/<lock>/<workload>+<fault>/<trial>/"
	}
	return console.Usage(err, hint)
}

// exportHistory prints a history in another format; nothing else goes to the standard output.
func exportHistory(cmd *cobra.Command, files []string, to string) error {
	switch {
	case to != "edn":
		return console.Unknown("format", to, []string{"edn"})
	case len(files) != 1:
		return console.Usage(fmt.Errorf("--export takes one history, got %d", len(files)), "lockbench check --export edn history.jsonl.zst >history.edn")
	}
	warnings, err := edn.Export(cmd.OutOrStdout(), files[0])
	if err != nil {
		return unreadable(err)
	}
	for _, w := range warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", w)
	}
	return nil
}

// results compares findings with the header's expectations; all: every property is expected to hold.
func results(v *checker.Verdict, h histories.Header, all bool) []scored {
	var out []scored
	for _, f := range v.Findings {
		expected := h.Expectation(f.Property).Expected
		if all || h.Lock == "" {
			expected = histories.ToHold
		}
		out = append(out, scored{f.Property, expected, f.Observed, checker.ResultOf(expected, f.Observed)})
	}
	return out
}

func (c checked) print(w io.Writer) {
	fmt.Fprintln(w, c.File)
	if c.Header.Lock != "" {
		fmt.Fprintf(w, "  %s, workload %s, fault %s, %d clients in %d processes\n", c.Header.Lock, c.Header.Workload, c.Header.Fault, c.Header.Clients, c.Header.Processes)
	}
	n := c.Verdict.Counts
	fmt.Fprintf(w, "  %d operations in %v: %d grants, %d refused, %d unknown, %d contended hand-offs\n",
		n.Operations, c.Verdict.Until.Round(1000), n.Grants, n.Refused, n.Unknown, n.HandOffs)
	o := c.Verdict.Oracle
	searched := "  Porcupine searched the same " + format.Plural(o.Pairs, "hold")
	if o.Windows > 0 {
		searched += " in " + format.Plural(o.Windows, "window")
	}
	if o.Skipped > 0 {
		searched += fmt.Sprintf(" and skipped %d (--oracle full)", o.Skipped)
	}
	fmt.Fprintln(w, searched)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, s := range c.Results {
		f := c.Verdict.Findings[i]
		fmt.Fprintf(tw, "  %s\texpected %s\tobserved %s\t%s\t%s\n", s.Property, s.Expected, s.Observed, s.Result, cmp.Or(f.Why, f.Evidence))
	}
	tw.Flush()
	for _, f := range c.Verdict.Findings {
		if f.Witness != nil {
			fmt.Fprintf(w, "  %s (%d times): %s\n", f.Property, f.Violations, f.Witness.Story)
		}
	}
	for _, d := range c.Verdict.Oracle.Disagreements {
		fmt.Fprintf(w, "  INTERNAL ERROR, please report it with this file: %s\n", d)
	}
	for _, warning := range c.Verdict.Warnings {
		fmt.Fprintf(w, "  warning: %s\n", warning)
	}
	fmt.Fprintln(w)
}
