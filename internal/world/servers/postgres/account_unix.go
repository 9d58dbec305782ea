//go:build unix

package postgres

import (
	"os/exec"
	"syscall"
)

// setCredential makes a command run as the user and group of the account, without supplementary groups.
func (a *account) setCredential(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}}
}
