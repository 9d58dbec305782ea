package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"lockbench/internal/drive/trial"
	"lockbench/internal/drive/workers"
	"lockbench/internal/simulate/sim"
)

// Real runs cases with real processes and servers. Several cases run at the same time, each on a separate stage. A stage
// is used again for later cases.
type Real struct {
	setting trial.Setting
	run     func() string // returns a new run ID
	slots   chan struct{}

	mu   sync.Mutex
	idle []idleStage // idle stages; the first has been idle for the longest time
}

type idleStage struct {
	*trial.Stage
	name string // what its trials share; see stageName
}

// NewReal returns an engine that runs at most slots cases at the same time. The function run returns a new run ID for
// each stage. Thus the keys of two stages differ.
func NewReal(s trial.Setting, run func() string, slots int) *Real {
	return &Real{setting: s, run: run, slots: make(chan struct{}, slots)}
}

// Search runs the cases of consecutive seeds and returns their outcomes in the order of the seeds.
func (r *Real) Search(ctx context.Context, s Subject, from, count uint64) (all []Seed, err error) {
	for seed := from; seed < from+count; seed++ {
		x, err := s.try(realRunner{r, ctx}, seed)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return all, err
		}
		all = append(all, x)
	}
	return all, nil
}

// Confirm runs the case of a failed seed several times and reports whether the violation showed again.
func (r *Real) Confirm(ctx context.Context, s Subject, failed Seed) (bool, error) {
	c, _, err := s.Choose(failed.Seed)
	if err != nil {
		return false, err
	}
	run, _, _ := confirm(realRunner{r, ctx}, c, failed.Fails()[0]) // without a run that ended, nothing showed
	return run != nil, ctx.Err()
}

// Minimise is like Subject.Minimise, but on real servers. A violation counts only if it shows again.
func (r *Real) Minimise(ctx context.Context, s Subject, seeds []Seed, most int, timeLimit time.Duration) (Minimised, error) {
	m, err := s.minimise(realRunner{r, ctx}, seeds, most, timeLimit)
	return m, errors.Join(err, ctx.Err())
}

// Repeat runs a case several times and returns the rate. It shows one run that violates the property. If no run does,
// the returned Shown is empty.
func (r *Real) Repeat(ctx context.Context, c Case, property string, times, width int) (Shown, Rate, error) {
	run, rate, err := repeat(realRunner{r, ctx}, c, property, times)
	if run == nil || err != nil {
		return Shown{}, rate, errors.Join(err, ctx.Err())
	}
	shown, err := run.Show(property, width)
	return shown, rate, err
}

// Close ends all processes and servers. It must not be called while a case runs.
func (r *Real) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, s := range r.idle {
		errs = append(errs, s.Close())
	}
	r.idle = nil
	return errors.Join(errs...)
}

// hangsAfter is the time limit of a case, counted from the end of its clients. After it, the case is interrupted.
const hangsAfter = 90 * time.Second

// realRunner runs cases until the context ends.
type realRunner struct {
	*Real
	ctx context.Context
}

func (realRunner) repeats() bool { return false }

func (r realRunner) run(c Case) (*Run, error) {
	t, err := c.Trial()
	if err != nil {
		return nil, err
	}
	cell, err := c.Cell()
	if err != nil {
		return nil, err
	}
	p, err := r.play(cell, c)
	switch {
	case r.ctx.Err() != nil:
		return nil, r.ctx.Err()
	case errors.Is(err, workers.ErrSlowStart): // the worker once started in time, so the machine is too slow now
		return nil, &Void{err.Error()}
	case err != nil:
		return nil, err
	}
	p.Header.Expectations = t.Expectations
	if p.Discarded != "" {
		return nil, &Void{p.Discarded}
	}
	return &Run{Case: c, Recorded: sim.Recorded{Memory: p.Memory, Discarded: p.Missed, Strikes: p.Strikes},
		Ops: Operations(p.Lines), Verdict: p.Verdict}, nil
}

// play runs a trial on an idle or a new stage. It closes the stage after an error, or if the trial spends it.
func (r realRunner) play(cell trial.Cell, c Case) (p trial.Played, err error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-r.ctx.Done():
		return p, r.ctx.Err()
	}
	s, err := r.stage(cell, c)
	if err != nil {
		return p, err
	}
	ctx, cancel := context.WithTimeout(r.ctx, c.Params.Duration+hangsAfter)
	defer cancel()
	if p, err = s.Play(ctx, cell); err != nil || ctx.Err() != nil {
		if err == nil && r.ctx.Err() == nil {
			err = fmt.Errorf("%s: no end after %v", cell, c.Params.Duration+hangsAfter)
		}
		return p, errors.Join(err, s.Close())
	}
	if cell.Spends() {
		return p, s.Close()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = append(r.idle, idleStage{s, stageName(cell, c)})
	return p, nil
}

// stagesPerSlot is the maximum number of stages for each slot. It is more than one because servers and workers may take longer to
// start than a trial lasts, and a case may need other ones than the case before.
const stagesPerSlot = 2

// stage returns an idle stage for the trial, or a new stage. A trial that spends its stage gets a new one. If there are too many
// stages, an idle one is closed first.
func (r *Real) stage(cell trial.Cell, c Case) (*trial.Stage, error) {
	name := stageName(cell, c)
	if cell.Spends() {
		name = "" // no idle stage has this name
	}
	own, other := r.takeIdleStage(name)
	if own != nil {
		return own, nil
	}
	if other != nil {
		if err := other.Close(); err != nil {
			return nil, err
		}
	}
	setting := r.setting
	setting.Run = r.run()
	if c.LockParams != nil {
		setting.LockParams = c.LockParams
	}
	return setting.Stage(cell.Lock)
}

// stageName returns the same name for cases that can run on one stage without new servers and processes. A worker program gets its
// lease when it is opened, so each lease needs other processes.
func stageName(cell trial.Cell, c Case) string {
	name := fmt.Sprint(cell.Lock.Name, "@", cell.On(), c.LockParams)
	if cell.Lock.Program != nil {
		name += c.Params.TTL.String()
	}
	return name
}

// takeIdleStage removes an idle stage with this name from the list and returns it. If no stage has this name, own is
// nil, and the caller starts a new stage. If there are too many stages, other is one to close first.
func (r *Real) takeIdleStage(name string) (own, other *trial.Stage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.IndexFunc(r.idle, func(s idleStage) bool { return s.name == name }); i >= 0 {
		own = r.idle[i].Stage
		r.idle = slices.Delete(r.idle, i, i+1)
		return own, nil
	}
	if len(r.idle) > 0 && len(r.slots)+len(r.idle) > stagesPerSlot*cap(r.slots) { // the slots include the caller's
		other = r.idle[0].Stage
		r.idle = slices.Delete(r.idle, 0, 1)
	}
	return nil, other
}
