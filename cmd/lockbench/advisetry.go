package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"lockbench/internal/choose/advisor"
	"lockbench/internal/drive/trial"
	"lockbench/internal/measure"
	"lockbench/internal/world/servers"
	"lockbench/reports/run"
	"lockbench/reports/selection"
	"lockbench/workloads"
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
	fits, notes := trial.Fitting(cells, a.servers, a.remote)
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
	r, err := a.runner(ctx, fits, notes)
	if err != nil {
		return err
	}
	r.trials, r.setting.Trials, r.jobs = trials, trials, advisor.AtOnce
	failed := r.drive(ctx)
	r.manifest.Ended, r.manifest.Interrupted = time.Now().UTC(), ctx.Err() != nil
	if failed != nil {
		r.manifest.Warnings = append(r.manifest.Warnings, "a trial was given up: "+scrub(failed.Error()))
		fmt.Fprintln(a.stderr, "note: a trial was given up, so that something stays unknown:", scrub(failed.Error()))
	}
	if err := r.writeManifest(); err != nil {
		return err
	}
	results, err := run.Build(r.dir)
	if err != nil {
		return environment(err, "the histories are kept; when the cause is mended: lockbench report "+r.dir)
	}
	if results.Tally.Disagreements > 0 {
		return &exit{code: exitInternal, err: fmt.Errorf("monitor and oracle disagree on a history in %s", r.dir), hint: "this is a fault of lockbench: please report it with the history"}
	}
	return nil
}

// runner is the run that all cells are tried in; made with the first of them.
func (a *advising) runner(ctx context.Context, cells []trial.Cell, notes []string) (*runner, error) {
	if a.tried != nil {
		a.tried.cells = cells
		a.tried.addNotes(notes)
		a.tried.addScenarios()
		a.tried.list()
		return a.tried, a.tried.writeManifest()
	}
	f := &runFlags{name: "advice", servers: a.servers, remote: a.remote, out: filepath.Join(a.dir, "run"), trials: 1, params: workloads.Defaults()}
	r := &runner{runFlags: f, stdout: a.stdout, stderr: a.stderr, cells: cells, notes: notes}
	if err := r.checkServers(ctx); err != nil {
		return nil, err
	}
	if err := r.prepare(a.cmd); err != nil {
		return nil, err
	}
	r.sayServers()
	a.tried, a.from = r, append(a.from, r.dir)
	return r, nil
}

// addScenarios names the scenarios of the cells that are about to be tried: a part of the report is made of each.
func (r *runner) addScenarios() {
	for _, c := range r.cells {
		known := func(s run.Scenario) bool { return s.Name == c.Scenario }
		if c.Scenario != "" && !slices.ContainsFunc(r.manifest.Scenarios, known) {
			r.manifest.Scenarios = append(r.manifest.Scenarios, run.Scenario{Name: c.Scenario, Warning: advisor.Warning(c.Scenario)})
		}
	}
}

// addNotes are told once each.
func (r *runner) addNotes(notes []string) {
	for _, n := range notes {
		if !slices.Contains(r.manifest.Notes, n) {
			r.manifest.Notes = append(r.manifest.Notes, n)
		}
	}
}

// measure benches what is left, at the point of the needs.
func (a *advising) measure(ctx context.Context, left []selection.Option) error {
	plan, notes, _, err := measure.NewPlan(advisor.Suite(a.needs, left), a.servers, a.remote)
	if err != nil || len(plan.Pairs) == 0 || servers.Resolve(a.servers, servers.Redis) == servers.Embedded {
		return err // an emulator's figures compare with nothing
	}
	fmt.Fprintln(a.stderr, "measuring: what is not out, side by side")
	dir := filepath.Join(a.dir, "bench")
	if _, err := makeFolder(dir, time.Now(), ""); err != nil {
		return err
	}
	plan.Command, plan.Started, plan.Environment, plan.Notes = reproduce(a.cmd), time.Now().UTC(), run.Collect(), notes
	f := &benchFlags{servers: a.servers, remote: a.remote}
	b, err := f.over(a.cmd, plan, dir)
	if err != nil {
		return err
	}
	_, err = b.measure(ctx)
	a.from = append(a.from, dir)
	return err
}
