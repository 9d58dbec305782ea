package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"

	"lockbench/internal/servers"
	"lockbench/internal/trial"
	"lockbench/reports"
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
	show := newProgress(r.stderr, len(all))
	defer show.close()
	todo := make(chan work)
	var failed error
	var mu sync.Mutex
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var workers sync.WaitGroup
	for range r.atOnce() {
		workers.Go(func() {
			for w := range todo {
				err := r.try(ctx, w, show, &mu)
				mu.Lock()
				if err != nil && ctx.Err() == nil && failed == nil {
					failed = err
				}
				if err != nil && !errors.Is(err, trial.ErrVoid) {
					stop()
				}
				mu.Unlock()
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
	return failed
}

func (r *runner) try(ctx context.Context, w work, show *progress, mu *sync.Mutex) error {
	shown := show.begin(w.cell.String())
	out, err := r.setting.Try(ctx, w.cell, filepath.Join(r.dir, filepath.FromSlash(w.cell.Dir())), w.n, &shown.granted)
	show.end(shown, out, err)
	if out.Server != "" { // known only once one ran
		mu.Lock()
		r.manifest.Environment.Server = out.Server
		mu.Unlock()
	}
	return err
}

// atOnce is how many trials run at once: one where their figures are to be compared, and on servers that are not
// ours, where the trials of a run have the same keys.
func (r *runner) atOnce() int {
	if r.servers == servers.External {
		return 1
	}
	if r.jobs > 0 {
		return r.jobs
	}
	mostlyWaiting := min(2*runtime.NumCPU(), 8)
	if len(r.scenarios) > 0 {
		return mostlyWaiting
	}
	for _, c := range r.cells {
		if c.Fault.Name == "none" && c.Lock.Store != "" {
			return 1
		}
	}
	return mostlyWaiting
}

// conditions are what a reader must know of how the clients lived.
func (r *runner) conditions() []string {
	here, apart := false, false
	for _, c := range r.cells {
		if c.InProcesses() {
			apart = true
		} else {
			here = true
		}
	}
	var notes []string
	if here {
		what := ""
		if apart {
			what = "without a fault "
		}
		notes = append(notes, fmt.Sprintf("%sthe %d processes are simulated: each is a lock of its own, and all run in one process", what, r.params.Processes))
	}
	if apart {
		notes = append(notes, "under faults clients live in processes of their own, behind a proxy for each: latencies there compare with nothing")
	}
	return notes
}

// sayServers tells where the locks will run, before anything is measured there.
func (r *runner) sayServers() {
	switch {
	case r.servers == servers.External:
		fmt.Fprintf(r.stderr, "servers: your own, %s; every key begins with %s and goes after its trial\n",
			shown(r.remote.Addresses), servers.KeyPrefix(r.setting.Run))
	case r.manifest.Servers != servers.Embedded:
		fmt.Fprintln(r.stderr, "servers: a redis-server of its own for each trial, on loopback")
	case r.servers == servers.Auto:
		fmt.Fprintln(r.stderr, "servers: no redis-server on the PATH, so an embedded emulator stands in; its latencies compare with nothing")
		fmt.Fprintln(r.stderr, "hint: for real figures, apt install redis-server")
	default:
		fmt.Fprintln(r.stderr, "servers: the embedded emulator; its latencies compare with nothing")
	}
}

func (r *runner) print(results *reports.Results) error {
	if r.asJSON {
		return printJSON(r.stdout, results)
	}
	fmt.Fprintln(r.stdout)
	results.Text(r.stdout, isTerminal(r.stdout))
	page := filepath.Join(r.dir, "report", "index.html")
	_, err := fmt.Fprintf(r.stdout, "\npage: %s\n", page)
	return err
}
