//go:build !unix

package postgres

import "os/exec"

// runs does nothing on this operating system, so the server runs as the current user.
func (a *account) runs(*exec.Cmd) {}
