package children

import "syscall"

// inOwnGroup keeps Ctrl-C at the terminal from the children, which must outlive it until the run has been
// judged. They die with the thread that started them.
func inOwnGroup(asked *syscall.SysProcAttr) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if asked != nil {
		attr.Credential = asked.Credential
	}
	return attr
}
