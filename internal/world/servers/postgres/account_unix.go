//go:build unix

package postgres

import (
	"os/exec"
	"syscall"
)

// runs sets the user and group of a command to those of the account. The command gets no supplementary groups.
func (a *account) runs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}}
}
