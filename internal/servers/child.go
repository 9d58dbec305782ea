package servers

import (
	"fmt"
	"os/exec"
	"time"
)

const (
	endWithin = 5 * time.Second // bounds the end of what has no choice
	politely  = 2 * time.Second // bounds the end of what was asked to
)

// child is a process of ours. It is waited for from its first moment, so that it never stays a zombie.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has been reaped
}

// watch takes a command that was started; reaped is called when it has ended, before done is closed.
func watch(cmd *exec.Cmd, reaped func()) *child {
	c := &child{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is in cmd.ProcessState
		reaped()
		close(c.done)
	}()
	return c
}

// stop asks it to end and, if it will not, kills it: a process that a fault has paused hears no request.
func (c *child) stop(ask func() error) error {
	if err := ask(); err == nil && c.ended(politely) {
		return nil
	}
	return c.kill()
}

func (c *child) kill() error {
	if c.ended(0) {
		return nil
	}
	_ = c.cmd.Process.Kill() // it fails only where the process is gone already
	if !c.ended(endWithin) {
		return fmt.Errorf("process %d is still there %v after being killed", c.cmd.Process.Pid, endWithin)
	}
	return nil
}

// ended waits so long for the end of the process.
func (c *child) ended(within time.Duration) bool {
	select {
	case <-c.done:
		return true
	default:
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-timer.C:
		return false
	}
}
