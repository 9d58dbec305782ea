package spread

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/impls/waiting"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/internal/fleet"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// Seat runs the shares of one agent.
type Seat struct {
	Remote servers.Remote                   // servers that this agent may put load on; none: it refuses every share
	Clock  func(time.Time) time.Duration    // the agent's clock
	Dial   func(delay time.Duration) Dialer // returns a dialer that delays each answer

	granted atomic.Pointer[atomic.Int64] // grants of the share under way; nil: none
	running sync.Mutex                   // held while clients run
	mu      sync.Mutex
	now     *share
}

// Dialer opens connections of a lock.
type Dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// share is a share under way, or the latest one.
type share struct {
	id      string
	ctx     context.Context // ends when the share is abandoned
	abandon func()
	run     sync.Once
	ready   chan struct{} // closed when the clients are connected, or when that failed
	err     error         // why it failed; valid once ready is closed
	start   chan start
	ended   chan struct{} // closed when the history is complete
	zero    time.Duration // reading of the clock when the history began
	history bytes.Buffer
}

// Granted returns the number of grants of the share under way. It returns false if no share is under way.
func (s *Seat) Granted() (n int64, ok bool) {
	granted := s.granted.Load()
	if granted == nil {
		return 0, false
	}
	return granted.Load(), true
}

// Calls returns the handlers of an agent.
func (s *Seat) Calls() fleet.Handlers {
	return fleet.Handlers{checkCall: handler(s.check), runCall: handler(s.run), readyCall: handler(s.await), startCall: handler(s.start), historyCall: handler(s.send)}
}

func handler[B, R any](do func(context.Context, B) (R, error)) fleet.Handler {
	return func(ctx context.Context, text json.RawMessage) (any, error) {
		var body B
		if err := json.Unmarshal(text, &body); err != nil {
			return nil, errors.New("the call is not understood")
		}
		return do(ctx, body)
	}
}

// of returns the share with an ID. Calls may arrive in any order, so any of them may create it. A new share replaces the one before.
func (s *Seat) of(id string) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil || s.now.id != id {
		s.now = &share{id: id, ready: make(chan struct{}), start: make(chan start, 1), ended: make(chan struct{})}
		s.now.ctx, s.now.abandon = context.WithCancel(context.Background())
	}
	return s.now
}

// check returns an error unless the user of this agent has named the servers.
func (s *Seat) check(_ context.Context, addresses []string) (none struct{}, err error) {
	if !s.Remote.Named() {
		return none, fmt.Errorf("%w: an agent was started without a server that it may put load on", fleet.ErrRefused)
	}
	var own []string
	for _, t := range s.Remote.Targets {
		own = append(own, t.String())
	}
	for _, address := range addresses {
		if !slices.Contains(own, address) {
			return none, fmt.Errorf("%w: an agent puts load on %s, and not on %s", fleet.ErrRefused, strings.Join(own, ", "), address)
		}
	}
	return none, nil
}

// run prepares a share, waits for the common start, and runs the clients.
func (s *Seat) run(ctx context.Context, of Share) (result done, err error) {
	x := s.of(of.ID)
	err = errors.New("the share was run before")
	x.run.Do(func() { result, err = s.runOnce(ctx, of, x) })
	return result, err
}

func (s *Seat) runOnce(ctx context.Context, of Share, x *share) (result done, err error) {
	s.running.Lock() // an earlier trial that was discarded may still be ending
	defer s.running.Unlock()
	connected := false
	defer func() {
		if close(x.ended); !connected {
			x.err = err
			close(x.ready)
		}
	}()
	if _, err := s.check(ctx, of.Servers); err != nil {
		return result, err
	}
	cell, err := of.cell()
	if err != nil {
		return result, err
	}
	granted := new(atomic.Int64)
	s.granted.Store(granted)
	defer s.granted.Store(nil)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(x.ctx, cancel)()
	params := of.Params
	params.Part = of.Part
	setting := trial.Setting{Run: of.Run, Servers: servers.External, Remote: s.Remote, Params: params, LockParams: of.LockParams, Prefix: of.Prefix,
		Pace: func(ctx context.Context, r trial.Running) { waiting.Pause(ctx, WarmUp+of.Params.Duration-r.Since()) }}
	if of.Delay > 0 {
		setting.Dial = s.Dial(of.Delay)
	}
	var begin start
	err = setting.Share(ctx, cell, granted, func(h histories.Header) (*histories.Recorder, error) {
		connected = true
		close(x.ready)
		if begin, err = s.wait(ctx, x); err != nil {
			return nil, err
		}
		rec, err := histories.NewRecorder(&x.history, h, of.Params.Logs())
		if err == nil {
			x.zero = s.Clock(rec.Started())
		}
		return rec, err
	})
	return done{Zero: x.zero, Late: x.zero - begin.At, Size: x.history.Len()}, err
}

// wait waits for the common start.
func (s *Seat) wait(ctx context.Context, x *share) (begin start, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case begin = <-x.start:
	case <-ctx.Done():
		return begin, errors.New("the trial was not started")
	}
	if !waiting.Pause(ctx, begin.At-s.Clock(time.Now())) {
		return begin, ctx.Err()
	}
	return begin, nil
}

// cell returns what runs. It returns an error if a share cannot run here.
func (of *Share) cell() (c trial.Cell, err error) {
	p := &of.Params
	if err := p.Check(); err != nil {
		return c, err
	}
	if of.Part.Of < 1 || of.Part.Index < 0 || of.Part.Index >= of.Part.Of || p.Duration > time.Hour/2 {
		return c, errors.New("the share of this agent is not possible")
	}
	i := slices.IndexFunc(catalog.All(), func(l impls.Impl) bool { return l.Name == of.Lock })
	w := slices.IndexFunc(workloads.All(), func(w workloads.Workload) bool { return w.Name == of.Workload })
	if i < 0 || w < 0 {
		return c, fmt.Errorf("unknown lock %q or workload %q", of.Lock, of.Workload)
	}
	return trial.Cell{Lock: catalog.All()[i], Deployment: of.Deployment, Workload: workloads.All()[w], Fault: faults.None()}, nil
}

// await waits until the clients of a share are connected.
func (s *Seat) await(ctx context.Context, id string) (none struct{}, err error) {
	x := s.of(id)
	select {
	case <-x.ready:
		return none, x.err
	case <-ctx.Done():
		return none, errors.New("the clients could not connect in time")
	}
}

func (s *Seat) start(_ context.Context, at start) (none struct{}, err error) {
	x := s.of(at.ID)
	if at.Abandon {
		x.abandon()
		return none, nil
	}
	select {
	case x.start <- at:
	default: // it was started before
	}
	return none, nil
}

// send returns a piece of the history of a share that has ended.
func (s *Seat) send(_ context.Context, p piece) (piecemeal, error) {
	x := s.of(p.ID)
	select {
	case <-x.ended:
	default:
		return piecemeal{}, errors.New("the trial has not ended")
	}
	if p.From < 0 || p.From > x.history.Len() {
		return piecemeal{}, errors.New("the history has no such piece")
	}
	rest := x.history.Bytes()[p.From:]
	return piecemeal{rest[:min(len(rest), pieceSize)]}, nil
}
