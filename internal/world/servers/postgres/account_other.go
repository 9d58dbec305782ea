//go:build !unix

package postgres

import "os/exec"

// setCredential does nothing on this operating system, because lockbench cannot change the user of a command here. The
// server therefore runs as the current user.
func (a *account) setCredential(*exec.Cmd) {}
