//go:build !unix

package postgres

import "os/exec"

// The method runs does nothing on this operating system, because lockbench cannot change the user of a command here. The
// server therefore runs as the current user.
func (a *account) runs(*exec.Cmd) {}
