//go:build unix

package children

import (
	"os/exec"
	"syscall"
)

// apart makes the keeper no part of the harness's session: nothing that ends that ends the keeper.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

func pauseGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGSTOP) }

func resumeGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT) }
