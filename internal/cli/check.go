package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

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
		Short: "Judge recorded histories, also hand-written ones",
		Long: `check judges histories (.jsonl, .jsonl.zst, or Jepsen's .edn) and compares the verdicts with the
expectations in each header. If a history names no lock, or with --all, every property is expected
to hold. docs/reference/file-formats.md describes the formats.

  lockbench check runs/latest/*/*/*/history.jsonl.zst
  lockbench check --export edn history.jsonl.zst > history.edn

Exit codes: 0 every expectation met; 1 a property is violated that was expected to hold; 2 wrong
usage, or an unreadable file; 3 a result is inconclusive; 6 a violation was expected and not
detected.`,
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
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON (an array with one object for each history)")
	cmd.Flags().StringVar(&f.oracle, "oracle", "sample", "search of more than 100,000 operations: sample or full")
	cmd.Flags().StringVar(&f.export, "export", "", "print one history in another format, without a verdict: edn")
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
		if errors.Is(err, histories.ErrTruncated) {
			return &console.Exit{Code: console.ExitInconclusive, Err: err, Hint: "the run was killed before its first mark: repeat it"}
		}
		if err != nil {
			return unreadable(file, err)
		}
		c := checked{file, header, results(v, header, f.all), v}
		for _, s := range c.Results {
			found[console.CodeOf(s.Result)] = true
		}
		if v.Counts.Operations == 0 {
			found[console.ExitInconclusive] = true // the history has no operations, so nothing was judged
		}
		found[console.ExitInternal] = found[console.ExitInternal] || len(v.Oracle.Disagreements) > 0
		if !f.asJSON {
			if err := c.print(w); err != nil {
				return err
			}
		}
		out = append(out, c)
	}
	if f.asJSON {
		return cmp.Or(console.JSON(w, out), found.Err())
	}
	return found.Err()
}

func unreadable(file string, err error) error {
	if info, e := os.Stat(file); e == nil && !info.IsDir() {
		return console.Usage(err, "docs/reference/file-formats.md describes the file")
	}
	return choice.Misplaced(file, "a history", err, "histories are in runs/<run>/<lock>/<workload>+<fault>/<trial>/")
}

// exportHistory prints a history in another format. It prints warnings to standard error.
func exportHistory(cmd *cobra.Command, files []string, to string) error {
	switch {
	case to != "edn":
		return console.Unknown("format", to, []string{"edn"})
	case len(files) != 1:
		return console.Usage(fmt.Errorf("--export takes one history, got %d", len(files)), "lockbench check --export edn history.jsonl.zst >history.edn")
	}
	warnings, err := edn.Export(cmd.OutOrStdout(), files[0])
	if err != nil {
		return unreadable(files[0], err)
	}
	for _, w := range warnings {
		console.Note(cmd.ErrOrStderr(), w)
	}
	return nil
}

// results compares the findings with the expectations that the header of the history states. If the parameter all is
// true or the header names no lock, every property is expected to hold.
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

// print prints the verdict on the history.
func (c checked) print(w io.Writer) error {
	var t format.Lines
	t.Add(c.File)
	if h := c.Header; h.Lock != "" {
		t.Hang("  ", fmt.Sprintf("%s, workload %s, fault %s, %s in %s", h.Lock, h.Workload, h.Fault, format.Plural(h.Clients, "client"),
			format.Plural(h.Processes, "process", "processes")))
	}
	n := c.Verdict.Counts
	t.Hang("  ", fmt.Sprintf("%s in %v: %s, %d refused, %d unknown, %s", format.Plural(n.Operations, "operation"), c.Verdict.Until.Round(time.Microsecond),
		format.Plural(n.Grants, "grant"), n.Refused, n.Unknown, format.Plural(n.HandOffs, "contended hand-off")))
	o := c.Verdict.Oracle
	searched := "Porcupine searched the same " + format.Plural(o.Pairs, "hold")
	if o.Windows > 0 {
		searched += " in " + format.Plural(o.Windows, "window")
	}
	if o.Skipped > 0 {
		searched += fmt.Sprintf(" and skipped %d (--oracle full)", o.Skipped)
	}
	t.Hang("  ", searched)
	row := func(property, expected, observed, result, evidence string) {
		t.Hang(fmt.Sprintf("  %-18s  %-11s  %-14s  %-12s  ", property, expected, observed, result), evidence)
	}
	row("property", "expected", "observed", "result", "evidence")
	for i, s := range c.Results {
		f := c.Verdict.Findings[i]
		row(s.Property, s.Expected.String(), s.Observed.String(), s.Result.String(), cmp.Or(f.Why, f.Evidence, format.None))
	}
	for _, f := range c.Verdict.Findings {
		if f.Witness != nil {
			t.Hang("  ", fmt.Sprintf("%s, violated %s: %s", f.Property, format.Often(f.Violations), f.Witness.Sentence))
		}
	}
	for _, d := range c.Verdict.Oracle.Disagreements {
		t.Hang("  ", "INTERNAL ERROR, please report it with this file: "+d)
	}
	for _, warning := range c.Verdict.Warnings {
		t.Hang("  warning: ", warning)
	}
	t.Add("")
	_, err := t.WriteTo(w)
	return err
}
