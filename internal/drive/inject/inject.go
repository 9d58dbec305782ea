// Package inject carries out the plan of a fault while clients run. The main type is Injector: it takes a faults.Plan and a
// World, and adds operations to the history. Finish returns the reason why the trial is discarded, if any. Package drive/trial
// implements World for real processes and servers. Package simulate/sim implements World in virtual time.
package inject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/histories"
	"lockbench/impls/waiting"
	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// World holds the processes, servers and network that a plan acts on.
type World interface {
	// ClientsOf returns the clients of a process.
	ClientsOf(process int) []int32
	// Links returns the links between a process and the servers with these indexes. The process -1 means all processes
	// that faults may affect. An empty list of servers means all servers.
	Links(process int, nodes []int) []Link
	// Do carries out an action on a process or servers. It fails if the effect could not be verified.
	Do(context.Context, faults.Action) (Effect, error)
}

// Effect is the result of an action. Heal undoes the action. Seen is called after Heal and returns an error if the
// action had no effect. Both functions may be nil.
type Effect struct {
	Heal func() error
	Seen func() error
}

// ErrNoVictim is the error of World.Do for an action that changed nothing, because there was no client that it could affect.
var ErrNoVictim = errors.New("there was no client to affect")

// Injector carries out a plan while clients run. Clients call At to report their progress. The injector records the start and
// end of each fault in the history.
type Injector struct {
	plan  faults.Plan
	world World
	rec   *histories.Recorder

	work sync.WaitGroup // counts background goroutines that carry out steps or undo their effects
	over context.Context
	end  context.CancelFunc

	mu    sync.Mutex
	seen  map[workloads.Moment]chan struct{}
	steps []*step
}

type step struct {
	Strike
	in   *Injector
	name string // name of the step in the history

	claimed atomic.Bool // whether a matching command has triggered the step

	mu     sync.Mutex
	due    bool  // whether the action was started
	err    error // error of the action, or of undoing it
	vain   error // reason why the action had no effect on a client
	effect Effect
}

// Strike records that a step of a fault plan was carried out.
type Strike struct {
	faults.Step
	From, To time.Duration // start and end of the step's effect; To is histories.StillOpen if the effect never ended
	Clients  []int32       // clients that the step affects; nil for steps that affect servers or the whole network
}

// Strikes returns the steps that were carried out, in order. It must be called after Finish.
func (in *Injector) Strikes() []Strike {
	var all []Strike
	for _, s := range in.steps {
		s.mu.Lock()
		if s.due {
			s.Clients = slices.DeleteFunc(s.victims(), func(c int32) bool { return c == histories.Harness })
			all = append(all, s.Strike)
		}
		s.mu.Unlock()
	}
	slices.SortStableFunc(all, func(a, b Strike) int { return cmp.Compare(a.From, b.From) })
	return all
}

var _ workloads.Director = (*Injector)(nil)

// New returns an injector. The name identifies the plan in the history.
func New(name string, plan faults.Plan, w World, rec *histories.Recorder) *Injector {
	in := &Injector{plan: plan, world: w, rec: rec, seen: map[workloads.Moment]chan struct{}{}}
	in.over, in.end = context.WithCancel(context.Background())
	for _, s := range plan.Steps {
		if s.Do.Verb == faults.Stall { // it lasts as long as the work
			s.For = cmp.Or(s.For, s.Do.By)
		}
		in.steps = append(in.steps, &step{Strike: Strike{Step: s}, in: in, name: cmp.Or(s.Name, name)})
	}
	return in
}

// Begin carries out the steps that must happen before the clients start.
func (in *Injector) Begin() {
	for _, s := range in.steps {
		if s.When.At == (workloads.Moment{}) {
			s.trigger(in.over)
		}
	}
}

// At implements workloads.Director. It is called when a client reaches the point m of its run. It first waits until the
// client's gate opens. Then it ends the faults that end at m, and injects the faults that start at m.
func (in *Injector) At(ctx context.Context, m workloads.Moment) workloads.Order {
	rests := in.rests(m)
	if !rests {
		in.waitAtGate(ctx, m)
	}
	// Wake the clients that wait for m. The faults at m must be injected or ended first.
	defer in.reached(m)
	for _, s := range in.steps {
		if s.Until == m {
			s.end()
		}
	}
	if rests { // the client has finished its last iteration
		return workloads.Order{Rest: true}
	}
	var order workloads.Order
	if m.Client == 0 && m.Iteration < in.plan.Quick {
		order.Stall = time.Millisecond
	}
	for _, s := range in.steps {
		if s.When.At != m {
			continue
		}
		began := time.Now()
		s.trigger(ctx)
		// Servers may restart slowly. Count this time as the holder's work, so that the hold does not outlive its lease.
		if s.Do.Verb == faults.Restart {
			order.Spent += time.Since(began)
		}
		switch {
		case s.Do.Verb == faults.Stall:
			order.Stall = s.Do.By
		case s.Do.Verb == faults.GiveUp, s.Do.Verb == faults.Interrupt:
			order.Wait, order.Cancel = s.Do.Wait, s.Do.Context
		case s.When.Later > 0: // the step happens later; the client does not wait for it
		case s.Do.Verb == faults.Abandon, ends(s.Do.Verb) && s.When.On == nil && slices.Contains(in.world.ClientsOf(s.Do.Process), m.Client):
			order.Leave = true
		}
	}
	return order
}

// ends reports whether an action ends a process.
func ends(v faults.Verb) bool { return v == faults.Kill || v == faults.Exit }

// rests reports whether the client of m has reached its maximum number of iterations.
func (in *Injector) rests(m workloads.Moment) bool {
	return m.Point == workloads.Asking && slices.ContainsFunc(in.plan.Turns, func(t faults.Turns) bool {
		return t.Client == m.Client && m.Iteration >= t.Iterations
	})
}

func (in *Injector) moment(m workloads.Moment) chan struct{} {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.seen[m] == nil {
		in.seen[m] = make(chan struct{})
	}
	return in.seen[m]
}

func (in *Injector) reached(m workloads.Moment) {
	c := in.moment(m)
	select {
	case <-c:
	default:
		close(c) // this point is reached for the first time; wake the clients that wait for it
	}
}

func (in *Injector) waitAtGate(ctx context.Context, m workloads.Moment) {
	if m.Point != workloads.Asking || m.Iteration != 0 {
		return
	}
	for _, g := range in.plan.Gates {
		if g.Client != m.Client {
			continue
		}
		limit, cancel := context.WithTimeout(ctx, g.Timeout)
		select {
		case <-in.moment(g.Until):
		case <-limit.Done():
		case <-in.over.Done():
		}
		cancel()
	}
}

// Finish ends the effects of all steps and waits for background work. If a step failed, was not carried out or had no
// effect, Finish returns the reason to discard the trial. Otherwise it returns "".
func (in *Injector) Finish() (discarded string) {
	in.end()
	for _, s := range in.steps {
		s.end()
	}
	in.work.Wait()
	for _, s := range in.steps {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case s.err != nil || s.vain != nil:
			return fmt.Sprintf("%s could not be verified: %v", s.name, cmp.Or(s.err, s.vain))
		case !s.due:
			return fmt.Sprintf("%s was not injected: its trigger (%s) did not occur", s.name, s.Do.Verb)
		}
	}
	return ""
}

// Failed returns the error of an action that failed or could not be undone. After such a failure, the state of the
// servers and processes is unknown. If no action failed, Failed returns "". An action that affected no client has not failed.
// Call it after Finish.
func (in *Injector) Failed() string {
	for _, s := range in.steps {
		if s.err != nil && !errors.Is(s.err, ErrNoVictim) {
			return fmt.Sprintf("%s failed: %v", s.name, s.err)
		}
	}
	return ""
}

// trigger carries out a step of the fault plan at the time that s.When specifies: at once, after a delay, or when a
// command or reply passes a proxy.
func (s *step) trigger(ctx context.Context) {
	switch {
	case s.When.On != nil:
		s.arm()
	case s.When.Later > 0:
		s.in.work.Go(func() {
			waiting.Pause(s.in.over, s.When.Later)
			if s.in.over.Err() == nil {
				s.do(s.in.over)
			}
		})
	default:
		s.do(ctx)
	}
}

// resetTime is the duration of a reset in the history. The connections are closed at its beginning.
const resetTime = time.Millisecond

func (s *step) do(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.due {
		return
	}
	s.due, s.From, s.To = true, s.in.rec.Since(), histories.StillOpen
	told := s.begin()
	began := time.Now()
	s.effect, s.err = s.in.act(ctx, s.Do)
	told(s.err)
	if s.err != nil && s.effect.Heal != nil { // for example, one of two servers was paused and pausing the other failed
		s.err = errors.Join(s.err, s.effect.Heal())
	}
	left := s.For
	if s.Do.Verb == faults.Reset {
		left = resetTime
	}
	if s.err == nil && left > 0 {
		if s.Do.Verb == faults.Pause { // the process was already paused while the pause was verified; subtract this time
			left -= time.Since(began)
		}
		s.in.work.Go(func() {
			waiting.Pause(s.in.over, left)
			s.end()
		})
	}
}

// end undoes the effect of a step and records this in the history. It does nothing if there is no effect to undo, or if
// it was already undone.
func (s *step) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.due || s.err != nil || s.To != histories.StillOpen || s.effect.Heal == nil && s.For == 0 {
		return
	}
	s.To = s.in.rec.Since()
	var err error
	if s.effect.Heal != nil {
		err = s.effect.Heal()
	}
	for _, client := range s.victims() {
		outcome, problem := outcomeOf(err)
		s.in.rec.Log(client).Note(histories.Op{Kind: histories.Heal, Fault: s.name, Call: s.To, Outcome: outcome, Error: problem})
	}
	if s.err = err; err == nil && s.effect.Seen != nil {
		s.vain = s.effect.Seen()
	}
}

// begin records the start of a fault for each affected client, or for the harness if no client is affected. The returned
// function records whether the injection succeeded.
func (s *step) begin() (told func(error)) {
	op := histories.Op{Kind: histories.Inject, Fault: s.name}
	switch s.Do.Verb {
	case faults.Kill, faults.Exit:
		op.Value = histories.Killed
	case faults.Abandon:
		op.Value = histories.Gone
	case faults.Pause:
		op.Value = histories.Lossless
	case faults.Stall:
		op.Value = histories.Working
	case faults.Delay:
		op.Value = histories.Delayed
	case faults.GiveUp, faults.Interrupt:
		op.Value = histories.Interrupted
	case faults.Unlink:
		op.Value = histories.Replicas
	case faults.Reset:
		if s.in.idle(s.Do) {
			op.Value = histories.Lossless
		}
	}
	var ends []func(histories.Outcome, string)
	for _, client := range s.victims() {
		ends = append(ends, s.in.rec.Log(client).Inject(op))
	}
	return func(err error) {
		for _, end := range ends {
			end(outcomeOf(err))
		}
	}
}

func outcomeOf(err error) (histories.Outcome, string) {
	if err != nil {
		return histories.Unknown, err.Error()
	}
	return histories.OK, ""
}

func (s *step) victims() []int32 {
	if s.When.On != nil && faults.OnItsWay(s.Do.Verb) {
		return s.in.world.ClientsOf(s.When.On.Process) // any client of the process may have sent the command
	}
	switch s.Do.Verb {
	case faults.Stall, faults.Abandon, faults.GiveUp, faults.Interrupt, faults.Delay, faults.Lose:
		return []int32{s.Do.Client}
	case faults.Pause, faults.Kill, faults.Exit, faults.Cut, faults.Reset, faults.ClientJump, faults.ClientDrift:
		return s.in.world.ClientsOf(s.Do.Process)
	}
	return []int32{histories.Harness}
}
