//go:build unix && !linux

package children

import "syscall"

// inOwnGroup keeps Ctrl-C at the terminal from the children, which must outlive it until the run has been
// judged. There is no dying with the parent here: the keeper alone ends them with the harness.
func inOwnGroup(asked *syscall.SysProcAttr) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if asked != nil {
		attr.Credential = asked.Credential
	}
	return attr
}
