// Package workers runs worker processes: programs with a lock that speak the protocol of impls/worker. Start takes a command
// and returns a Process. A Process offers the lock and the guarded resource to workloads, and can be paused and killed.
package workers

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"lockbench/impls"
	"lockbench/impls/worker"
	"lockbench/internal/world/children"
	"lockbench/internal/world/clock"
	"lockbench/workloads"
)

type bounds struct {
	ready  time.Duration // time limit from the start of the process to its first line
	answer time.Duration // time limit for an answer, in addition to the wait of the request; longer than any pause that a fault causes
	giveUp time.Duration // time limit from a cancel request to the answer
	end    time.Duration // time limit for the process to exit after a shutdown request, or after the end of its output
	write  time.Duration // time limit for writing a request
}

func usualBounds() bounds {
	return bounds{ready: 10 * time.Second, answer: 10 * time.Second, giveUp: time.Second, end: 3 * time.Second, write: 5 * time.Second}
}

// Process is a running worker process.
type Process struct {
	Ready   worker.Ready
	bounds  bounds
	child   *children.Child
	log     children.Tail
	renewed func(impls.Grant, time.Duration, error)
	gone    chan struct{} // closed when the output of the process has ended
	left    chan struct{} // closed when the clients of the process have ended, although the process may go on; see Exit

	writing sync.Mutex // guards the input pipe below; separate from mu, so that replies can be read while a write blocks
	in      *os.File

	mu      sync.Mutex // guards the fields below
	last    int64
	waiting map[int64]chan worker.Line
	given   map[int64]worker.Request // unanswered requests whose callers no longer wait
	held    holds
	ended   bool          // whether Kill or Close was called
	failed  error         // first failure, such as a protocol violation
	clock   *clock.Offset // offset of the wall clock; nil: the process uses the machine's clock, or has ended
	moved   bool          // whether the wall clock was moved
}

// ErrSlowStart is the error for a running worker process that has not written its first line in time.
var ErrSlowStart = errors.New("it wrote no first line")

// Start starts a worker process and waits for its first line of output. It calls renewed for each renewal that the lock
// makes by itself; see impls.Env. When lockbench ends, the Keeper k kills the process.
func Start(ctx context.Context, k *children.Keeper, of impls.Program, open worker.Open, renewed func(impls.Grant, time.Duration, error)) (*Process, error) {
	b := usualBounds()
	b.ready = max(b.ready, min(of.Start, mostStart))
	open.Version = of.Version
	return startWithin(ctx, b, k, of.Command, open, renewed, nil)
}

// cancelGrace is the delay from the end of an acquire's wait to the cancel request. During this delay, a library with a
// timeout can still answer that the lock is busy.
const cancelGrace = 100 * time.Millisecond

const (
	mostStart   = time.Minute      // maximum time to wait for a worker to start, even if the worker announces a longer time
	describedIn = 30 * time.Second // time limit of Describe, which is called before the worker announces its start time
)

func startWithin(ctx context.Context, b bounds, k *children.Keeper, command []string, open worker.Open, renewed func(impls.Grant, time.Duration, error), c *Clock) (*Process, error) {
	p := &Process{bounds: b, renewed: renewed, gone: make(chan struct{}), left: make(chan struct{}), waiting: map[int64]chan worker.Line{},
		given: map[int64]worker.Request{}, held: holds{}}
	env, err := p.useClock(c)
	if err != nil {
		return p, err
	}
	child, in, out, err := k.StartPiped(command, &p.log, env...)
	if err != nil {
		return p, errors.Join(fmt.Errorf("start the worker %q: %w", shown(command), err), p.freeClock())
	}
	p.child, p.in = child, in
	first := make(chan error, 1)
	go func() {
		defer close(p.gone)
		defer out.Close()
		p.read(out, first)
	}()
	if err := p.introduce(ctx, open, first); err != nil {
		_ = p.Kill()
		return p, fmt.Errorf("start the worker %q: %w%s", shown(command), err, &p.log)
	}
	return p, nil
}

// shown returns a command as the user wrote it, without the shell that runs it.
func shown(command []string) string {
	if len(command) == 3 && command[1] == "-c" {
		return strings.TrimPrefix(command[2], "exec ")
	}
	return strings.Join(command, " ")
}

func (p *Process) introduce(ctx context.Context, open worker.Open, first <-chan error) error {
	open.Version = cmp.Or(open.Version, worker.Version)
	unread := p.send(open) // the write error is returned only if the process itself reports no error
	select {
	case err := <-first:
		if err == nil && unread != nil {
			err = unread
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(p.bounds.ready):
		return fmt.Errorf("%w within %v", ErrSlowStart, p.bounds.ready)
	}
}

// read reads the first output line of the process. It then sends nil to the channel first, or an error if the line is
// missing or invalid. After a valid line, it reads further lines until the output ends or a line is invalid. Then it
// kills the process.
func (p *Process) read(out *os.File, first chan<- error) {
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 0, 4096), worker.MaxLine)
	if !lines.Scan() {
		first <- fmt.Errorf("it wrote no first line: %w", p.ending(lines.Err()))
		return
	}
	ready, err := worker.ReadReady(lines.Bytes())
	p.Ready = ready
	first <- err
	for err == nil && lines.Scan() {
		var l worker.Line
		if l, err = worker.ReadLine(lines.Bytes()); err == nil {
			err = p.handleLine(l)
		}
	}
	if err == nil {
		err = p.ending(lines.Err())
	}
	p.fail(err)
	_ = p.child.Kill()
}

func (p *Process) ending(err error) error {
	if errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("it wrote a line of more than %d bytes", worker.MaxLine)
	}
	if err != nil {
		return fmt.Errorf("read its output: %w", err)
	}
	select {
	case <-p.child.Done():
		return fmt.Errorf("it exited (%s)", p.child.State())
	case <-time.After(p.bounds.end):
		return errors.New("it closed its standard output")
	}
}

// handleLine handles a line from the process: a report, or an answer to a request. If the caller of an acquire no
// longer waits, handleLine releases the grant.
func (p *Process) handleLine(l worker.Line) error {
	if l.Lost != 0 || l.Renewed != 0 {
		if !p.hasLeft() {
			p.notice(l)
		}
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.ID > p.last {
		return fmt.Errorf("it answered request %d, which was never sent", l.ID)
	}
	if answer, ok := p.waiting[l.ID]; ok {
		delete(p.waiting, l.ID)
		answer <- l
		return nil
	}
	if asked, ok := p.given[l.ID]; ok {
		delete(p.given, l.ID)
		delete(p.held, l.ID)
		if l.OK && asked.Do == "acquire" { // a grant whose caller no longer waits
			back := worker.RequestOn("release", grantOf(asked, l))
			p.last++
			back.ID = p.last
			p.given[back.ID] = back
			go p.tell(back)
		}
		return nil
	}
	return fmt.Errorf("it answered request %d twice", l.ID)
}

// call sends a request and waits for its answer. The time limit is wait plus bounds.answer. If wait is negative, there
// is no limit. If call fails, the outcome of the request is unknown.
func (p *Process) call(ctx context.Context, r worker.Request, wait time.Duration) (worker.Line, error) {
	answer, id, err := p.ask(r)
	if err != nil {
		return worker.Line{}, err
	}
	bound := max(0, wait) + p.bounds.answer
	timer := time.NewTimer(bound)
	defer timer.Stop()
	var deadline <-chan time.Time // fires when an overdue acquire must be cancelled; nil if the worker cannot cancel
	if wait > 0 && p.Can(worker.CanCancel) {
		deadline = time.After(wait + cancelGrace)
	}
	for {
		select {
		case l := <-answer:
			return l, nil
		case <-p.gone:
			return p.lastWord(answer)
		case <-p.left:
			return p.lastWord(answer)
		case <-ctx.Done():
			return p.giveUp(ctx, id, r, answer)
		case <-deadline:
			_ = p.tell(worker.Request{Do: "cancel", Hold: id})
			continue
		case <-timer.C:
		}
		if wait >= 0 {
			p.hung(fmt.Errorf("it did not answer a request (%s) within %v", r.Do, bound))
			return p.lastWord(answer)
		}
		go func() { _ = p.Running(ctx) }() // Running pings the worker, and kills the process if the worker does not answer
		timer.Reset(bound)
	}
}

func (p *Process) lastWord(answer <-chan worker.Line) (worker.Line, error) {
	select {
	case l := <-answer:
		return l, nil
	default:
		return worker.Line{}, p.reason(workloads.ErrGone)
	}
}

func (p *Process) ask(r worker.Request) (chan worker.Line, int64, error) {
	p.mu.Lock()
	p.last++
	r.ID = p.last
	answer := make(chan worker.Line, 1)
	p.waiting[r.ID] = answer
	if r.Do == "acquire" {
		p.held.begin(r.ID)
	}
	p.mu.Unlock()
	if err := p.tell(r); err != nil {
		return nil, 0, err
	}
	return answer, r.ID, nil
}

// giveUp cancels a request and waits a short time for its answer.
func (p *Process) giveUp(ctx context.Context, id int64, r worker.Request, answer <-chan worker.Line) (worker.Line, error) {
	if p.Ready.Version == 1 || p.Can(worker.CanCancel) { // a worker of protocol version 1 cannot announce that it can cancel
		_ = p.tell(worker.Request{Do: "cancel", Hold: id})
	}
	select {
	case l := <-answer:
		return l, nil
	case <-p.gone:
		return p.lastWord(answer)
	case <-p.left:
		return p.lastWord(answer)
	case <-time.After(p.bounds.giveUp):
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting[id] == nil { // the answer has arrived in the meantime
		return <-answer, nil
	}
	delete(p.waiting, id)
	r.ID = id
	p.given[id] = r
	return worker.Line{}, ctx.Err()
}

// tell writes a line to the process. If writing fails, it kills the process and returns the cause.
func (p *Process) tell(v any) error {
	err := p.send(v)
	switch {
	case p.hasLeft():
		return workloads.ErrGone
	case err == nil:
		return nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.hung(fmt.Errorf("it did not read a request within %v", p.bounds.write))
		return p.reason(workloads.ErrGone)
	}
	select {
	case <-p.gone: // the goroutine that reads the output has recorded the cause
	case <-time.After(p.bounds.end):
		p.hung(fmt.Errorf("it no longer reads its standard input: %w", err))
	}
	return p.reason(workloads.ErrGone)
}

func (p *Process) send(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	_ = p.in.SetWriteDeadline(time.Now().Add(p.bounds.write)) // ignore the error: some pipes support no deadline, but killing the process also ends a blocked write
	_, err = p.in.Write(append(text, '\n'))
	return err
}

func (p *Process) hung(why error) {
	p.fail(why)
	_ = p.child.Kill()
}

func (p *Process) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil && !p.ended {
		p.failed = err
	}
}

func (p *Process) reason(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil {
		return fmt.Errorf("%w: %w", err, p.failed)
	}
	return err
}

// Failed returns the error that made the process fail, such as an early exit, or nil.
func (p *Process) Failed() error {
	p.mu.Lock()
	err := p.failed
	p.mu.Unlock()
	if err == nil {
		return nil
	}
	select { // wait until all output of the process was logged
	case <-p.child.Done():
	case <-time.After(p.bounds.end):
	}
	return fmt.Errorf("the worker %s: %w%s", p.Ready.Name, err, &p.log)
}

// Can reports whether the process has announced a capability.
func (p *Process) Can(capability string) bool {
	return slices.Contains(p.Ready.Capabilities, capability)
}

// Running returns nil if the process answers a ping. Otherwise it returns an error.
func (p *Process) Running(ctx context.Context) error {
	l, err := p.call(ctx, worker.Request{Do: "ping"}, 0)
	return outcome(l, err)
}
