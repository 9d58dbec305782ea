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
	d.drive(ctx, measured, r.atOnce(false))
	d.drive(ctx, waiting, r.atOnce(true))
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
	var running errgroup.Group
	running.SetLimit(atOnce)
	for _, w := range all {
		running.Go(func() error {
			if ctx.Err() == nil {
				d.took(ctx, d.try(ctx, w))
			}
			return nil // took has noted it
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

// begin shows a trial, with a counter that is watched.
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
	switch {
	case err != nil:
		p.Print(p.label(s) + "  failed")
	case out.Verdict != nil:
		p.Print(fmt.Sprintf("%s  %6d grants  %s", p.label(s), out.Verdict.Counts.Grants, summary(out)))
	}
}

// summary is the scores of a trial in a few words: the bad ones by name.
func summary(out trial.Outcome) string {
	kept, caught := 0, 0
	var bad []string
	for _, f := range out.Verdict.Findings {
		switch s := checker.ScoreOf(out.Header.Claim(f.Property).Expected, f.Observed); s {
		case checker.Kept:
			kept++
		case checker.Caught:
			caught++
		case checker.Broken, checker.Missed, checker.LeftUndecided:
			bad = append(bad, fmt.Sprintf("%s %s", f.Property, s))
		}
	}
	var parts []string
	if kept > 0 {
		parts = append(parts, fmt.Sprintf("%d kept", kept))
	}
	if caught > 0 {
		parts = append(parts, fmt.Sprintf("%d caught", caught))
	}
	return strings.Join(append(parts, bad...), ", ")
}
