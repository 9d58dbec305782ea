// Package campaign describes the state of a search, a matrix, or a run with agents, which lockbench serve shows. The process that runs
// it writes the state every second.
package campaign

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"lockbench/reports/run"
)

// StateName is the name of the file with the state, in the folder of the campaign.
const StateName = "campaign.json"

// Version is the version of the file format.
const Version = 1

// writeEvery is the interval between two writes of the state.
const writeEvery = time.Second

// State is the state of a campaign at one time.
type State struct {
	Version     int       `json:"lockbench_campaign"`
	Verb        string    `json:"verb"` // explore, matrix or run
	What        string    `json:"what"` // what is tested, such as the names of locks
	Started     time.Time `json:"started"`
	Written     time.Time `json:"written"`        // time of this state
	Ended       time.Time `json:"ended,omitzero"` // zero: under way
	Interrupted bool      `json:"interrupted,omitempty"`
	Unit        string    `json:"unit"` // what Done and Planned count, in the singular, such as seed
	Done        int       `json:"done"`
	Planned     int       `json:"planned,omitempty"` // 0: as many as the time allows
	Found       string    `json:"found,omitempty"`   // what was found so far, such as a number of violations
	UnderWay    []string  `json:"under_way,omitempty"`
	Agents      []Agent   `json:"agents,omitempty"`
}

// Agent is a process that runs tasks of the campaign, at most Slots at the same time. A task is a batch of seeds, the minimising of a
// counterexample, or the test of a version.
type Agent struct {
	Name    string `json:"name"` // host and process ID
	Slots   int    `json:"slots"`
	Running int    `json:"running"`           // number of tasks that it runs now
	Done    int    `json:"done"`              // number of tasks that it has finished
	Foreign bool   `json:"foreign,omitempty"` // whether it is of another version of lockbench, so that it gets no tasks
}

// Slots returns the number of tasks that run at the same time.
func (s State) Slots() (all int) {
	for _, a := range s.Agents {
		if !a.Foreign {
			all += a.Slots
		}
	}
	return all
}

// PerSecond returns how many units were finished per second, from the start to the end or to this state.
func (s State) PerSecond() float64 {
	until := s.Ended
	if until.IsZero() {
		until = s.Written
	}
	if took := until.Sub(s.Started).Seconds(); took > 0 {
		return float64(s.Done) / took
	}
	return 0
}

// Check returns an error if this lockbench cannot use the state.
func (s State) Check() error {
	switch {
	case s.Version < 1:
		return errors.New(StateName + ` has no "lockbench_campaign", so it is not the state of a campaign`)
	case s.Version > Version:
		return fmt.Errorf("%s has format version %d, this lockbench reads up to version %d: use a newer lockbench", StateName, s.Version, Version)
	}
	return nil
}

// Keeper writes the state of a campaign until End is called.
type Keeper struct {
	file    string
	state   func() State
	started time.Time
	stop    chan struct{}
	ended   sync.WaitGroup
}

// Keep begins to write the state to the folder. It calls state before each write, and sets Version, Written, and Started if it is
// zero. The error is that of the first write.
func Keep(dir string, state func() State) (*Keeper, error) {
	k := &Keeper{file: filepath.Join(dir, StateName), state: state, started: time.Now(), stop: make(chan struct{})}
	if err := k.write(func(*State) {}); err != nil {
		return nil, err
	}
	k.ended.Go(func() {
		tick := time.NewTicker(writeEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = k.write(func(*State) {}) // ignore the error: End returns one if the disk is still full
			case <-k.stop:
				return
			}
		}
	})
	return k, nil
}

func (k *Keeper) write(change func(*State)) error {
	s := k.state()
	s.Version, s.Written = Version, time.Now().UTC()
	if s.Started.IsZero() {
		s.Started = k.started
	}
	s.Started = s.Started.UTC()
	change(&s)
	return run.WriteJSON(k.file, s)
}

// End writes the last state. The text found, if any, replaces what was found before.
func (k *Keeper) End(interrupted bool, found string) error {
	close(k.stop)
	k.ended.Wait()
	return k.write(func(s *State) {
		s.Ended, s.Interrupted, s.UnderWay, s.Found = s.Written, interrupted, nil, cmp.Or(found, s.Found)
		for i := range s.Agents {
			s.Agents[i].Running = 0
		}
	})
}
