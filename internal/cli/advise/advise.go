// Package advise has the verbs of choosing: advise, which writes a selection report, and verify-report, which works one out again.
package advise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockbench/internal/choose/advisor"
	"lockbench/internal/choose/decision"
	"lockbench/internal/choose/requirements"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/cli/run"
	"lockbench/reports/selection"
)

// flags holds what advise was asked to do.
type flags struct {
	needs    string
	evidence []string
	recorded []string
	pauses   time.Duration
	trials   int
	servers  choice.Servers
	out      string
	asJSON   bool
}

// Command returns the verb advise.
func Command() *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "advise",
		Short: "Say which lock to choose, if any, from what a team needs and from evidence",
		Long: `advise asks what you need, a dozen questions at most, or reads it from a file; tries what matters for these needs, or takes
folders of runs and benches as its evidence; and writes a selection report: a page, a decision record in Markdown, and JSON.

It asks first whether you need a lock at all. What does not do all that is required is out, whatever else it does well; of
the others it says who is ahead, by how much, what speaks against it, and what would change that. Every figure of the report
can be traced to the histories it rests on, and worked out again: lockbench verify-report.

examples/ has three files of needs; docs/needs.md has all that may stand in one.`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := f.prepare(cmd)
			if err != nil {
				return err
			}
			return a.run(cmd.Context())
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.needs, "needs", "", "file of what you need, in YAML (asked for in the terminal)")
	fl.StringSliceVar(&f.evidence, "evidence", nil, "folders of runs and benches to decide by (made anew)")
	fl.StringSliceVar(&f.recorded, "recorded", nil, "histories of your own (docs/history-format.md), to read from them how long the work takes")
	fl.DurationVar(&f.pauses, "measure-pauses", 0, "measure for so long how processes of this machine stand still, in place of what the needs say")
	fl.IntVar(&f.trials, "trials", 1, "of each kind of trouble: more of them are stronger evidence, and take longer")
	f.servers.Define(fl, "where locks run", "one, or five for the locks that need five")
	fl.StringVar(&f.out, "out", "", "folder for the report and its evidence (runs/<time>-advice-<name>)")
	fl.BoolVar(&f.asJSON, "json", false, "print advice.json instead of the text")
	return cmd
}

// advising is an advice under way.
type advising struct {
	*flags
	cmd            *cobra.Command
	needs          selection.Needs
	options        []selection.Option
	dir            string
	tried          *run.Runner // nil: nothing is tried
	from           []string    // folders of evidence
	told           []string    // what was left out, and why
	stdout, stderr io.Writer
}

// prepare finds out what is needed, and what is wrong with that before anything starts.
func (f *flags) prepare(cmd *cobra.Command) (*advising, error) {
	switch {
	case f.trials < 1 || f.trials > 1000:
		return nil, console.Usage(errors.New("--trials: want 1 to 1000"), "see lockbench advise --help")
	case f.pauses < 0 || f.pauses > time.Hour:
		return nil, console.Usage(errors.New("--measure-pauses: want up to 1h"), "see lockbench advise --help")
	}
	if err := f.servers.Settle(cmd); err != nil {
		return nil, err
	}
	a := &advising{flags: f, cmd: cmd, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr(), from: f.evidence}
	n, err := f.learn(cmd)
	if err != nil {
		return nil, err
	}
	if len(f.recorded) > 0 {
		if n.Hold, n.HoldRecorded, err = advisor.RecordedHold(f.recorded...); err != nil {
			return nil, console.Usage(err, "--recorded takes histories as docs/history-format.md describes them")
		}
		n.Assumed = without(n.Assumed, "hold.")
	}
	a.needs, a.options = n, advisor.Options(n)
	if len(f.evidence) > 0 { // before a folder is made
		if _, err := decision.ReadEvidence(".", a.options, f.evidence...); err != nil {
			return nil, console.Usage(err, "--evidence takes folders that lockbench run, bench or advise left in runs/")
		}
	}
	if a.dir, err = console.Folder(f.out, "advice-"+n.Name, "latest-advice"); err != nil {
		return nil, err
	}
	return a, os.WriteFile(filepath.Join(a.dir, "needs.yaml"), requirements.Write(n), 0o644)
}

// learn reads the needs, or asks for them.
func (f *flags) learn(cmd *cobra.Command) (selection.Needs, error) {
	known := requirements.Known{Stores: advisor.Stores(), Languages: advisor.Languages()}
	if f.needs == "" {
		n, err := requirements.Ask(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), known)
		if err != nil {
			return n, console.Usage(err, "lockbench advise --needs FILE reads them from a file: examples/inventory.yaml is one")
		}
		return n, nil
	}
	text, err := os.ReadFile(f.needs)
	if err != nil {
		return selection.Needs{}, console.Usage(err, "examples/inventory.yaml is a file of needs")
	}
	n, err := requirements.Parse(f.needs, text, known)
	if err != nil {
		return n, console.Usage(err, "docs/needs.md has all that may stand there")
	}
	return n, nil
}

// without are the needs that are still assumed when those of a group are known.
func without(assumed []string, group string) []string {
	return slices.DeleteFunc(slices.Clone(assumed), func(need string) bool { return strings.HasPrefix(need, group) })
}

// run gathers evidence, decides, and reports. What was interrupted is reported as far as it got.
func (a *advising) run(ctx context.Context) error {
	if a.pauses > 0 {
		fmt.Fprintf(a.stderr, "pauses: measuring for %s how processes of this machine stand still\n", a.pauses)
		p, err := advisor.Meter{For: a.pauses}.Measure(ctx)
		if err != nil {
			return console.Environment(err, "lockbench advise without --measure-pauses takes what the needs say")
		}
		if p.Longest == 0 { // nothing was seen, which says nothing of what there is
			fmt.Fprintln(a.stderr, "note: no pause was seen in that time; those of the needs stand")
		} else {
			a.needs.Pauses, a.needs.Assumed = p, without(a.needs.Assumed, "pauses.")
		}
	}
	var failed error
	if len(a.evidence) == 0 {
		failed = a.gather(ctx)
	}
	r, err := a.decide()
	if err == nil {
		err = a.write(r)
	}
	if err != nil {
		return console.Environment(errors.Join(failed, err), "what was tried is kept in "+a.dir+": lockbench advise --evidence "+a.dir)
	}
	if err := a.print(r); err != nil {
		return err
	}
	found := console.Codes{console.ExitInterrupted: ctx.Err() != nil, console.ExitUndecided: r.Decision.Outcome == selection.NothingFits}
	if failed != nil && ctx.Err() == nil {
		return failed
	}
	return found.Err()
}

// decide works the recommendation out from what there is by now.
func (a *advising) decide() (*selection.Report, error) {
	e, err := decision.ReadEvidence(a.dir, a.options, a.from...)
	if err != nil {
		return nil, err
	}
	return decision.Decide(a.needs, a.options, decision.Trim(a.needs, a.options, e)), nil
}

// write leaves the report in its three forms.
func (a *advising) write(r *selection.Report) error {
	forms, err := selection.Forms(r)
	if err != nil {
		return err
	}
	for name, text := range forms {
		if err := os.WriteFile(filepath.Join(a.dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (a *advising) print(r *selection.Report) error {
	if a.asJSON {
		return console.JSON(a.stdout, r)
	}
	fmt.Fprintln(a.stdout)
	if err := selection.Text(a.stdout, r); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "\npage: %s\nrecord: %s\nall of it worked out again: lockbench verify-report %s\n",
		filepath.Join(a.dir, selection.PageName), filepath.Join(a.dir, selection.RecordName), filepath.Join(a.dir, selection.PageName))
	return err
}
