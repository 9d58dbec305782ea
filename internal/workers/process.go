// Package workers runs the processes that clients and their locks live in: programs that speak the protocol
// of impls/worker. A process can be stopped, and killed, as no goroutine can. Seen from a workload it is a
// lock, and a way to what the lock guards.
package workers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"lockbench/impls"
	"lockbench/impls/worker"
	"lockbench/internal/children"
	"lockbench/workloads"
)

const (
	readyWithin  = 10 * time.Second // from its start to its first line
	answerWithin = 10 * time.Second // beyond what it was asked to wait for; a process paused by a fault takes part of it
	giveUpWithin = time.Second      // from the end of a caller's patience to the answer
	endWithin    = 3 * time.Second  // from being asked to shut down to its end
	writeWithin  = 5 * time.Second  // until a process that reads nothing counts as hung
)

// Process is a worker seen from outside.
type Process struct {
	Ready   worker.Ready
	child   *children.Child
	in      *os.File
	log     *tail
	renewed func(impls.Grant, time.Duration, error)
	gone    chan struct{} // closed when nothing can be expected of it any more

	mu      sync.Mutex // guards what follows, and the writing of lines
	last    int64
	waiting map[int64]chan worker.Line
	given   map[int64]worker.Request // acquires that nobody waits for any more
	held    holds
	ended   bool  // by us
	failed  error // what it did wrong
}

// Start starts a command as a worker and returns when it has said what it is. renewed is told of renewals
// that the lock makes by itself; see impls.Env. A process that was started ends with its keeper at the latest.
func Start(ctx context.Context, k *children.Keeper, command []string, open worker.Open, renewed func(impls.Grant, time.Duration, error)) (*Process, error) {
	p := &Process{log: newTail(), renewed: renewed, gone: make(chan struct{}), waiting: map[int64]chan worker.Line{},
		given: map[int64]worker.Request{}, held: holds{}}
	out, err := p.start(k, command)
	if err != nil {
		return nil, fmt.Errorf("start the worker %q: %w", command, err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 0, 4096), worker.MaxLine)
	open.Version = worker.Version
	first := make(chan error, 1)
	go func() {
		defer out.Close()
		p.read(lines, first)
	}()
	if err = p.write(open); err == nil {
		timer := time.NewTimer(readyWithin)
		defer timer.Stop()
		select {
		case err = <-first:
		case <-ctx.Done():
			err = ctx.Err()
		case <-timer.C:
			err = fmt.Errorf("it wrote no first line within %v", readyWithin)
		}
	}
	if err != nil {
		p.fail(err)
		_ = p.Kill()
		return nil, fmt.Errorf("the worker %q: %w%s", command, p.reason(err), p.log.said())
	}
	return p, nil
}

// start starts it with pipes of our own: those of os/exec are closed before they are read to their end.
func (p *Process) start(k *children.Keeper, command []string) (out *os.File, err error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	defer theirOut.Close()
	theirErr, err := p.log.pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	defer theirErr.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, theirErr
	p.in = in
	if p.child, err = k.Start(cmd); err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	return out, nil
}

// read reads what it writes until that ends; the first line goes to Start.
func (p *Process) read(lines *bufio.Scanner, first chan<- error) {
	defer close(p.gone)
	if !lines.Scan() {
		first <- errors.Join(errors.New("it ended without a first line"), lines.Err())
		return
	}
	ready, err := worker.ReadReady(lines.Bytes())
	p.Ready = ready
	first <- err
	for err == nil && lines.Scan() {
		var l worker.Line
		if l, err = worker.ReadLine(lines.Bytes()); err == nil {
			p.take(l)
		}
	}
	if err == nil {
		err = lines.Err()
	}
	if err == nil {
		err = errors.New("it ended by itself")
	}
	p.fail(err)
}

// take takes a line in: a notice, an answer that somebody waits for, or one that nobody does any more.
func (p *Process) take(l worker.Line) {
	if l.Lost != 0 || l.Renewed != 0 {
		p.notice(l)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if answer, ok := p.waiting[l.ID]; ok {
		delete(p.waiting, l.ID)
		answer <- l
		return
	}
	if asked, ok := p.given[l.ID]; ok {
		delete(p.given, l.ID)
		if l.OK { // granted to somebody who has gone away: nobody else would give it back
			back := worker.RequestOn("release", grantOf(asked, l))
			p.last++
			back.ID = p.last
			_ = p.send(back)
		}
	}
}

// call asks for something and waits for the answer, so long beyond the answerWithin that everything has. An
// error is indeterminate.
func (p *Process) call(ctx context.Context, r worker.Request, within time.Duration) (worker.Line, error) {
	answer, id, err := p.ask(r)
	if err != nil {
		return worker.Line{}, err
	}
	timer := time.NewTimer(within + answerWithin)
	defer timer.Stop()
	if within < 0 {
		timer.Stop()
	}
	select {
	case l := <-answer:
		return l, nil
	case <-p.gone:
		return worker.Line{}, p.reason(workloads.ErrGone)
	case <-timer.C:
		p.fail(fmt.Errorf("it did not answer a request (%s) within %v", r.Do, within+answerWithin))
		_ = p.child.Kill()
		return worker.Line{}, p.reason(workloads.ErrGone)
	case <-ctx.Done():
		return p.giveUp(ctx, id, r, answer)
	}
}

func (p *Process) ask(r worker.Request) (chan worker.Line, int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	r.ID = p.last
	answer := make(chan worker.Line, 1)
	p.waiting[r.ID] = answer
	if r.Do == "acquire" {
		p.held.begin(r.ID)
	}
	if err := p.send(r); err != nil {
		delete(p.waiting, r.ID)
		return nil, 0, err
	}
	return answer, r.ID, nil
}

// giveUp tells the process that the caller's patience is over, and leaves it a moment to answer.
func (p *Process) giveUp(ctx context.Context, id int64, r worker.Request, answer <-chan worker.Line) (worker.Line, error) {
	_ = p.write(worker.Request{Do: "cancel", Hold: id})
	timer := time.NewTimer(giveUpWithin)
	defer timer.Stop()
	select {
	case l := <-answer:
		return l, nil
	case <-p.gone:
		return worker.Line{}, p.reason(workloads.ErrGone)
	case <-timer.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, id)
	if r.Do == "acquire" {
		r.ID = id
		p.given[id] = r
	}
	return worker.Line{}, ctx.Err()
}

func (p *Process) write(v any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.send(v)
}

// send writes a line; the mutex is held.
func (p *Process) send(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_ = p.in.SetWriteDeadline(time.Now().Add(writeWithin)) // where pipes have none, a process that is killed ends the wait
	if _, err := p.in.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("%w: %w", workloads.ErrGone, err)
	}
	return nil
}

// fail keeps the first thing that it did wrong.
func (p *Process) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil && !p.ended {
		p.failed = err
	}
}

// reason adds what it did wrong to an error.
func (p *Process) reason(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil && !errors.Is(err, p.failed) {
		return fmt.Errorf("%w: %w", err, p.failed)
	}
	return err
}

// Failed is what the process did wrong: it wrote what nobody understands, did not answer, or ended by itself.
// It is nil for one that did nothing but what it was told to.
func (p *Process) Failed() error {
	p.mu.Lock()
	err := p.failed
	p.mu.Unlock()
	if err == nil {
		return nil
	}
	return fmt.Errorf("the worker %s: %w%s", p.Ready.Name, err, p.log.said())
}

// Can tells whether it has a capability.
func (p *Process) Can(capability string) bool {
	return slices.Contains(p.Ready.Capabilities, capability)
}

// Running returns when the process is seen to run.
func (p *Process) Running(ctx context.Context) error {
	l, err := p.call(ctx, worker.Request{Do: "ping"}, 0)
	return outcome(l, err)
}

// Pause stops the process where it is, and returns when that is seen. Resume has it go on.
func (p *Process) Pause() error  { return p.child.Pause() }
func (p *Process) Resume() error { return p.child.Resume() }

// Kill ends it at once, and returns when it has ended.
func (p *Process) Kill() error {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	err := p.child.Kill()
	return errors.Join(err, p.shut())
}

// shut lets go of the pipes once the process has ended.
func (p *Process) shut() error {
	timer := time.NewTimer(endWithin)
	defer timer.Stop()
	select {
	case <-p.gone:
	case <-timer.C: // somebody else has its output open, say a child of its own in another group
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.in.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// Close asks it to shut down, as Close of a lock does, and kills it if it does not.
func (p *Process) Close() error {
	p.mu.Lock()
	p.ended = true
	_ = p.send(worker.Request{Do: "shutdown"})
	_ = p.in.Close()
	p.mu.Unlock()
	timer := time.NewTimer(endWithin)
	defer timer.Stop()
	select {
	case <-p.child.Done():
	case <-timer.C:
	}
	return p.Kill()
}
