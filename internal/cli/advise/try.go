package advise

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"lockbench/internal/choose/advisor"
	"lockbench/internal/cli/bench"
	"lockbench/internal/cli/console"
	cli "lockbench/internal/cli/run"
	"lockbench/internal/drive/trial"
	"lockbench/internal/measure"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/reports/format"
	"lockbench/reports/run"
	"lockbench/reports/selection"
)

// gather tries and measures what matters for the needs: stage by stage, each of what is not out by then.
func (a *advising) gather(ctx context.Context) error {
	for _, stage := range advisor.Stages() {
		left, err := a.left()
		if err != nil {
			return err
		}
		if err := a.try(ctx, stage.Doc, stage.Trials*a.trials, stage.Cells(a.needs, left)); err != nil || ctx.Err() != nil {
			return err
		}
	}
	left, err := a.left()
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
	return a.try(ctx, "processes that stand still, to confirm what leases of three lengths come to", advisor.ConfirmTrials, advisor.Confirming(r))
}

// left are the locks that are not out for good: by what was seen of them, or by what they are. What is only known of one from
// its table is tried all the same.
func (a *advising) left() ([]selection.Option, error) {
	r, err := a.decide()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(a.options), func(o selection.Option) bool {
		return o.Kind != selection.ALock || slices.ContainsFunc(r.Cells, func(c selection.Cell) bool { return c.Option == o.Name && final(r, c) })
	}), nil
}

// final tells whether a cell rules its option out whatever else may be seen.
func final(r *selection.Report, c selection.Cell) bool {
	if c.Answer != selection.No {
		return false
	}
	return c.Tag == selection.Measured || slices.ContainsFunc(r.Requirements, func(q selection.Requirement) bool { return q.Name == c.Of && !q.Tried })
}

// try drives cells as a run does, and reports the run as far as it has got.
func (a *advising) try(ctx context.Context, doc string, trials int, cells []trial.Cell) error {
	fits, notes := trial.Fitting(cells, a.servers.How, a.servers.Remote)
	for _, n := range notes {
		if !slices.Contains(a.told, n) {
			a.told = append(a.told, n)
			fmt.Fprintln(a.stderr, "note:", n)
		}
	}
	if len(fits) == 0 {
		return nil
	}
	fmt.Fprintf(a.stderr, "trying: %s\n", doc)
	dir := filepath.Join(a.dir, "run")
	if a.tried == nil {
		var err error
		if a.tried, err = cli.New(a.cmd, "advice", dir, a.servers, fits, notes); err != nil {
			return err
		}
		a.from = append(a.from, dir)
	}
	var scenarios []run.Scenario
	for _, c := range fits {
		if c.Scenario != "" {
			scenarios = append(scenarios, run.Scenario{Name: c.Scenario, Warning: advisor.Warning(c.Scenario)})
		}
	}
	results, failed, err := a.tried.Try(ctx, fits, notes, scenarios, trials, advisor.AtOnce)
	if failed != nil {
		fmt.Fprintln(a.stderr, "note: a trial was given up, so that something stays unknown:", format.Scrub(failed.Error()))
	}
	if err != nil {
		return err
	}
	if results.Tally.Disagreements > 0 {
		return &console.Exit{Code: console.ExitInternal, Err: fmt.Errorf("monitor and oracle disagree on a history in %s", dir),
			Hint: "this is a fault of lockbench: please report it with the history"}
	}
	return nil
}

// measure benches what is left, at the point of the needs.
func (a *advising) measure(ctx context.Context, left []selection.Option) error {
	plan, notes, _, err := measure.NewPlan(advisor.Suite(a.needs, left), a.servers.How, a.servers.Remote)
	if err != nil || len(plan.Pairs) == 0 || stores.Resolve(a.servers.How, servers.Redis) == servers.Embedded {
		return err // an emulator's figures compare with nothing
	}
	fmt.Fprintln(a.stderr, "measuring: what is not out, side by side")
	dir := filepath.Join(a.dir, "bench")
	a.from = append(a.from, dir)
	return bench.Measure(a.cmd, a.servers, plan, notes, dir)
}
