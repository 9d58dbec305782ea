//go:build !unix

package postgres

import "os/exec"

// On this operating system, the method runs cannot change the user of a command, so it does nothing. The server
// therefore runs as the current user.
func (a *account) runs(*exec.Cmd) {}
