package trial

import (
	"context"
	"errors"
	"fmt"

	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/inject"
	"lockbench/internal/drive/workers"
	"lockbench/internal/world/servers"
)

// states maps an action to the server state that it causes.
var states = map[faults.Verb]servers.State{
	faults.Empty: servers.Empty, faults.ForgetScripts: servers.Scriptless, faults.ReadOnly: servers.ReadOnly, faults.Full: servers.Full,
}

// enter puts the servers of an action into a state.
func (w *world) enter(ctx context.Context, a faults.Action) (inject.Effect, error) {
	var leaves []func() error
	var errs []error
	for _, i := range a.Nodes {
		leave, err := w.trial.group.Nodes[i].Enter(ctx, states[a.Verb])
		errs = append(errs, err)
		if leave != nil {
			leaves = append(leaves, leave)
		}
	}
	return effectOf(leaves), errors.Join(errs...)
}

// stop pauses or kills a process or lets it exit, or all processes that faults may affect.
func (w *world) stop(a faults.Action) (inject.Effect, error) {
	var errs []error
	var resumes []func() error
	for _, i := range w.affected(a) {
		p := w.processes[i]
		switch a.Verb {
		case faults.Kill:
			errs = append(errs, p.Kill())
			continue
		case faults.Exit:
			errs = append(errs, p.Exit())
			continue
		}
		if p.Ended() { // an earlier step has killed it
			errs = append(errs, fmt.Errorf("%w: process %d has ended", inject.ErrNoVictim, i))
			continue
		}
		w.stalls.excuse(i, true)
		errs = append(errs, p.Pause())
		resumes = append(resumes, func() error {
			defer w.stalls.excuse(i, false)
			if p.Ended() { // a later step has killed it during the pause
				return nil
			}
			return p.Resume()
		})
	}
	return effectOf(resumes), errors.Join(errs...)
}

// affected returns the numbers of the processes that an action affects.
func (w *world) affected(a faults.Action) (all []int) {
	if a.Process >= 0 {
		return []int{a.Process}
	}
	for p := range w.scene.Processes {
		all = append(all, p)
	}
	return all
}

// moveClocks moves the wall clocks of processes.
func (w *world) moveClocks(ctx context.Context, a faults.Action) error {
	var errs []error
	for _, i := range w.affected(a) {
		errs = append(errs, w.processes[i].MoveClock(ctx, a.By))
	}
	return errors.Join(errs...)
}

// driftClocks changes the rate of the wall clocks of processes. The effect is verified at its end.
func (w *world) driftClocks(ctx context.Context, a faults.Action) (inject.Effect, error) {
	var errs []error
	var stops []func() error
	for _, i := range w.affected(a) {
		p := w.processes[i]
		if p.Ended() { // an earlier step has killed it
			errs = append(errs, fmt.Errorf("%w: process %d has ended", inject.ErrNoVictim, i))
			continue
		}
		stop, err := p.DriftClock(ctx, a.By)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		stops = append(stops, func() error {
			err := stop()
			switch {
			case p.Ended(): // a later step has killed it
				return nil
			case errors.Is(err, workers.ErrBriefDrift):
				return fmt.Errorf("%w: %w", inject.ErrNoVictim, err)
			}
			return err
		})
	}
	return effectOf(stops), errors.Join(errs...)
}

// callAll calls all functions and joins their errors.
func callAll(all []func() error) error {
	var errs []error
	for _, do := range all {
		errs = append(errs, do())
	}
	return errors.Join(errs...)
}
