//go:build unix && !linux

package servers

import "syscall"

// inOwnGroup keeps Ctrl-C at the terminal from the servers, which must outlive it until the run has been
// judged. There is no dying with the parent here: the keeper alone ends them with the harness.
func inOwnGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// apart makes the keeper no part of the harness's session: nothing that ends that ends the keeper.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
