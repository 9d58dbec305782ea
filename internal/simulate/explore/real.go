package explore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockbench/internal/drive/trial"
	"lockbench/internal/simulate/sim"
)

// Real runs cases with real processes and servers. Several cases run at the same time, each on a separate stage. The
// stages live on between the cases.
type Real struct {
	setting trial.Setting
	run     func() string // returns a new run ID
	slots   chan struct{}

	mu     sync.Mutex
	idle   map[string][]*trial.Stage // by stageName
	stages int                       // idle or in use
}

// NewReal returns an engine that runs at most the given number of cases at the same time. The function run returns a new
// run ID for each stage, so that the keys of two stages differ.
func NewReal(s trial.Setting, run func() string, slots int) *Real {
	return &Real{setting: s, run: run, slots: make(chan struct{}, slots), idle: map[string][]*trial.Stage{}}
}

// Size returns the number of cases that can run at the same time.
func (r *Real) Size() int { return cap(r.slots) }

// Batch returns the number of cases in one search. They run one after the other on one stage.
func (r *Real) Batch() uint64 { return 4 }

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

// Minimise is like Subject.Minimise, but on real servers. A violation counts only if it shows again.
func (r *Real) Minimise(ctx context.Context, s Subject, seeds []Seed, most int, timeLimit time.Duration) (Minimised, error) {
	m, err := s.minimise(realRunner{r, ctx}, seeds, most, timeLimit)
	return m, errors.Join(err, ctx.Err())
}

// Repeat runs a case several times and shows a run that violates the property. It returns the rate, and an empty Shown if
// no run does.
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
	for _, all := range r.idle {
		for _, s := range all {
			errs = append(errs, s.Close())
		}
	}
	clear(r.idle)
	return errors.Join(errs...)
}

// hangsAfter is the time after the end of the clients at which a case is interrupted.
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
	if err == nil {
		err = r.ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	p.Header.Expectations = t.Expectations
	if p.Discarded != "" {
		return nil, &Void{p.Discarded}
	}
	return &Run{Case: c, Recorded: sim.Recorded{Memory: p.Memory, Discarded: p.Missed, Strikes: p.Strikes},
		Ops: Operations(p.Lines), Verdict: p.Verdict}, nil
}

// play runs a trial on an idle stage, or on a new one. A stage is not used again after an error.
func (r realRunner) play(cell trial.Cell, c Case) (p trial.Played, err error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-r.ctx.Done():
		return p, r.ctx.Err()
	}
	s, err := r.stage(cell, c.LockParams)
	if err != nil {
		return p, err
	}
	ctx, cancel := context.WithTimeout(r.ctx, c.Params.Duration+hangsAfter)
	defer cancel()
	if p, err = s.Play(ctx, cell); err != nil || ctx.Err() != nil {
		if err == nil && r.ctx.Err() == nil {
			err = fmt.Errorf("%s: no end after %v", cell, c.Params.Duration+hangsAfter)
		}
		return p, errors.Join(err, r.drop(s))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	name := stageName(cell, c.LockParams)
	r.idle[name] = append(r.idle[name], s)
	return p, nil
}

// stage returns an idle stage for the lock, or a new one. If there are as many stages as slots, it closes an idle stage of
// another lock first.
func (r *Real) stage(cell trial.Cell, params map[string]string) (*trial.Stage, error) {
	if s := r.take(stageName(cell, params)); s != nil {
		return s, nil
	}
	r.mu.Lock()
	full := r.stages >= cap(r.slots)
	var others []string
	for name, all := range r.idle {
		if len(all) > 0 {
			others = append(others, name)
		}
	}
	r.mu.Unlock()
	if full && len(others) > 0 {
		if s := r.take(others[0]); s != nil {
			if err := r.drop(s); err != nil {
				return nil, err
			}
		}
	}
	setting := r.setting
	setting.Run = r.run()
	if params != nil {
		setting.LockParams = params
	}
	s, err := setting.Stage(cell.Lock)
	if err == nil {
		r.mu.Lock()
		r.stages++
		r.mu.Unlock()
	}
	return s, err
}

// stageName returns what the trials on one stage have in common: the lock and its parameters.
func stageName(cell trial.Cell, params map[string]string) string {
	return fmt.Sprint(cell.Lock.Name, params)
}

// take removes an idle stage from the list and returns it, or nil.
func (r *Real) take(name string) *trial.Stage {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.idle[name]
	if len(all) == 0 {
		return nil
	}
	last := all[len(all)-1]
	r.idle[name] = all[:len(all)-1]
	return last
}

func (r *Real) drop(s *trial.Stage) error {
	r.mu.Lock()
	r.stages--
	r.mu.Unlock()
	return s.Close()
}
