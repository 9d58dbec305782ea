// Package children starts child processes that end with the harness, even if the harness is killed. Keeper.Start takes a
// command and returns a Child. A Child and all its descendants can be paused, resumed and killed together.
package children

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const (
	killTimeout   = 5 * time.Second // time limit for a killed process to end
	stopTimeout   = 2 * time.Second // time limit for a process to end after a request to stop
	signalTimeout = time.Second     // time limit for a pause or resume to take effect
	pollInterval  = time.Millisecond
)

// Child is a child process with its process group. It includes descendants in other process groups if the system can
// list them. The child process is reaped as soon as it ends.
type Child struct {
	cmd  *exec.Cmd
	done chan struct{}                // closed when the process has been reaped
	tell func(verb, arg string) error // sends a request to the keeper, the helper process that kills the children when lockbench ends
}

// watch waits in the background until a started command has ended. It then kills the rest of the process group, calls
// reaped, and closes Child.done.
func watch(cmd *exec.Cmd, reaped func()) *Child {
	c := &Child{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()                 // ignore the error; cmd.ProcessState holds the exit status
		_ = killGroup(cmd.Process.Pid) // kill the rest of the process group
		reaped()
		close(c.done)
	}()
	return c
}

// Pid returns the process ID, which is also the process group ID. The system may reuse the ID after the child has
// ended.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Done returns a channel that is closed when the child process has ended and been reaped.
func (c *Child) Done() <-chan struct{} { return c.done }

// State returns the exit status, such as "exit status 3" or "signal: killed". For a running or paused process it returns
// "running".
func (c *Child) State() string {
	if !c.Ended() {
		return "running"
	}
	return c.cmd.ProcessState.String()
}

// Pause pauses every process of the child and returns when all threads are stopped. If Pause fails, it resumes the
// processes. A paused process can still be killed. Data that is sent to it waits in the system's buffers.
func (c *Child) Pause() error {
	if err := c.signal(pauseGroup); err != nil {
		return err
	}
	if err := c.await("stop", func(states string) bool {
		if strings.Count(states, paused) == len(states) {
			return true
		}
		c.pauseOtherGroups()
		return false
	}); err != nil {
		return errors.Join(err, c.Resume())
	}
	return nil
}

// pauseOtherGroups pauses descendants in other process groups. First it asks the keeper to kill these groups if
// lockbench ends during the pause.
func (c *Child) pauseOtherGroups() {
	for _, group := range otherGroups(c.Pid()) {
		if c.tell == nil || c.tell("kill", strconv.Itoa(group)) == nil {
			_ = pauseGroup(group) // the caller checks that all threads have stopped
		}
	}
}

// Resume resumes every process of the child and returns when no thread is stopped.
func (c *Child) Resume() error {
	if err := c.signal(resumeGroup); err != nil {
		return err
	}
	for _, group := range otherGroups(c.Pid()) {
		_ = resumeGroup(group) // ignore the error; await, called below, fails if a thread is still stopped
		if c.tell != nil {
			_ = c.tell("forget", strconv.Itoa(group))
		}
	}
	return c.await("resume", func(states string) bool { return !strings.Contains(states, paused) })
}

// paused is the state letter of a stopped thread in /proc.
const paused = "T"

func (c *Child) signal(send func(leader int) error) error {
	if c.Ended() {
		return fmt.Errorf("signal process %d: it has ended (%s)", c.Pid(), c.State())
	}
	if err := send(c.Pid()); err != nil {
		return fmt.Errorf("signal the group of process %d: %w", c.Pid(), err)
	}
	return nil
}

func (c *Child) await(what string, is func(states string) bool) error {
	for deadline := time.Now().Add(signalTimeout); ; time.Sleep(pollInterval) {
		states, err := threadStates(c.Pid())
		switch {
		case err != nil:
			return fmt.Errorf("read the thread states of process %d, which was told to %s: %w", c.Pid(), what, err)
		case c.Ended() || states == "":
			return fmt.Errorf("wait for process %d to %s: it has ended (%s)", c.Pid(), what, c.State())
		case is(states):
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("wait for process %d to %s: timed out after %v (thread states: %s)", c.Pid(), what, signalTimeout, states)
		}
	}
}

// Stop calls ask to make the process stop. If ask fails, or the process does not end within two seconds, Stop kills it.
func (c *Child) Stop(ask func() error) error {
	if err := ask(); err == nil && c.endsWithin(stopTimeout) {
		return nil
	}
	return c.Kill()
}

// Kill kills the child and its descendants and returns when all of them have ended. It does nothing if the child has
// already ended.
func (c *Child) Kill() error {
	if c.Ended() {
		return nil
	}
	_ = pauseGroup(c.Pid()) // a paused child cannot start more processes while its groups are listed
	groups := append(otherGroups(c.Pid()), c.Pid())
	for _, group := range groups {
		_ = killGroup(group) // ignore the error; the group has already ended
	}
	if !c.endsWithin(killTimeout) {
		return fmt.Errorf("kill process %d: still running after %v", c.Pid(), killTimeout)
	}
	for _, group := range groups {
		if err := c.awaitGone(group); err != nil {
			return err
		}
	}
	return nil
}

// awaitGone waits until every process of a group has ended. It then tells the keeper not to kill the group any more.
func (c *Child) awaitGone(group int) error {
	for deadline := time.Now().Add(killTimeout); ; time.Sleep(pollInterval) {
		if states, err := threadStates(group); err != nil || states == "" {
			break // on an error, this system cannot list processes
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("kill process group %d: still running after %v", group, killTimeout)
		}
	}
	if c.tell != nil && group != c.Pid() {
		_ = c.tell("forget", strconv.Itoa(group))
	}
	return nil
}

// Ended reports whether the process has ended and has been reaped.
func (c *Child) Ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// endsWithin waits until the process ends or the timeout expires. The result is true if the process has ended.
func (c *Child) endsWithin(timeout time.Duration) bool {
	select {
	case <-c.done:
		return true
	case <-time.After(timeout):
		return c.Ended()
	}
}

// StartPiped starts a command and returns pipes to its input and from its output. The caller must close the pipes. It
// does not use the pipes of os/exec, because Wait may close them before all output is read. The child has the environment of this
// process, and in addition the variables env, such as "NAME=value".
func (k *Keeper) StartPiped(command []string, stderr io.Writer, env ...string) (c *Child, in, out *os.File, err error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, errors.Join(err, in.Close())
	}
	defer theirOut.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, stderr
	cmd.Env = append(os.Environ(), env...)
	if c, err = k.Start(cmd); err != nil {
		return nil, nil, nil, errors.Join(err, in.Close(), out.Close())
	}
	return c, in, out, nil
}
