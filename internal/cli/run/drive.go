package run

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"lockbench/internal/drive/trial"
	"lockbench/internal/world/servers"
	"lockbench/reports/run"
)

type work struct {
	cell trial.Cell
	n    int // which of the cell's
}

// drive does every trial of every cell, so many at once, and returns the first failure, after which no trial
// begins, unless it is that a trial's attempts were all void: the others may count. That the run was interrupted is no
// failure.
func (r *Runner) drive(ctx context.Context) error {
	var all []work
	for n := range r.trials { // each cell once, then each once more: what is cut short has some of all
		for _, c := range r.cells {
			all = append(all, work{c, n})
		}
	}
	d := &driver{Runner: r, show: newProgress(r.stderr, len(all))}
	defer d.show.Close()
	ctx, d.stop = context.WithCancel(ctx)
	defer d.stop()
	measured, waiting := r.split(all)
	d.drive(ctx, measured, r.atOnce())
	d.drive(ctx, waiting, r.atOnceWaiting())
	return d.failed
}

type driver struct {
	*Runner
	show *progress
	stop context.CancelFunc

	mu     sync.Mutex // guards what follows, and the manifest
	failed error
}

// split parts the trials whose figures are to be compared, of which one runs at a time, from those that mostly wait.
func (r *Runner) split(all []work) (measured, waiting []work) {
	for _, w := range all {
		if len(r.scenarios) > 0 || w.cell.Fault.Name != "none" || w.cell.Lock.Store == "" || w.cell.Workload.Waits {
			waiting = append(waiting, w)
		} else {
			measured = append(measured, w)
		}
	}
	if !slices.ContainsFunc(waiting, func(w work) bool { return w.cell.Fault.Name != "none" || w.cell.Workload.Waits }) {
		return all, nil // controls stay where they stand in the plan
	}
	return measured, waiting
}

func (d *driver) drive(ctx context.Context, all []work, atOnce int) {
	slots := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	for _, w := range all {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		running.Go(func() {
			d.took(ctx, d.try(ctx, w))
			<-slots
		})
	}
	running.Wait()
}

func (d *driver) took(ctx context.Context, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil && ctx.Err() == nil && d.failed == nil {
		d.failed = err
	}
	if err != nil && !errors.Is(err, trial.ErrVoid) {
		d.stop()
	}
}

func (d *driver) try(ctx context.Context, w work) error {
	r := d.Runner
	shown := d.show.begin(w.cell.String())
	out, err := r.setting.Try(ctx, w.cell, filepath.Join(r.dir, filepath.FromSlash(w.cell.Dir())), w.n, &shown.granted)
	d.show.end(shown, out, err)
	if out.Server != "" { // known only once one ran
		d.mu.Lock()
		r.manifest.Environment.Saw(run.StoreDoc{Name: w.cell.Lock.Store, Server: out.Server, Durability: out.Durability})
		d.mu.Unlock()
	}
	return err
}

// atOnce is how many trials run at once where their figures are to be compared: one, unless it was asked for more.
// On servers that are not ours it is one in any case: the trials of a run have the same keys.
func (r *Runner) atOnce() int {
	if r.servers.How == servers.External {
		return 1
	}
	return max(1, r.jobs)
}

// atOnceWaiting is how many trials run at once that mostly wait.
func (r *Runner) atOnceWaiting() int {
	if r.servers.How == servers.External || r.jobs > 0 {
		return r.atOnce()
	}
	return min(2*runtime.NumCPU(), 8)
}
