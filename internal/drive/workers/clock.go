package workers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"lockbench/impls"
	"lockbench/impls/worker"
	"lockbench/internal/world/children"
	"lockbench/internal/world/clock"
)

// Clock starts worker processes whose wall clocks can be moved.
type Clock struct {
	library clock.Library
	dir     string
	started atomic.Int64 // number of processes that were started with the clock
}

// NewClock compiles the library that moves clocks. Close removes it.
func NewClock(ctx context.Context, k *children.Keeper) (*Clock, error) {
	if err := clock.Missing(); err != nil {
		return nil, err
	}
	dir, err := k.Folder()
	if err != nil {
		return nil, err
	}
	library, err := clock.Build(ctx, k, dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Clock{library: library, dir: dir}, nil
}

// Close removes the files of the clock.
func (c *Clock) Close() error { return os.RemoveAll(c.dir) }

// Start is like the function Start, but MoveClock can move the wall clock of the process.
func (c *Clock) Start(ctx context.Context, k *children.Keeper, of impls.Program, open worker.Open, renewed func(impls.Grant, time.Duration, error)) (*Process, error) {
	b := usualBounds()
	b.ready = max(b.ready, min(of.Start, mostStart))
	open.Version = of.Version
	return startWithin(ctx, b, k, of.Command, open, renewed, c)
}

// useClock makes the process use a clock. It returns the environment variables that the process needs. c may be nil.
func (p *Process) useClock(c *Clock) (env []string, err error) {
	if c == nil {
		return nil, nil
	}
	path := filepath.Join(c.dir, fmt.Sprint("offset", c.started.Add(1)))
	if p.clock, err = clock.NewOffset(path); err != nil {
		return nil, fmt.Errorf("map the clock offset: %w", err)
	}
	return c.library.Env(path), nil
}

// freeClock unmaps the offset of the clock.
func (p *Process) freeClock() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.clock
	if c == nil {
		return nil
	}
	p.clock = nil
	return c.Close()
}

const (
	clockTimeout   = 2 * time.Second       // time limit for the process to state the moved clock
	clockTolerance = 20 * time.Millisecond // allowed deviation of the moved clock, for rounding and clock adjustment
)

// HasClock reports whether the wall clock of the process may be movable.
func (p *Process) HasClock() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clock != nil
}

// ClockMoved reports whether the wall clock of the process was moved.
func (p *Process) ClockMoved() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.moved
}

// MoveClock moves the wall clock of the process forward, or back if by is negative. It returns an error unless the process itself
// then states the moved time.
func (p *Process) MoveClock(ctx context.Context, by time.Duration) error {
	before, err := p.ahead(ctx)
	if err != nil {
		return err
	}
	if err := p.addToClock(by); err != nil {
		return err
	}
	return p.verifyClock(ctx, before+by)
}

// addToClock moves the wall clock of the process, without verifying the move.
func (p *Process) addToClock(by time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clock == nil {
		return errors.New("the process was started without a clock that can be moved, or has ended")
	}
	p.clock.Add(by)
	p.moved = true
	return nil
}

// verifyClock returns an error unless the wall clock of the process is ahead of the machine's clock by the given time.
func (p *Process) verifyClock(ctx context.Context, want time.Duration) error {
	ahead, err := p.ahead(ctx)
	if err != nil {
		return err
	}
	if off := ahead - want; off.Abs() > clockTolerance {
		return errors.New("its time did not change: it does not read the clock with the C library, for example because it is statically linked")
	}
	return nil
}

// ErrBriefDrift is returned if a clock has gained too little for the change to be verified.
var ErrBriefDrift = errors.New("the clock drifted too briefly to be verified")

// driftStep is the time between two small moves of a drifting clock.
const driftStep = time.Millisecond

// DriftClock makes the wall clock of the process gain the given time in each second. A negative time slows the clock. The function
// stop ends the drift. It returns an error unless the process itself then states the time that was gained.
func (p *Process) DriftClock(ctx context.Context, perSecond time.Duration) (stop func() error, err error) {
	before, err := p.ahead(ctx)
	if err != nil {
		return nil, err
	}
	drifting, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	var gained time.Duration
	go func() { done <- p.drift(drifting, perSecond, &gained) }()
	return func() error {
		end()
		if err := <-done; err != nil {
			return err
		}
		if gained.Abs() <= 2*clockTolerance {
			return fmt.Errorf("%w: it gained %v", ErrBriefDrift, gained)
		}
		return p.verifyClock(context.Background(), before+gained)
	}, nil
}

// drift moves the clock in small steps until ctx is done, or until the process has ended.
func (p *Process) drift(ctx context.Context, perSecond time.Duration, gained *time.Duration) error {
	tick := time.NewTicker(driftStep)
	defer tick.Stop()
	for start := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		due := time.Duration(time.Since(start).Seconds() * float64(perSecond))
		if err := p.addToClock(due - *gained); err != nil {
			return err
		}
		*gained = due
	}
}

// ahead returns how far the wall clock of the process is ahead of the machine's clock. The answer must be quick, because it is
// compared with the time of the request.
func (p *Process) ahead(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, clockTimeout)
	defer cancel()
	for {
		asked := time.Now()
		line, err := p.call(ctx, worker.Request{Do: "ping", Time: true}, 0)
		took := time.Since(asked)
		switch {
		case err != nil:
			return 0, err
		case line.TimeMS == 0:
			return 0, errors.New("it does not state its time in the reply to a ping")
		case took < clockTolerance:
			return time.UnixMilli(line.TimeMS).Sub(asked.Round(0)), nil
		case ctx.Err() != nil:
			return 0, fmt.Errorf("it takes %v to state its time", took.Round(time.Millisecond))
		}
	}
}
