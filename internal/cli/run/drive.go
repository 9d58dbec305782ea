package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/trial"
	"lockbench/internal/fleet"
	"lockbench/internal/world/servers"
	"lockbench/reports/campaign"
	"lockbench/reports/run"
)

// work is a planned trial.
type work struct {
	cell trial.Cell
	n    int // number of the trial from 0, counted for each combination of lock, workload and fault
}

// key identifies the trial in its run.
func (w work) key() string { return path.Join(w.cell.Dir(), fmt.Sprint(w.n)) }

// class is a list of trials that need about the same amount of processor time.
type class struct {
	of   []work
	most func(slots int) int // how many of the trials run at the same time, if so many trials can
}

// driving carries out the trials of one plan.
type driving struct {
	*Runner
	show *progress
	stop func() // ends the run after a failure

	mu     sync.Mutex
	failed error
	hosts  []string // machines on which trials ran
}

// drive runs every planned trial and returns the first failure. After a failure, it starts no further trials. It
// continues if all attempts of the failed trial were discarded. An interrupt is not a failure.
//
// Trials whose speed is compared run here, one at a time. All others are tasks of a queue, from which agents take them: the one in this
// process, and those on other machines.
func (r *Runner) drive(ctx context.Context) error {
	measured, beside := r.classes()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	d := &driving{Runner: r, show: r.newProgress(append([]class{measured}, beside...)), stop: stop}
	defer d.show.Close()
	for _, w := range measured.of {
		if ctx.Err() == nil {
			d.run(ctx, w, func(j job) (answer, error) { return r.performHere(ctx, j) })
		}
	}
	if ctx.Err() == nil && slices.ContainsFunc(beside, func(c class) bool { return len(c.of) > 0 }) {
		if err := r.openQueue(ctx); err != nil {
			return errors.Join(d.failed, err)
		}
		err := d.distributeAll(ctx, beside)
		d.failed = errors.Join(d.failed, err)
	}
	if ctx.Err() != nil { // what was interrupted in this process is judged before the report is written
		err := r.closeQueue()
		d.failed = errors.Join(d.failed, err)
	}
	if len(d.hosts) > 1 {
		slices.Sort(d.hosts)
		r.manifest.Notes = append(r.manifest.Notes, "trials ran on several machines: "+strings.Join(d.hosts, ", "))
	}
	return d.failed
}

// openQueue opens the queue of the run, unless it is open.
func (r *Runner) openQueue(ctx context.Context) (err error) {
	if r.queue == nil {
		handlers := fleet.Handlers{TaskKind: func(ctx context.Context, body json.RawMessage) (any, error) {
			var j job
			if err := json.Unmarshal(body, &j); err != nil {
				return nil, err
			}
			return r.performHere(ctx, j)
		}}
		r.queue, err = r.fleet.Open(ctx, r.dir, "", r.slots(), handlers, func(text string) { console.Note(r.stderr, text) })
	}
	return err
}

// closeQueue ends the queue. Trials that still run in this process are interrupted, and what they recorded is judged.
func (r *Runner) closeQueue() (err error) {
	if r.queue != nil {
		err = r.queue.Close(true)
		r.queue = nil
	}
	return err
}

// performHere runs the trial of a job on this machine.
func (r *Runner) performHere(ctx context.Context, j job) (answer, error) {
	i := slices.IndexFunc(r.cells, func(c trial.Cell) bool { return c.Lock.Name == j.Trial.Lock })
	if i < 0 {
		return answer{}, fmt.Errorf("the run has no lock %q", j.Trial.Lock)
	}
	return perform(ctx, r.setting, j.Trial, r.cells[i].Lock, filepath.Join(r.dir, filepath.FromSlash(j.Dir)))
}

// distributeAll puts the trials of all classes into the queue. While agents of other processes can take part, it writes the state of the
// queue for lockbench serve.
func (d *driving) distributeAll(ctx context.Context, classes []class) (err error) {
	d.show.nameAgents(d.queue)
	if d.fleet.Shared() {
		var state *campaign.Keeper
		state, err = campaign.Keep(d.dir, func() campaign.State {
			done, planned := d.show.finished()
			return campaign.State{Verb: "run", What: d.name, Unit: "trial", Done: done, Planned: planned, Agents: choice.Agents(d.queue)}
		})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, state.End(ctx.Err() != nil, "")) }()
	}
	var all sync.WaitGroup
	for _, c := range classes {
		all.Go(func() { d.distribute(ctx, c) })
	}
	all.Wait()
	return nil
}

// distribute puts the trials of a class into the queue. It puts no further trial there after ctx is done.
func (d *driving) distribute(ctx context.Context, c class) {
	var all sync.WaitGroup
	ended, running := make(chan struct{}, len(c.of)), 0
	for _, w := range c.of {
		for running >= max(1, c.most(d.queue.Size())) {
			<-ended
			running--
		}
		done, err := d.queue.Turn(ctx)
		if err != nil {
			break
		}
		running++
		all.Go(func() {
			defer func() { done(); ended <- struct{}{} }()
			d.run(ctx, w, func(j job) (answer, error) { return d.send(ctx, w, j) })
		})
	}
	all.Wait()
}

// send lets an agent run the trial of a job, and stores the files that the agent returns.
func (d *driving) send(ctx context.Context, w work, j job) (answer, error) {
	const starting = 10 * time.Minute // for servers that have to be started, on a busy machine
	limit := min(time.Hour, starting+5*d.setting.Lasts(w.cell))
	a, err := fleet.Do[answer](ctx, d.queue, TaskKind, w.key(), j, limit)
	if errors.Is(err, fleet.ErrRefused) {
		return a, console.Environment(err, "lockbench agent --allow-worker COMMAND allows it")
	}
	if err == nil {
		err = a.store(filepath.Join(d.dir, filepath.FromSlash(j.Dir)))
	}
	return a, err
}

// run runs a trial with the function perform and notes its result.
func (d *driving) run(ctx context.Context, w work, perform func(job) (answer, error)) {
	d.show.begin(w)
	j := job{Trial: d.setting.Task(w.cell, w.n), Dir: w.cell.Dir()}
	if w.cell.Lock.Program != nil {
		j.Worker = d.worker.Portable()
	}
	a, err := perform(j)
	if err == nil && a.Discarded != "" {
		err = discarded(a.Discarded)
	}
	d.show.end(w, a, err)
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.Server != "" { // it is empty if no server was started
		d.manifest.Environment.Saw(run.StoreDoc{Name: w.cell.Lock.Store, Server: a.Server, Durability: a.Durability})
	}
	if a.Host != "" && !slices.Contains(d.hosts, a.Host) {
		d.hosts = append(d.hosts, a.Host)
	}
	if err == nil || ctx.Err() != nil {
		return
	}
	d.failed = cmp.Or(d.failed, err)
	if !errors.Is(err, trial.ErrDiscarded) {
		d.stop()
	}
}

// discarded is the error of a trial whose attempts were all discarded, which an agent returned as text.
type discarded string

func (d discarded) Error() string        { return string(d) }
func (d discarded) Is(target error) bool { return target == trial.ErrDiscarded }

// slots returns the number of trials that this process runs at the same time.
func (r *Runner) slots() int { return cmp.Or(r.jobs, 4*runtime.NumCPU()) }

// classes divides the trials of a run. The first class holds the trials whose performance is compared, which run one at a time.
// The others run at the same time: trials that mostly wait, and trials that keep a core busy. If the flag --jobs is set, they are one
// class.
//
// Each class starts with the first trial of every combination of lock, workload and fault. The second trial of every combination
// follows, and so on. An interrupted run therefore has results for many combinations. In the concurrent classes, successive
// trials use different locks, so few servers of one store are needed at once.
func (r *Runner) classes() (measured class, beside []class) {
	all := func(slots int) int { return slots }
	waiting, busy := class{most: all}, class{most: func(slots int) int { return slots / 4 }}
	for n := range max(r.trials, r.faultTrials) {
		for _, c := range r.cells {
			if n >= r.trialsOf(c) {
				continue
			}
			into := &measured
			if r.concurrent(c) {
				into = &busy
				if c.InProcesses() || c.Workload.Waits || r.jobs > 1 {
					into = &waiting
				}
			}
			into.of = append(into.of, work{c, n})
		}
	}
	for _, c := range []class{waiting, busy} {
		slices.SortStableFunc(c.of, func(a, b work) int {
			return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.cell.Workload.Name, b.cell.Workload.Name), cmp.Compare(a.cell.Fault.Name, b.cell.Fault.Name))
		})
	}
	return measured, []class{waiting, busy}
}

// concurrent reports whether trials with a certain lock, workload and fault (parameter c) may run concurrently with
// other trials. On a user's external servers, trials must run one at a time.
func (r *Runner) concurrent(c trial.Cell) bool {
	switch {
	case r.servers.How == servers.External || r.jobs == 1 && !r.fleet.Shared():
		return false
	case r.jobs > 1:
		return true
	}
	forVerdict := c.Workload.Verdict && len(r.workloads) == 0 && !r.thorough
	return c.Fault.Name != "none" || c.Workload.Waits || forVerdict || c.Lock.Store == "" || len(r.scenarios) > 0
}
