//go:build !unix

package postgres

import "os/exec"

// runs does not change the command. The server runs as the current user.
func (a *account) runs(*exec.Cmd) {}
