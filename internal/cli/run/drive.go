package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"lockbench/checker"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/trial"
	"lockbench/internal/world/servers"
	"lockbench/reports/run"
)

type work struct {
	cell trial.Cell
	n    int // which of the cell's
}

// drive does every trial of every cell, several at once, and returns the first failure. After a failure no trial begins,
// unless all attempts at a trial were discarded: the others may count. An interrupt is no failure.
func (r *Runner) drive(ctx context.Context) (failed error) {
	var all []work
	for n := range r.trials { // each cell once, then each once more: what is cut short has some of all
		for _, c := range r.cells {
			all = append(all, work{c, n})
		}
	}
	show := newProgress(r.stderr, len(all))
	defer show.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex // guards failed and the manifest
	try := func(w work) {
		shown := show.begin(w.cell.String())
		out, err := r.setting.Try(ctx, w.cell, filepath.Join(r.dir, filepath.FromSlash(w.cell.Dir())), w.n, &shown.granted)
		show.end(shown, out, err)
		mu.Lock()
		defer mu.Unlock()
		if out.Server != "" { // known only once one ran
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
	measured, waiting := r.split(all)
	for _, part := range []struct {
		of     []work
		atOnce int
	}{{measured, r.atOnce(false)}, {waiting, r.atOnce(true)}} {
		var running errgroup.Group
		running.SetLimit(part.atOnce)
		for _, w := range part.of {
			running.Go(func() error {
				if ctx.Err() == nil {
					try(w)
				}
				return nil // try has noted it
			})
		}
		running.Wait()
	}
	return failed
}

// split separates the trials whose figures are compared, which run one at a time, from the trials that mostly wait.
func (r *Runner) split(all []work) (measured, waiting []work) {
	waits := func(w work) bool { return w.cell.Fault.Name != "none" || w.cell.Workload.Waits }
	if !slices.ContainsFunc(all, waits) {
		return all, nil // in the order of the plan
	}
	for _, w := range all {
		if waits(w) || len(r.scenarios) > 0 || w.cell.Lock.Store == "" {
			waiting = append(waiting, w)
		} else {
			measured = append(measured, w)
		}
	}
	return measured, waiting
}

// atOnce returns how many trials run at once: one if their figures are to be compared, some if they mostly wait, unless it
// was asked for more. On servers of a user's own it is one in any case: the trials of a run have the same keys.
func (r *Runner) atOnce(waiting bool) int {
	switch {
	case r.servers.How == servers.External:
		return 1
	case waiting && r.jobs == 0:
		return min(2*runtime.NumCPU(), 8)
	}
	return max(1, r.jobs)
}

// progress shows how far a run is: a line that changes on a terminal, a line per trial elsewhere.
type progress struct {
	*console.Live
	total int

	mu      sync.Mutex
	begun   int
	running []*shownTrial
}

type shownTrial struct {
	number  int
	name    string
	since   time.Time
	granted atomic.Int64
}

func newProgress(w io.Writer, total int) *progress {
	p := &progress{total: total}
	p.Live = console.NewLive(w, p.line)
	return p
}

// line shows the trial that runs for longest; more would not fit a line.
func (p *progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.running) == 0 {
		return ""
	}
	s := p.running[0]
	line := fmt.Sprintf("%s  %4.1f s  %d grants", p.label(s), time.Since(s.since).Seconds(), s.granted.Load())
	if n := len(p.running); n > 1 {
		line += fmt.Sprintf("  and %d more", n-1)
	}
	return line
}

func (p *progress) begin(name string) *shownTrial {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun++
	s := &shownTrial{number: p.begun, name: name, since: time.Now()}
	p.running = append(p.running, s)
	return s
}

func (p *progress) label(s *shownTrial) string {
	return fmt.Sprintf("[%*d/%d] %-30s", len(fmt.Sprint(p.total)), s.number, p.total, s.name)
}

func (p *progress) end(s *shownTrial, out trial.Outcome, err error) {
	p.mu.Lock()
	p.running = slices.DeleteFunc(p.running, func(o *shownTrial) bool { return o == s })
	p.mu.Unlock()
	if err != nil {
		p.Print(p.label(s) + "  failed")
	} else if out.Verdict != nil {
		p.Print(fmt.Sprintf("%s  %6d grants  %s", p.label(s), out.Verdict.Counts.Grants, summary(out)))
	}
}

// summary lists the results of a trial, the bad ones by property.
func summary(out trial.Outcome) string {
	var n run.Tally
	var parts, bad []string
	for _, f := range out.Verdict.Findings {
		s := checker.ResultOf(out.Header.Expectation(f.Property).Expected, f.Observed)
		*n.Of(s)++
		if s == checker.Fail || s == checker.XPass || s == checker.Inconclusive {
			bad = append(bad, fmt.Sprintf("%s %s", f.Property, s))
		}
	}
	for _, s := range []checker.Result{checker.Pass, checker.XFail} {
		if *n.Of(s) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", *n.Of(s), s))
		}
	}
	return strings.Join(append(parts, bad...), ", ")
}
