//go:build unix

package children

import "syscall"

// newSessionAttr returns process attributes that put the keeper into a new session. Signals to the session of
// lockbench, such as Ctrl-C, then do not reach the keeper.
func newSessionAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func killGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGKILL) }

func pauseGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGSTOP) }

func resumeGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGCONT) }

// inOwnGroup returns attributes for starting a child in a new process group. Ctrl-C does not reach this group, so
// children keep running until lockbench has judged the run. On Linux the child is also killed when the thread that
// started it ends.
func inOwnGroup(asked *syscall.SysProcAttr) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if asked != nil {
		attr.Credential = asked.Credential
	}
	dieWithParent(attr)
	return attr
}
