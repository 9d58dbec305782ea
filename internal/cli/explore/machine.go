package explore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/faults"
	"lockbench/internal/fleet"
	"lockbench/internal/simulate/explore"
	"lockbench/internal/simulate/sim"
	"lockbench/internal/world/servers"
)

// setup describes how the cases of a campaign run. A coordinator sends it to agents.
type setup struct {
	Servers  string            `json:"servers,omitempty"` // "": virtual time
	Params   map[string]string `json:"params,omitempty"`
	Worker   *choice.Worker    `json:"worker,omitempty"`      // the user's own lock, or a library
	Shortest time.Duration     `json:"shortest_ns,omitempty"` // shortest lease of the worker's lock, so that all agents draw the same cases

	remote servers.Remote // servers of the user; they are not sent to agents
}

// Machine runs the cases of campaigns on this machine.
type Machine struct {
	Slots   int      // number of cases that run at the same time
	Allowed []string // commands of workers that a coordinator may ask for

	mu      sync.Mutex
	engines []*engine
}

// engine runs the cases of one setup.
type engine struct {
	setup []byte
	cases explore.Cases
	close func() error
	users int // number of tasks that use it
}

// Handler returns the handler for tasks of the kind explore.TaskKind.
func (m *Machine) Handler() fleet.Handler { return explore.Handler(m.prepare) }

// prepare returns the engine for a setup. It closes the engines of other setups that no task uses.
func (m *Machine) prepare(ctx context.Context, text json.RawMessage) (explore.Cases, func(), error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.engines, func(e *engine) bool { return bytes.Equal(e.setup, text) })
	if i < 0 {
		var s setup
		if err := json.Unmarshal(text, &s); err != nil {
			return nil, nil, err
		}
		if err := m.closeIdle(); err != nil {
			return nil, nil, err
		}
		e, err := m.start(ctx, s)
		if err != nil {
			return nil, nil, err
		}
		e.setup, i = text, len(m.engines)
		m.engines = append(m.engines, e)
	}
	e := m.engines[i]
	e.users++
	return e.cases, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		e.users--
	}, nil
}

// open starts the engine for the coordinator's own setup, whose lock is registered already.
func (m *Machine) open(ctx context.Context, s setup, text []byte) error {
	s.Worker = nil
	e, err := m.start(ctx, s)
	if err != nil {
		return err
	}
	e.setup = text
	m.engines = append(m.engines, e)
	return nil
}

func (m *Machine) closeIdle() error {
	var errs []error
	m.engines = slices.DeleteFunc(m.engines, func(e *engine) bool {
		if e.users == 0 {
			errs = append(errs, e.close())
		}
		return e.users == 0
	})
	return errors.Join(errs...)
}

// Close ends all processes and servers. It must not be called while a task runs.
func (m *Machine) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closeIdle()
}

// start starts an engine. The lock of a worker is registered once.
func (m *Machine) start(ctx context.Context, s setup) (*engine, error) {
	if s.Worker != nil {
		if err := m.register(ctx, s); err != nil {
			return nil, err
		}
	}
	if s.Servers != "" {
		real, err := newReal(choice.Servers{How: s.Servers, Remote: s.remote}, s.Params, m.Slots)
		if err != nil {
			return nil, err
		}
		return &engine{cases: real, close: real.Close}, nil
	}
	if err := sim.Supported(); err != nil {
		return nil, console.Environment(err, "lockbench explore --servers local runs cases in real time")
	}
	program, err := explorer()
	if err != nil {
		return nil, err
	}
	pool, err := explore.NewPool(program, m.Slots)
	if err != nil {
		return nil, console.Environment(err, hintExplorer)
	}
	return &engine{cases: pool, close: func() error { pool.Close(); return nil }}, nil
}

// register makes the lock of a worker known to cases on an agent.
func (m *Machine) register(ctx context.Context, s setup) error {
	own, err := s.Worker.OnAgent(ctx, m.Allowed, choice.First{Servers: choice.Servers{How: s.Servers}, Params: s.Params, TTL: faults.UsualTTL})
	if err != nil {
		return err
	}
	own.Shortest = cmp.Or(s.Shortest, own.Shortest)
	explore.Register(own)
	return nil
}
