package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"lockbench/internal/drive/trial"
	"lockbench/internal/world/servers"
	"lockbench/reports/run"
)

// work is one trial to be done.
type work struct {
	cell trial.Cell
	n    int // which of the cell's
}

// drive does every trial of every cell, so many at once, and returns the first failure, after which no trial
// begins, unless it is that a trial's attempts were all void: the others may count. That the run was interrupted is no
// failure.
func (r *runner) drive(ctx context.Context) error {
	var all []work
	for n := range r.trials { // each cell once, then each once more: what is cut short has some of all
		for _, c := range r.cells {
			all = append(all, work{c, n})
		}
	}
	d := &driver{runner: r, show: newProgress(r.stderr, len(all))}
	defer d.show.close()
	ctx, d.stop = context.WithCancel(ctx)
	defer d.stop()
	measured, waiting := r.split(all)
	d.drive(ctx, measured, r.atOnce())
	d.drive(ctx, waiting, r.atOnceWaiting())
	return d.failed
}

// driver drives trials, some at once.
type driver struct {
	*runner
	show *progress
	stop context.CancelFunc

	mu     sync.Mutex // guards what follows, and the manifest
	failed error
}

// split parts the trials whose figures are to be compared, of which one runs at a time, from those that mostly wait.
func (r *runner) split(all []work) (measured, waiting []work) {
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

// drive does trials, so many at once.
func (d *driver) drive(ctx context.Context, all []work, atOnce int) {
	todo := make(chan work)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for w := range todo {
				d.took(ctx, d.try(ctx, w))
			}
		})
	}
	for _, w := range all {
		if ctx.Err() != nil {
			break
		}
		select {
		case todo <- w:
		case <-ctx.Done():
		}
	}
	close(todo)
	workers.Wait()
}

// took notes what became of a trial.
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
	r := d.runner
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
func (r *runner) atOnce() int {
	if r.servers == servers.External {
		return 1
	}
	return max(1, r.jobs)
}

// atOnceWaiting is how many trials run at once that mostly wait.
func (r *runner) atOnceWaiting() int {
	if r.servers == servers.External || r.jobs > 0 {
		return r.atOnce()
	}
	return min(2*runtime.NumCPU(), 8)
}

// conditions are what a reader must know of how the clients lived.
func (r *runner) conditions() []string {
	here, apart, served := false, false, false
	for _, c := range r.cells {
		switch {
		case c.Workload.Served:
			served = true
		case c.InProcesses():
			apart = true
		default:
			here = true
		}
	}
	var notes []string
	if here {
		what := ""
		switch {
		case apart:
			what = "without a fault "
		case served:
			what = "but for the shop's "
		}
		notes = append(notes, fmt.Sprintf("%sthe %d processes are simulated: each is a lock of its own, and all run in one process", what, r.params.Processes))
	}
	if apart {
		notes = append(notes, "under faults clients live in processes of their own, behind a proxy for each: latencies there compare with nothing")
	}
	if served {
		notes = append(notes, fmt.Sprintf("a shop's services are processes of their own; unless --clients and --hold say otherwise it has %d buyers, and the work under the lock takes %s",
			trial.UsualBuyers, trial.UsualHold))
	}
	return notes
}

// sayServers tells where the locks will run, before anything is measured there.
func (r *runner) sayServers() {
	switch {
	case r.servers == servers.External:
		fmt.Fprintf(r.stderr, "servers: your own, %s; every key begins with %s and goes after its trial\n",
			shown(r.remote), servers.KeyPrefix(r.setting.Run))
	case len(r.stores()) > 0:
		fmt.Fprintf(r.stderr, "servers: each trial has its own, on loopback, of %s\n", strings.Join(r.stores(), ", "))
	}
	switch {
	case r.manifest.Servers != servers.Embedded || !slices.Contains(r.stores(), servers.Redis):
	case r.servers == servers.Auto:
		fmt.Fprintln(r.stderr, "servers: no redis-server on the PATH, so an embedded emulator stands in; its latencies compare with nothing")
		fmt.Fprintln(r.stderr, "hint: for real figures, apt install redis-server")
	default:
		fmt.Fprintln(r.stderr, "servers: the embedded emulator of Redis; its latencies compare with nothing")
	}
}

// stores are what the locks of the run talk to.
func (r *runner) stores() []string {
	var names []string
	for _, c := range r.cells {
		if s := c.Lock.Store; s != "" && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	return names
}

func (r *runner) print(results *run.Results) error {
	if r.asJSON {
		return printJSON(r.stdout, results)
	}
	fmt.Fprintln(r.stdout)
	results.Text(r.stdout, isTerminal(r.stdout))
	page := filepath.Join(r.dir, "report", "index.html")
	_, err := fmt.Fprintf(r.stdout, "\npage: %s\n", page)
	return err
}
