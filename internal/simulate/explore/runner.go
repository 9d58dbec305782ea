package explore

import (
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// runner runs cases, in virtual time or on real servers.
type runner interface {
	// run runs a case and judges its history. It returns a Void error if the trial says nothing about the lock.
	run(Case) (*Run, error)
	// repeats reports whether the same case always records the same history.
	repeats() bool
}

// virtual runs cases in virtual time.
type virtual struct{}

func (virtual) run(c Case) (*Run, error) { return c.Run() }

func (virtual) repeats() bool { return true }

// unsteady runs a case in virtual time whose history depends on a random choice, such as a select of two ready cases in the lock.
type unsteady struct{ one *sync.Mutex } // runs do not overlap

func (u unsteady) run(c Case) (*Run, error) {
	u.one.Lock()
	defer u.one.Unlock()
	return c.Run()
}

func (unsteady) repeats() bool { return false }

// again runs the case of a seed in virtual time again. If another history is recorded, it returns a runner that repeats cases, and a
// violation must show as often as on real servers. It returns nil if the violation does not show.
func again(c Case, seed Seed, property string) (x runner, found *Run, rate *Rate, err error) {
	found, err = c.Run()
	if err != nil || found.Digest == seed.Digest {
		return virtual{}, found, nil, err
	}
	x = unsteady{new(sync.Mutex)}
	found, of, err := confirm(x, c, property)
	return x, found, &of, err
}

// shows reports whether the failure of a seed in virtual time shows again.
func (s Subject) shows(failed Seed) (bool, error) {
	c, _, err := s.Choose(failed.Seed)
	if err != nil {
		return false, err
	}
	_, found, _, err := again(c, failed, failed.Fails()[0])
	return found != nil, err
}

// Void is the error for a trial that says nothing about the lock. Either the machine was too slow, or an action failed.
type Void struct{ Why string }

func (v *Void) Error() string { return "discarded: " + v.Why }

// Rate states how many of several trials of a case showed its violation.
type Rate struct {
	Shows     int    `json:"shows"`
	Trials    int    `json:"trials"`              // number of trials, without discarded trials
	Discarded int    `json:"discarded,omitempty"` // number of trials that say nothing about the lock
	Why       string `json:"why,omitempty"`       // reason of the last discarded trial
}

// repeat runs a case several times at once. It returns a run that violates the property, or nil, and the rate. It
// returns an error if no run succeeded.
func repeat(x runner, c Case, property string, times int) (*Run, Rate, error) {
	runs, errs := make([]*Run, times), make([]error, times)
	var all errgroup.Group
	for i := range times {
		all.Go(func() error {
			runs[i], errs[i] = x.run(c)
			return nil
		})
	}
	_ = all.Wait() // ignore the error; errs has all errors
	var shown *Run
	var rate Rate
	for i, r := range runs {
		if void := (*Void)(nil); errors.As(errs[i], &void) {
			rate.Discarded, rate.Why = rate.Discarded+1, void.Why
		}
		if errs[i] != nil {
			continue
		}
		if rate.Trials++; slices.Contains(r.Violated(), property) {
			shown = r
			rate.Shows++
		}
	}
	if rate.Trials+rate.Discarded == 0 {
		return nil, rate, errors.Join(errs...)
	}
	return shown, rate, nil
}

// limited lists all properties with a time limit. A busy machine can make a correct lock exceed it.
var limited = []string{"renewal", "progress", "recovery", "prompt-hand-off", "wait-honoured", "responsive", "abandoned-acquire", "loss-notice"}

// confirm runs the case of a violation several times on real servers. It returns nil if the violation does not show again. A
// violation of a property with a time limit must show twice.
func confirm(x runner, c Case, property string) (*Run, Rate, error) {
	run, rate, err := repeat(x, c, property, confirming)
	if rate.Shows < 2 && slices.Contains(limited, property) {
		run = nil
	}
	return run, rate, err
}
