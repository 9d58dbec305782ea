package workers

import (
	"errors"
	"os"
	"time"

	"lockbench/impls/worker"
)

// Pause pauses the process. It returns after the pause has been verified.
func (p *Process) Pause() error { return p.child.Pause() }

// Resume resumes a paused process.
func (p *Process) Resume() error { return p.child.Resume() }

// Ended reports whether the process has ended.
func (p *Process) Ended() bool { return p.child.Ended() }

// Kill kills the process and returns when it has ended.
func (p *Process) Kill() error {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	err := p.child.Kill()
	return errors.Join(err, p.shut())
}

// Exit ends the clients of the process and closes its standard input. The main function of the program then ends, without a
// release. The program exits by itself, unless one of its threads keeps it alive. Close ends it in any case.
func (p *Process) Exit() error {
	p.mu.Lock()
	p.ended = true
	first := !p.hasLeft()
	if first {
		close(p.left)
	}
	p.mu.Unlock()
	if !first {
		return nil
	}
	p.writing.Lock() // a request is written as a whole, or not at all
	defer p.writing.Unlock()
	return p.in.Close()
}

func (p *Process) hasLeft() bool {
	select {
	case <-p.left:
		return true
	default:
		return false
	}
}

// shut closes the pipes after the process has ended.
func (p *Process) shut() error {
	select {
	case <-p.gone:
	case <-time.After(p.bounds.end): // a child process of the worker may keep the output open
	}
	err := p.freeClock()
	if closed := p.in.Close(); closed != nil && !errors.Is(closed, os.ErrClosed) {
		err = errors.Join(err, closed)
	}
	return err
}

// Close asks the process to shut down. If the process does not exit in time, Close kills it.
func (p *Process) Close() error {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	if p.hasLeft() {
		return p.Kill()
	}
	_ = p.send(worker.Request{Do: "shutdown"})
	_ = p.in.Close()
	select {
	case <-p.child.Done():
	case <-time.After(p.bounds.end):
	}
	return p.Kill()
}
