//go:build unix

package children

import "syscall"

// apart makes the keeper no part of the harness's session: nothing that ends that ends the keeper.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func killGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGKILL) }

func pauseGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGSTOP) }

func resumeGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGCONT) }

// inOwnGroup keeps Ctrl-C at the terminal from the children, which must outlive it until the run has been judged. The
// keeper ends them with the harness; where the system can, they also die with the thread that started them.
func inOwnGroup(asked *syscall.SysProcAttr) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if asked != nil {
		attr.Credential = asked.Credential
	}
	dieWithParent(attr)
	return attr
}
