//go:build unix

package children

import "syscall"

// apart gives the keeper a session, so that signals to the harness's session do not reach it.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func killGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGKILL) }

func pauseGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGSTOP) }

func resumeGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGCONT) }

// inOwnGroup gives a child a process group, so that Ctrl-C does not reach it: children run until the run has been judged.
// On Linux a child also dies with the thread that started it.
func inOwnGroup(asked *syscall.SysProcAttr) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if asked != nil {
		attr.Credential = asked.Credential
	}
	dieWithParent(attr)
	return attr
}
