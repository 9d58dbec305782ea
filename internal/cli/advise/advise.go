// Package advise implements two commands: advise writes a selection report, and verify-report computes a report again from the
// evidence in the report.
package advise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"lockbench/internal/choose/advisor"
	"lockbench/internal/choose/decision"
	"lockbench/internal/choose/requirements"
	"lockbench/internal/cli/bench"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	cli "lockbench/internal/cli/run"
	"lockbench/internal/drive/trial"
	"lockbench/internal/measure"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/reports/run"
	"lockbench/reports/selection"
)

type flags struct {
	needs    string
	evidence []string
	recorded []string
	pauses   time.Duration
	trials   int
	servers  choice.Servers
	fleet    choice.Fleet
	out      string
	asJSON   bool
}

// Command returns the "advise" command, which recommends a lock for the user's requirements.
func Command() *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "advise",
		Short: "Recommend a lock, if any, for your requirements",
		Long: `advise asks what you need, in at most a dozen questions, or reads it from a file. It tests and
measures the candidates, or takes folders of runs and benches as evidence, and writes a selection
report: a page, a decision record in Markdown, and JSON.

It first asks whether you need a lock at all. A candidate that does not meet every requirement is
eliminated; the others are scored. The report names the trade-offs, and what would change the
recommendation. lockbench verify-report traces each figure to its histories.

  lockbench advise --needs examples/inventory.yaml
  lockbench advise --needs needs.yaml --evidence runs/latest,runs/latest-bench

Exit codes: 0 something is recommended; 2 wrong usage; 3 no candidate meets all requirements; 4 a
server does not work; 130 interrupted.`,
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
	fl.StringVar(&f.needs, "needs", "", "YAML file of needs (questions in the terminal)")
	fl.StringSliceVar(&f.evidence, "evidence", nil, "folders of runs and benches (new ones are made)")
	fl.StringSliceVar(&f.recorded, "recorded", nil, "your own histories, for the time inside the critical section")
	fl.DurationVar(&f.pauses, "measure-pauses", 0, "time to measure pauses on this machine (those in the needs)")
	fl.IntVar(&f.trials, "trials", 1, "number of trials (under each fault)")
	f.servers.Define(fl)
	f.fleet.Define(fl, false)
	fl.StringVar(&f.out, "out", "", "folder for the results (runs/<time>-advice-<name>)")
	fl.BoolVar(&f.asJSON, "json", false, "print JSON (advice.json)")
	return cmd
}

type advising struct {
	*flags
	cmd            *cobra.Command
	needs          selection.Needs
	options        []selection.Option
	dir            string
	tried          *cli.Runner // runner of all trials; nil before the first trial
	from           []string    // folders with evidence: runs and benchmarks
	told           []string    // notes that were already printed
	stdout, stderr io.Writer
}

// prepare reads the requirements, and checks the flags and the given evidence before any trial starts.
func (f *flags) prepare(cmd *cobra.Command) (*advising, error) {
	err := console.Refuse("see lockbench advise --help", append(f.fleet.Refusals(f.out),
		console.Refusal{If: f.trials < 1 || f.trials > 1000, What: "--trials: want 1 to 1000"},
		console.Refusal{If: f.pauses < 0 || f.pauses > time.Hour, What: "--measure-pauses: want up to 1h"})...)
	if err == nil {
		err = f.servers.Settle(cmd)
	}
	if err == nil {
		err = f.fleet.Fits(f.servers)
	}
	if err != nil {
		return nil, err
	}
	a := &advising{flags: f, cmd: cmd, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr(), from: f.evidence}
	n, err := f.learn(cmd)
	if err != nil {
		return nil, err
	}
	if len(f.recorded) > 0 {
		if n.Hold, n.HoldRecorded, err = advisor.RecordedHold(f.recorded...); err != nil {
			return nil, console.Usage(err, "--recorded takes histories as docs/reference/file-formats.md describes them")
		}
		n.Assumed = removeGroup(n.Assumed, "hold.")
	}
	a.needs, a.options = n, advisor.Options(n)
	if len(f.evidence) > 0 {
		if _, err := decision.ReadEvidence(".", a.options, f.evidence...); err != nil {
			return nil, console.Usage(err, "--evidence takes folders that lockbench run, bench or advise left in runs/")
		}
	}
	if a.dir, err = console.Folder(f.out, "advice-"+n.Name); err != nil {
		return nil, err
	}
	return a, os.WriteFile(filepath.Join(a.dir, "needs.yaml"), requirements.Write(n), 0o644)
}

func (f *flags) learn(cmd *cobra.Command) (n selection.Needs, err error) {
	known := requirements.Known{Stores: advisor.Stores(), Languages: advisor.Languages()}
	hint := "docs/selection.md describes every field"
	if f.needs == "" {
		n, err = requirements.Ask(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), known)
		hint = "lockbench advise --needs FILE reads the requirements from a file, such as examples/inventory.yaml"
	} else if text, missing := os.ReadFile(f.needs); missing != nil {
		err, hint = missing, "examples/inventory.yaml is a requirements file"
	} else {
		n, err = requirements.Parse(f.needs, text, known)
	}
	if err != nil {
		return n, console.Usage(err, hint)
	}
	return n, nil
}

func removeGroup(assumed []string, group string) []string {
	return slices.DeleteFunc(slices.Clone(assumed), func(need string) bool { return strings.HasPrefix(need, group) })
}

// run gathers evidence, makes the decision and writes the report. After an interrupt, the report is based on the evidence so
// far.
func (a *advising) run(ctx context.Context) error {
	if a.pauses > 0 {
		fmt.Fprintf(a.stderr, "pauses: measuring for %s how long processes on this machine are paused\n", a.pauses)
		p, err := advisor.Meter{For: a.pauses}.Measure(ctx)
		if err != nil {
			return console.Environment(err, "lockbench advise without --measure-pauses uses the pauses of the requirements")
		}
		if p.Longest == 0 { // a pause is possible even if the measurement found none
			console.Note(a.stderr, "no pause was observed in that time; the pauses in the needs are used")
		} else {
			a.needs.Pauses, a.needs.Assumed = p, removeGroup(a.needs.Assumed, "pauses.")
		}
	}
	var failed error
	if len(a.evidence) == 0 {
		failed = a.gather(ctx)
		if a.tried != nil {
			failed = errors.Join(failed, a.tried.Close())
		}
	}
	r, err := a.decide()
	if err == nil {
		var forms map[string][]byte
		forms, err = selection.Forms(r)
		for name, text := range forms {
			err = cmp.Or(err, os.WriteFile(filepath.Join(a.dir, name), text, 0o644))
		}
	}
	if err != nil {
		return console.Environment(errors.Join(failed, err), "the trials are stored: lockbench advise --evidence "+a.dir)
	}
	if failed == nil && ctx.Err() == nil {
		console.Link(a.dir, "latest-advice")
	}
	if err := a.print(r); err != nil {
		return err
	}
	found := console.Codes{console.ExitInterrupted: ctx.Err() != nil, console.ExitInconclusive: r.Decision.Outcome == selection.NothingFits}
	if failed != nil && ctx.Err() == nil {
		return failed
	}
	return found.Err()
}

func (a *advising) decide() (*selection.Report, error) {
	e, err := decision.ReadEvidence(a.dir, a.options, a.from...)
	if err != nil {
		return nil, err
	}
	return decision.Decide(a.needs, a.options, decision.Trim(a.needs, a.options, e)), nil
}

func (a *advising) print(r *selection.Report) error {
	if a.asJSON {
		return console.JSON(a.stdout, r)
	}
	fmt.Fprintln(a.stdout)
	if err := selection.Text(a.stdout, r); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "\npage: %s\nrecord: %s\nverify: lockbench verify-report %s\n",
		filepath.Join(a.dir, selection.PageName), filepath.Join(a.dir, selection.RecordName), filepath.Join(a.dir, selection.PageName))
	return err
}

// gather tests and measures the locks in stages. Each stage tests only locks that no earlier stage has eliminated.
func (a *advising) gather(ctx context.Context) error {
	for _, stage := range advisor.Stages() {
		left, err := a.remainingLocks()
		if err != nil {
			return err
		}
		if err := a.try(ctx, stage.Doc, stage.Trials*a.trials, stage.Cells(a.needs, left)); err != nil || ctx.Err() != nil {
			return err
		}
	}
	left, err := a.remainingLocks()
	if err != nil || len(left) == 0 {
		return err
	}
	if err := a.measure(ctx, left); err != nil || ctx.Err() != nil {
		return err
	}
	r, err := a.decide()
	if err != nil || r.Lease == nil {
		return err
	}
	return a.try(ctx, "paused processes, to confirm the prediction for leases of three lengths", advisor.ConfirmTrials, advisor.Confirming(r))
}

// remainingLocks returns the locks that are not eliminated by trials or by documented properties. An author's expectation alone
// does not eliminate a lock here.
func (a *advising) remainingLocks() ([]selection.Option, error) {
	r, err := a.decide()
	if err != nil {
		return nil, err
	}
	return lo.Reject(a.options, func(o selection.Option, _ int) bool {
		return o.Kind != selection.ALock || slices.ContainsFunc(r.Cells, func(c selection.Cell) bool { return c.Option == o.Name && final(r, c) })
	}), nil
}

// final reports whether a candidate's result for a requirement eliminates the candidate, whatever later trials find.
func final(r *selection.Report, c selection.Cell) bool {
	untried := func(q selection.Requirement) bool { return q.Name == c.Of && !q.Tried }
	return c.Answer == selection.No && (c.Tag == selection.Measured || slices.ContainsFunc(r.Requirements, untried))
}

func (a *advising) try(ctx context.Context, doc string, trials int, cells []trial.Cell) error {
	fits, notes := trial.Fitting(cells, a.servers.How, a.servers.Remote)
	for _, n := range lo.Without(lo.Uniq(notes), a.told...) {
		a.told = append(a.told, n)
		console.Note(a.stderr, n)
	}
	if len(fits) == 0 {
		return nil
	}
	fmt.Fprintf(a.stderr, "trying: %s\n", doc)
	dir := filepath.Join(a.dir, "run")
	if a.tried == nil {
		var err error
		if a.tried, err = cli.New(a.cmd, "advice", dir, a.servers, a.fleet, fits, notes); err != nil {
			return err
		}
		a.from = append(a.from, dir)
	}
	scenarios := lo.FilterMap(fits, func(c trial.Cell, _ int) (run.Scenario, bool) {
		return run.Scenario{Name: c.Scenario, Warning: advisor.Warning(c.Scenario)}, c.Scenario != ""
	})
	results, failed, err := a.tried.Try(ctx, fits, notes, scenarios, trials, advisor.AtOnce)
	if failed != nil {
		console.Note(a.stderr, "a trial failed, and its result stays unknown: "+failed.Error())
	}
	if err != nil {
		return err
	}
	if results.Tally.Disagreements > 0 {
		return &console.Exit{Code: console.ExitInternal, Err: fmt.Errorf("monitor and oracle disagree on a history in %s", dir),
			Hint: "this is a bug in lockbench: please report it with the history"}
	}
	return nil
}

// measure benchmarks the locks that are not yet eliminated. It uses the number of clients and the hold duration from the
// requirements. It measures nothing if the server is an emulator.
func (a *advising) measure(ctx context.Context, left []selection.Option) error {
	plan, err := measure.NewPlan(advisor.Suite(a.needs, left), a.servers.How, a.servers.Remote)
	if err != nil || len(plan.Pairs) == 0 || stores.Resolve(a.servers.How, servers.Redis) == servers.Embedded {
		return err
	}
	fmt.Fprintln(a.stderr, "measuring: the remaining candidates, side by side")
	dir := filepath.Join(a.dir, "bench")
	a.from = append(a.from, dir)
	return bench.Measure(a.cmd, a.servers, plan, dir)
}
