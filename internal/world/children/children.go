// Package children starts processes of ours, which end with the harness, whatever becomes of it. In goes a
// command; out comes a child that can be paused, killed and waited for, with all that it has started itself.
package children

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"
)

const (
	endWithin  = 5 * time.Second // bounds the end of what has no choice
	politely   = 2 * time.Second // bounds the end of what was asked to
	seenWithin = time.Second     // bounds the wait for a pause, or its end, to be seen
	lookEvery  = time.Millisecond
)

// Child is a process of ours and the group that it leads: what it starts belongs to it, also what has left the group
// for one of its own, as far as the system shows it. It is waited for from its first moment, so that it never stays a
// zombie.
type Child struct {
	cmd  *exec.Cmd
	done chan struct{}                // closed when it has been reaped
	tell func(verb, arg string) error // its keeper
}

// watch takes a command that was started; reaped is called when it has ended, before done is closed.
func watch(cmd *exec.Cmd, reaped func()) *Child {
	c := &Child{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()                 // how it ended is in cmd.ProcessState
		_ = killGroup(cmd.Process.Pid) // what it started goes with it; as a rule there is nothing left
		reaped()
		close(c.done)
	}()
	return c
}

// Pid is the number of the process, and of its group. It may be another's once the child has ended.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Done is closed when the process has ended and was reaped.
func (c *Child) Done() <-chan struct{} { return c.done }

// State returns how it ended ("exit status 3", "signal: killed"), or "running" if it has not, paused or not.
func (c *Child) State() string {
	if !c.Ended() {
		return "running"
	}
	return c.cmd.ProcessState.String()
}

// Pause stops every process of the group, and returns when all of their threads were seen to stop. After an error they
// run. A paused process can be killed, and what is sent to it waits in the system's buffers.
func (c *Child) Pause() error {
	if err := c.signal(pauseGroup); err != nil {
		return err
	}
	if err := c.await("stand still", func(states string) bool {
		if count(states, paused) == len(states) {
			return true
		}
		c.pauseBesides()
		return false
	}); err != nil {
		return errors.Join(err, c.Resume())
	}
	return nil
}

// pauseBesides pauses other groups of descendants, and has the keeper kill them if the leader dies meanwhile.
func (c *Child) pauseBesides() {
	for _, group := range besides(c.Pid()) {
		if c.tell == nil || c.tell("kill", strconv.Itoa(group)) == nil {
			_ = pauseGroup(group) // whether it stands still is seen
		}
	}
}

// Resume lets them go on, and returns when they were seen to. What was not paused goes on as it did.
func (c *Child) Resume() error {
	if err := c.signal(resumeGroup); err != nil {
		return err
	}
	for _, group := range besides(c.Pid()) {
		_ = resumeGroup(group) // whether it goes on is seen
		if c.tell != nil {
			_ = c.tell("forget", strconv.Itoa(group))
		}
	}
	return c.await("go on", func(states string) bool { return count(states, paused) == 0 })
}

// paused is what the system calls the state of a thread that a signal has stopped.
const paused = 'T'

func count(states string, state rune) int {
	n := 0
	for _, s := range states {
		if s == state {
			n++
		}
	}
	return n
}

func (c *Child) signal(send func(leader int) error) error {
	if c.Ended() {
		return fmt.Errorf("process %d has ended (%s)", c.Pid(), c.State())
	}
	if err := send(c.Pid()); err != nil {
		return fmt.Errorf("signal the group of process %d: %w", c.Pid(), err)
	}
	return nil
}

func (c *Child) await(what string, is func(states string) bool) error {
	for deadline := time.Now().Add(seenWithin); ; time.Sleep(lookEvery) {
		states, err := threadStates(c.Pid())
		switch {
		case err != nil:
			return fmt.Errorf("process %d cannot be seen to %s: %w", c.Pid(), what, err)
		case c.Ended() || states == "":
			return fmt.Errorf("process %d has ended (%s)", c.Pid(), c.State())
		case is(states):
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("process %d was not seen to %s within %v (states of its threads: %s)", c.Pid(), what, seenWithin, states)
		}
	}
}

// Stop asks it to end, and kills it after two seconds.
func (c *Child) Stop(ask func() error) error {
	if err := ask(); err == nil && c.ended(politely) {
		return nil
	}
	return c.Kill()
}

// Kill ends a child's family, and returns when all of it is gone, with the memory that it shares. To kill a dead child is
// no error.
func (c *Child) Kill() error {
	if c.Ended() {
		return nil
	}
	_ = pauseGroup(c.Pid()) // it starts no further process, which would be in no group that is listed here
	groups := append(besides(c.Pid()), c.Pid())
	for _, group := range groups {
		_ = killGroup(group) // it fails only if the group is gone already
	}
	if !c.ended(endWithin) {
		return fmt.Errorf("process %d is still there %v after being killed", c.Pid(), endWithin)
	}
	for _, group := range groups {
		if err := c.awaitGone(group); err != nil {
			return err
		}
	}
	return nil
}

// awaitGone returns when no process of a group lives, and lets the keeper forget it.
func (c *Child) awaitGone(group int) error {
	for deadline := time.Now().Add(endWithin); ; time.Sleep(lookEvery) {
		if states, err := threadStates(group); err != nil || states == "" {
			break // without an error, unless the system does not list processes
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("process group %d is still there %v after being killed", group, endWithin)
		}
	}
	if c.tell != nil && group != c.Pid() {
		_ = c.tell("forget", strconv.Itoa(group))
	}
	return nil
}

// Ended reports whether the process has ended and was reaped.
func (c *Child) Ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// ended waits so long for the end of the process.
func (c *Child) ended(within time.Duration) bool {
	select {
	case <-c.done:
		return true
	case <-time.After(within):
		return c.Ended()
	}
}

// StartPiped starts a command with pipes for the caller to close: those of os/exec are closed before they are read.
func (k *Keeper) StartPiped(command []string, stderr io.Writer) (c *Child, in, out *os.File, err error) {
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
	if c, err = k.Start(cmd); err != nil {
		return nil, nil, nil, errors.Join(err, in.Close(), out.Close())
	}
	return c, in, out, nil
}
