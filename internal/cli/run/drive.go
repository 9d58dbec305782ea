package run

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"lockbench/internal/drive/trial"
	"lockbench/internal/world/servers"
	"lockbench/reports/run"
)

// work is a planned trial.
type work struct {
	cell trial.Cell
	n    int // number of the trial from 0, counted for each combination of lock, workload and fault
}

// part is a list of trials, with a maximum number of trials that run concurrently (field atOnce).
type part struct {
	of     []work
	atOnce int
}

// drive runs every planned trial and returns the first failure. After a failure, it starts no further trials. It
// continues if all attempts of the failed trial were discarded. An interrupt is not a failure.
func (r *Runner) drive(ctx context.Context) (failed error) {
	measured, beside := r.parts()
	show := r.newProgress(measured, beside)
	defer show.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex // mu guards failed and the manifest
	try := func(w work) {
		shown := show.begin(w)
		out, err := r.setting.Try(ctx, w.cell, filepath.Join(r.dir, filepath.FromSlash(w.cell.Dir())), w.n, &shown.granted)
		show.end(shown, out, err)
		mu.Lock()
		defer mu.Unlock()
		if out.Server != "" { // out.Server is empty if no server was started
			r.manifest.Environment.Saw(run.StoreDoc{Name: w.cell.Lock.Store, Server: out.Server, Durability: out.Durability})
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		if failed == nil {
			failed = err
		}
		if !errors.Is(err, trial.ErrDiscarded) {
			stop()
		}
	}
	measured.forEachTrial(ctx, try)
	var all sync.WaitGroup
	for _, p := range beside {
		all.Go(func() { p.forEachTrial(ctx, try) })
	}
	all.Wait()
	return failed
}

// forEachTrial calls do for every trial in the list. It starts no further trial after ctx is done.
func (p part) forEachTrial(ctx context.Context, do func(work)) {
	var running errgroup.Group
	running.SetLimit(p.atOnce)
	for _, w := range p.of {
		running.Go(func() error {
			if ctx.Err() == nil {
				do(w)
			}
			return nil
		})
	}
	running.Wait()
}

// parts divides the trials of a run into three lists. The first holds the trials whose performance is compared. They run one at
// a time. Then the other two lists run concurrently: trials that mostly wait, and trials that keep a core busy. If the flag
// --jobs is set, the first list holds all trials, and that number of trials runs at once.
//
// Each list starts with the first trial of every combination of lock, workload and fault. The second trial of every combination
// follows, and so on. An interrupted run therefore has results for many combinations. In the two concurrent lists, successive
// trials use different locks, so few servers of one store are needed at once.
func (r *Runner) parts() (measured part, beside []part) {
	measured.atOnce = max(1, r.jobs)
	waiting, busy := part{atOnce: 3 * runtime.NumCPU()}, part{atOnce: runtime.NumCPU()}
	for n := range max(r.trials, r.faultTrials) {
		for _, c := range r.cells {
			if n >= r.trialsOf(c) {
				continue
			}
			into := &measured
			if r.concurrent(c) && r.jobs == 0 {
				into = &busy
				if c.InProcesses() || c.Workload.Waits {
					into = &waiting
				}
			}
			into.of = append(into.of, work{c, n})
		}
	}
	for _, p := range []part{waiting, busy} {
		slices.SortStableFunc(p.of, func(a, b work) int {
			return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.cell.Workload.Name, b.cell.Workload.Name), cmp.Compare(a.cell.Fault.Name, b.cell.Fault.Name))
		})
	}
	return measured, []part{waiting, busy}
}

// concurrent reports whether trials with a certain lock, workload and fault (parameter c) may run concurrently with
// other trials. On a user's external servers, trials must run one at a time.
func (r *Runner) concurrent(c trial.Cell) bool {
	switch {
	case r.servers.How == servers.External || r.jobs == 1:
		return false
	case r.jobs > 1:
		return true
	}
	forVerdict := c.Workload.Verdict && len(r.workloads) == 0 && !r.thorough
	return c.Fault.Name != "none" || c.Workload.Waits || forVerdict || c.Lock.Store == "" || len(r.scenarios) > 0
}
