//go:build !unix

package postgres

import "os/exec"

// The method does nothing, because lockbench cannot change the user of a command on this operating system. The server
// therefore runs as the current user.
func (a *account) runs(*exec.Cmd) {}
