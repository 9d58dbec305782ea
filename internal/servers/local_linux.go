package servers

import "syscall"

// inOwnGroup keeps Ctrl-C at the terminal from the servers, which must outlive it until the run has been
// judged. They die with the thread that started them.
func inOwnGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// apart makes the keeper no part of the harness's session: nothing that ends that ends the keeper.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
