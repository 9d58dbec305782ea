//go:build unix

package children

import "syscall"

// apart makes the keeper no part of the harness's session: nothing that ends that ends the keeper.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func killGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGKILL) }

func pauseGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGSTOP) }

func resumeGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGCONT) }
